"""Two users of a host, an agent, and what each of them sees of the other's tasks, in every
dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from a2a_contract.dialects import MESH
from a2a_runtime.agent import Agent
from a2a_runtime.auth import HostCaller
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface

HEADERS: Mapping[str, Mapping[str, str]] = {name: {"x-user": name} for name in ("ada", "bob")}

MESSAGE = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
OLD_MESSAGE = {
    "message": {
        "kind": "message",
        "messageId": "m-2",
        "role": "user",
        "parts": [{"kind": "text", "text": "hi"}],
    }
}
MESH_MESSAGE = {"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}}
PROTO_MESSAGE = {"request": {"messageId": "m-3", "role": "ROLE_USER", "content": [{"text": "hi"}]}}


class Client(Protocol):
    """A client of a test: httpx with an app of Litestar or of Starlette."""

    def request(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,  # noqa: ANN401 - of two libraries
        headers: Any = None,  # noqa: ANN401 - of two libraries
    ) -> Any:  # noqa: ANN401 - of two libraries
        """Send a request."""
        ...


def build_agent() -> Agent:
    """Build an agent that names its caller."""
    agent = Agent("who")

    @agent.skill("who")
    async def who(ctx: TaskContext) -> str:
        return ctx.caller.subject

    return agent


def build_surfaces(caller: HostCaller, path: str = "/agent") -> tuple[Surface, Surface]:
    """Build two surfaces of one agent, one of them for all dialects but the mesh, and one for the
    mesh.
    """
    agent = build_agent()
    return Surface(agent, path, caller=caller), Surface(
        agent, f"{path}/mesh", frozenset((MESH.name,)), caller=caller
    )


def call(
    client: Client, user: Mapping[str, str], method: str, params: object, path: str = "/agent"
) -> Any:  # noqa: ANN401 - JSON
    """Send a JSON-RPC call to the agent."""
    return client.request(
        "POST",
        path,
        json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
        headers=user,
    ).json()


def check_users_are_apart(
    client: Client, headers: Mapping[str, Mapping[str, str]] = HEADERS, *, has_mesh: bool = True
) -> None:
    """Create a task of Ada in every dialect and binding; Bob finds none of them, and requests
    without a user are refused.
    """
    ada = headers["ada"]
    bob = headers["bob"]
    tasks = [
        client.request("POST", "/agent/message:send", json=MESSAGE, headers=ada).json()["task"],
        call(client, ada, "SendMessage", MESSAGE)["result"]["task"],
        call(client, ada, "message/send", OLD_MESSAGE)["result"],
        client.request("POST", "/agent/v1/message:send", json=PROTO_MESSAGE, headers=ada).json()[
            "task"
        ],
    ]
    for task in tasks:
        assert "ada" in str(task["artifacts"])
        for path in ("/agent/tasks/", "/agent/v1/tasks/"):
            assert client.request("GET", path + task["id"], headers=ada).status_code == 200
            assert client.request("GET", path + task["id"], headers=bob).status_code == 404
            assert client.request("GET", path + task["id"]).status_code == 401
        for method in ("GetTask", "tasks/get"):
            assert "result" in call(client, ada, method, {"id": task["id"]})
            assert "error" in call(client, bob, method, {"id": task["id"]})
    assert client.request("GET", "/agent/tasks", headers=ada).json()["totalSize"] == len(tasks)
    assert client.request("GET", "/agent/tasks", headers=bob).json()["totalSize"] == 0
    assert client.request("POST", "/agent/message:send", json=MESSAGE).status_code == 401
    if has_mesh:
        _check_mesh(client, ada, bob)


def _check_mesh(client: Client, ada: Mapping[str, str], bob: Mapping[str, str]) -> None:
    """Let both choose one id for their tasks, as clients of the mesh do: each has a task of that
    id, and sees only that one.
    """
    path = "/agent/mesh"
    created = call(client, ada, "tasks/send", MESH_MESSAGE, path)["result"]
    assert "ada" in str(created["artifacts"])
    task = {"id": created["id"]}
    for method in ("tasks/get", "tasks/cancel"):
        assert "error" in call(client, bob, method, task, path)
    assert "bob" in str(call(client, bob, "tasks/send", MESH_MESSAGE, path)["result"]["artifacts"])
    assert "bob" in str(call(client, bob, "tasks/get", {"id": "t-1"}, path)["result"]["artifacts"])
    assert "bob" not in str(call(client, ada, "tasks/get", task, path)["result"])
    for method, params in (("tasks/send", MESH_MESSAGE), ("tasks/get", task)):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert client.request("POST", path, json=body).status_code == 401
