"""Requests in the forms of the apcore SRS, on a surface with ``srs_forms`` and on one without."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.auth import ApiKeyAuthenticator, AuthGate, Identity, OpenGate, digest_key
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.project.loader import load_project
from a2a_runtime.settings import Settings
from a2a_runtime.surface import RouteOptions, Surface

KEY = {"X-API-Key": "k" * 32}
CARD_PATH = "/agent/authenticatedExtendedCard"


def build_agent(*, webhooks: bool = True) -> Agent:
    """An agent that echoes what it gets, and one question."""
    agent = Agent(
        "srs", capabilities=Capabilities(push_notifications=webhooks, extended_agent_card=True)
    )

    @agent.skill("echo", default=True, input_modes=["*/*"])
    async def echo(ctx: TaskContext) -> dict[str, object]:
        return {"parts": [part.to_dict() for part in ctx.message.parts]}

    @agent.skill("ask")
    async def ask(ctx: TaskContext) -> str:
        return f"{ctx.text} {(await ctx.ask('Sure?')).text}"

    agent.add("secret", lambda ctx: ctx.text, only_extended=True)
    return agent


class Caller:
    """JSON-RPC calls of one client."""

    def __init__(self, client: TestClient[Any], headers: dict[str, str] | None = None) -> None:
        self.client = client
        self.headers = headers or {}

    def call(self, method: str, params: object = None) -> dict[str, Any]:
        """Call a method and return the response."""
        body = {"jsonrpc": "2.0", "id": 7, "method": method} | (
            {} if params is None else {"params": params}
        )
        response: dict[str, Any] = self.client.post("/", json=body, headers=self.headers).json()
        assert response["id"] == 7
        return response

    def send(self, *parts: object, skill: str = "echo", **params: object) -> dict[str, Any]:
        """Send a message in the form of the SRS and return its task."""
        message = {"role": "user", "parts": list(parts)}
        task: dict[str, Any] = self.call(
            "message/send", {"message": message, "metadata": {"skillId": skill}, **params}
        )["result"]
        return task


@pytest.fixture
def srs() -> Iterator[Caller]:
    """A client of an open surface that reads the forms."""
    with TestClient(
        create_app(Surface(build_agent(), gate=OpenGate(), variants=("srs_forms",)))
    ) as client:
        yield Caller(client)


def text(said: str) -> dict[str, object]:
    """A text in the form of the SRS."""
    return {"type": "text", "text": said}


def test_messages(srs: Caller) -> None:
    """Their parts reach the handler, and answers have the form of 0.3."""
    task = srs.send(
        text("x"),
        {"type": "data", "data": {"n": 1}, "mediaType": "application/json"},
        {"type": "file", "uri": "https://a.example/b", "name": "b"},
        contextId="c-1",
    )
    assert (task["contextId"], task["status"]["state"], task["kind"]) == (
        "c-1",
        "completed",
        "task",
    )
    (part,) = task["artifacts"][0]["parts"]
    seen = part["data"]["parts"]
    assert (seen[0]["text"], seen[1]["data"], seen[2]["url"], seen[2]["filename"]) == (
        "x",
        {"n": 1},
        "https://a.example/b",
        "b",
    )


def test_streams(srs: Caller) -> None:
    """A stream is one of 0.3, with ids."""
    message = {"role": "user", "parts": [text("x")]}
    body = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "message/stream",
        "params": {"message": message, "contextId": "c-2"},
    }
    lines = srs.client.post("/", json=body).text
    assert '"state":"completed"' in lines
    assert '"contextId":"c-2"' in lines


def test_a_context_resumes_its_waiting_task(srs: Caller) -> None:
    """Without the id of the task; a context in which nothing waits gets another task."""
    waiting = srs.send(text("go"), skill="ask", contextId="c-3")
    assert waiting["status"]["state"] == "input-required"
    done = srs.send(text("yes"), contextId="c-3")
    assert (done["id"], done["status"]["state"]) == (waiting["id"], "completed")
    assert done["artifacts"][0]["parts"][0]["text"] == "go yes"
    assert srs.send(text("again"), contextId="c-3")["id"] != waiting["id"]
    listed = srs.call("tasks/list", {"contextId": "c-3"})["result"]
    assert len(listed["tasks"]) == 2


@pytest.mark.requirement("apcore", "FR-TSK-006.b")
def test_lists_are_in_the_order_of_creation(srs: Caller) -> None:
    """The newest task is first, whatever has changed since, with the members of the SRS and
    without; other dialects keep their order.
    """
    waiting = srs.send(text("go"), skill="ask", contextId="c-4")["id"]
    newer = [srs.send(text("x"))["id"] for _ in range(2)]
    srs.send(text("yes"), contextId="c-4")
    expected = [newer[1], newer[0], waiting]
    assert [task["id"] for task in srs.call("tasks/list", {})["result"]["tasks"]] == expected
    page = srs.call("tasks/list", {"limit": 2})["result"]
    rest = srs.call("tasks/list", {"limit": 2, "cursor": page["nextCursor"]})["result"]
    assert [task["id"] for task in (*page["tasks"], *rest["tasks"])] == expected
    assert srs.call("ListTasks", {"pageToken": page["nextCursor"]})["error"]["code"] == -32602
    assert [task["id"] for task in srs.call("ListTasks", {})["result"]["tasks"]] == [
        waiting,
        newer[1],
        newer[0],
    ]


def test_lists_have_a_limit_and_a_cursor(srs: Caller) -> None:
    """Pages are as long as asked for, up to 200, and each task is on one of them."""
    tasks = {srs.send(text(str(number)))["id"] for number in range(205)}
    first = srs.call("tasks/list", {"limit": 3})["result"]
    assert (len(first["tasks"]), first["pageSize"], first["totalSize"]) == (3, 3, 205)
    second = srs.call("tasks/list", {"limit": 900, "cursor": first["nextCursor"]})["result"]
    assert (len(second["tasks"]), second["pageSize"]) == (200, 200)
    third = srs.call("tasks/list", {"limit": 200, "cursor": second["nextCursor"]})["result"]
    assert len(third["tasks"]) == 2
    assert "nextCursor" not in third
    assert {task["id"] for page in (first, second, third) for task in page["tasks"]} == tasks
    assert srs.call("tasks/list", {"limit": 0})["error"]["code"] == -32602
    assert srs.call("tasks/list", {"limit": 5, "cursor": "made up"})["error"]["code"] == -32602
    assert srs.call("tasks/list", {"limit": 5, "contextId": "unknown"})["result"]["tasks"] == []
    assert len(srs.call("tasks/list", {"pageSize": 2})["result"]["tasks"]) == 2


def test_push_configurations_are_flat(srs: Caller) -> None:
    """One for each task, which another one replaces; a deleted one is not found."""
    task = srs.send(text("go"), skill="ask")["id"]
    for url in ("https://hooks.example/a", "https://hooks.example/b"):
        assert srs.call("tasks/pushNotificationConfig/set", {"taskId": task, "url": url})[
            "result"
        ] == {
            "taskId": task,
            "url": url,
            "status": "active",
        }
    found = srs.call("tasks/pushNotificationConfig/get", {"taskId": task})["result"]
    assert found == {"taskId": task, "url": "https://hooks.example/b", "status": "active"}
    listed = srs.call("tasks/pushNotificationConfig/list", {"id": task})["result"]
    assert [each["pushNotificationConfig"]["url"] for each in listed] == ["https://hooks.example/b"]
    assert srs.call("tasks/pushNotificationConfig/delete", {"taskId": task})["result"] is None
    for method in ("get", "delete"):
        assert (
            srs.call(f"tasks/pushNotificationConfig/{method}", {"taskId": task})["error"]["code"]
            == -32001
        )


def test_a_push_configuration_that_is_given_up_has_failed() -> None:
    """Its status tells the client that nothing more comes."""
    settings = Settings(push_max_attempts=1, push_poll_interval=0.05)
    with TestClient(
        create_app(
            Surface(build_agent(), gate=OpenGate(), variants=("srs_forms",)), settings=settings
        )
    ) as client:
        caller = Caller(client)
        task = caller.send(text("go"), skill="ask", contextId="c")["id"]
        caller.call(
            "tasks/pushNotificationConfig/set", {"taskId": task, "url": "https://hooks.invalid/a"}
        )
        caller.send(text("yes"), contextId="c")
        deadline = time.monotonic() + 30
        while (
            status := caller.call("tasks/pushNotificationConfig/get", {"taskId": task})["result"][
                "status"
            ]
        ) == "active":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert status == "failed"


def test_without_webhooks_the_flat_method_does_not_exist() -> None:
    """The form of 0.3 has the error of 0.3."""
    with TestClient(
        create_app(Surface(build_agent(webhooks=False), gate=OpenGate(), variants=("srs_forms",)))
    ) as client:
        caller = Caller(client)
        flat = caller.call(
            "tasks/pushNotificationConfig/set", {"taskId": "t", "url": "https://a.example"}
        )
        nested = caller.call(
            "tasks/pushNotificationConfig/set",
            {"taskId": "t", "pushNotificationConfig": {"url": "https://a.example"}},
        )
        assert (flat["error"]["code"], nested["error"]["code"]) == (-32601, -32003)


def test_errors_name_the_member_that_was_sent(srs: Caller) -> None:
    """An error names the member as it was sent, and has the id of the call."""
    message = {"role": "user", "parts": [text("x")], "contextId": "a"}
    error = srs.call("message/send", {"message": message, "contextId": "b"})["error"]
    assert error["code"] == -32602
    assert "contextId" in str(error["data"])
    assert (
        srs.call("message/send", {"message": {"role": "user", "parts": [{"type": "odd"}]}})[
            "error"
        ]["code"]
        == -32602
    )
    assert srs.client.post("/", content=b"{").json()["error"]["code"] == -32700


def test_requests_of_0_3_and_1_0_stay_as_they_are(srs: Caller) -> None:
    """The form is recognized in each request."""
    message = {
        "kind": "message",
        "messageId": "m",
        "role": "user",
        "parts": [{"kind": "text", "text": "x"}],
    }
    assert (
        srs.call("message/send", {"message": message})["result"]["status"]["state"] == "completed"
    )
    listed = srs.call("tasks/list", {})["result"]
    assert "nextCursor" not in listed
    new = srs.call(
        "SendMessage",
        {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}},
    )
    assert new["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_cards() -> None:
    """Each caller gets the card of what it may see, over JSON-RPC also without credentials; the
    path is for authenticated callers.
    """
    gate = AuthGate(ApiKeyAuthenticator({digest_key("k" * 32): Identity("ada")}))
    with TestClient(
        create_app(Surface(build_agent(), gate=gate, variants=("srs_forms",)))
    ) as client:
        public = Caller(client).call("agentCard/get")["result"]
        known = Caller(client, KEY).call("agentCard/get")["result"]
        assert [each["id"] for each in public["skills"]] == ["echo", "ask"]
        assert [each["id"] for each in known["skills"]] == ["echo", "ask", "secret"]
        assert client.get(CARD_PATH).status_code == 401
        extended = client.get(CARD_PATH, headers=KEY)
        assert (extended.status_code, len(extended.json()["skills"])) == (200, 3)
        assert client.post(CARD_PATH, headers=KEY).status_code == 405
        body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/list", "params": {}}
        assert client.post("/", json=body).status_code == 401
        assert (
            client.post(
                "/", json={**body, "method": "agentCard/get", "x": "y" * 70_000}
            ).status_code
            == 413
        )
        assert (
            client.post(
                "/", json={**body, "method": "agentCard/get"}, headers={"Authorization": "Bearer x"}
            ).status_code
            == 401
        )


def test_guards_of_the_host_do_not_hide_the_path() -> None:
    """Then the router of the host finds it."""
    gate = AuthGate(ApiKeyAuthenticator({digest_key("k" * 32): Identity("ada")}))
    surface = Surface(
        build_agent(),
        "/srs",
        gate=gate,
        variants=("srs_forms",),
        routes=RouteOptions(guards=[lambda *_: None]),
    )
    with TestClient(create_app(surface)) as client:
        assert client.get(f"/srs{CARD_PATH}").status_code == 401
        assert len(client.get(f"/srs{CARD_PATH}", headers=KEY).json()["skills"]) == 3


def test_the_path_of_the_card_needs_a_gate(srs: Caller) -> None:
    """A surface without authentication has no path for the extended card."""
    assert srs.client.get(CARD_PATH).status_code == 404


def test_other_surfaces_read_none_of_it(caplog: pytest.LogCaptureFixture) -> None:
    """A limit is warned of once for each caller, with the switch that reads it."""
    with TestClient(create_app(Surface(build_agent(), gate=OpenGate()))) as client:
        caller = Caller(client)
        with caplog.at_level(logging.WARNING, "a2a_runtime.http.dispatcher"):
            for _ in range(3):
                assert "nextCursor" not in caller.call("tasks/list", {"limit": 1})["result"]
        (warning,) = [
            record.getMessage() for record in caplog.records if "'limit'" in record.getMessage()
        ]
        assert "is ignored; set srs_forms on the surface to read it; there are contextId" in warning
        message = {"messageId": "m", "role": "user", "parts": [text("x")]}
        assert caller.call("message/send", {"message": message})["error"]["code"] == -32602
        assert caller.call("agentCard/get")["error"]["code"] == -32601
        assert client.get(CARD_PATH).status_code == 404
        first = {
            "messageId": "1",
            "role": "user",
            "parts": [{"kind": "text", "text": "go"}],
            "contextId": "c",
        }
        waiting = caller.call("message/send", {"message": first, "metadata": {"skillId": "ask"}})[
            "result"
        ]
        answered = caller.call(
            "message/send",
            {"message": {**first, "messageId": "2"}, "metadata": {"skillId": "echo"}},
        )["result"]
        assert waiting["id"] != answered["id"]


def test_the_switch_is_for_surfaces_with_0_3() -> None:
    """Python refuses the switch for a surface that would ignore it."""
    with pytest.raises(
        ValueError,
        match=(
            r"srs_forms: they are forms of 0\.3, "
            r"which this surface does not have; add '0\.3' to dialects"
        ),
    ):
        Surface(build_agent(), dialects=frozenset({"1.0"}), variants=("srs_forms",))


def test_the_switch_is_a_key_of_the_project_file(tmp_path: Path) -> None:
    """A surface of the project file has the switch as a key."""
    (tmp_path / "handlers.py").write_text("def echo(ctx):\n    return ctx.text\n")
    (tmp_path / "a2a.toml").write_text(
        '[agent]\nname = "n"\ndescription = "d"\nversion = "1"\n[skills.echo]\ndescription = '
        '"d"\nhandler = "handlers:echo"\n'
        '[[surfaces]]\npath = "/"\nauth = "open"\nsrs_forms = true\n'
    )
    (surface,) = load_project(tmp_path, {}).surfaces
    assert [each.key for each in surface.wire] == ["srs_forms"]
