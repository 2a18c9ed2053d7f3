"""Whatever is sent to whichever path: an answer that says what is wrong, soon, and nothing of what
is inside.

`make soak` tries many more.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from integration.fuzzing import BODIES, JSON, NASTY, spoil_documents, to_bytes
from integration.outcome_agent import ALL_CAPABILITIES, serve_on_socket

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.methods import METHODS
from a2a_contract.v1_0 import Artifact
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

# The agent runs in a thread of this process and draws its random numbers while hypothesis looks
# after those of strategies.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies"),
    pytest.mark.requirement("1.0", "13.4a"),
    pytest.mark.requirement("0.3", "10.2"),
]

INSIDE = re.compile(
    r"Traceback|File \\?\"|site-packages|a2a_runtime|a2a_contract|pydantic|litestar|asyncio|\.py\b",
    re.IGNORECASE,
)
EVERY_METHOD = sorted({method for name in (V1_0.name, V0_3.name) for method in METHODS[name]})
VERBS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"]
PATHS = [
    "/",
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/message:send",
    "/message:stream",
    "/tasks",
    "/tasks/{}",
    "/tasks/{}:cancel",
    "/tasks/{}:subscribe",
    "/tasks/{}/pushNotificationConfigs",
    "/tasks/{}/pushNotificationConfigs/{}",
    "/extendedAgentCard",
    "/card",
    "/{}",
    "/{}/{}",
    "/{}:{}",
    "/{}/message:send",
    "/{}/tasks/{}",
]
ALL_PATHS = [prefix + path for prefix in ("", "/v1") for path in PATHS]
QUERIES = [
    "A2A-Version",
    "OPVS-Version",
    "A2A-Extensions",
    "pageSize",
    "pageToken",
    "status",
    "historyLength",
    "includeArtifacts",
    "contextId",
    "statusTimestampAfter",
    "lastUpdatedAfter",
    "name",
    "x",
]
HEADERS = [
    "a2a-version",
    "a2a-extensions",
    "last-event-id",
    "idempotency-key",
    "content-type",
    "accept",
    "authorization",
    "host",
    "if-none-match",
    "if-modified-since",
    "x-forwarded-host",
    "cookie",
]
ASCII = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=30)
KNOWN = ("known-1", "known-2")
MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


async def mirror(ctx: TaskContext) -> Artifact:
    """Give back what was sent: all the wrong things go through the store and out again."""
    return Artifact(artifact_id="mirror", parts=ctx.message.parts)


async def count(_ctx: TaskContext) -> AsyncGenerator[str, None]:
    """Say several things."""
    for number in range(3):
        yield str(number)


@dataclass(frozen=True)
class Target:
    """The agent, and the ids of tasks that it really has, which stand as ``known-1`` and so on in
    what is sent.
    """

    client: httpx.Client
    ids: tuple[str, ...]

    def send(
        self,
        verb: str,
        path: str,
        content: bytes | None = None,
        **options: Any,  # noqa: ANN401 - what httpx takes
    ) -> httpx.Response:
        """Send a request, and check what comes back."""
        for name, task_id in zip(KNOWN, self.ids, strict=True):
            path = path.replace(name, task_id)
            content = content and content.replace(name.encode(), task_id.encode())
        headers = {"content-type": "application/json", **options.pop("headers", {})}
        response = self.client.request(verb, path, content=content, headers=headers, **options)
        check(response, f"{path} {(content or b'').decode('utf-8', 'replace')} {headers} {options}")
        return response


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """An agent whose skills all end; no call waits longer than some seconds."""
    agent = Agent("mirror", capabilities=ALL_CAPABILITIES)
    agent.add("mirror", mirror, default=True, input_modes=("*/*",), output_modes=("*/*",))
    agent.add("count", count)
    agent.add("hidden", mirror, only_extended=True)
    store = (
        "memory"
        if request.param == "memory"
        else f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/tasks.db"
    )
    hook = {"taskPushNotificationConfig": {"id": "p-1", "url": "https://hooks.example.org/a2a"}}
    with serve_on_socket(create_app(Surface(agent), store=store, settings=FAST_SETTINGS)) as client:
        made = [
            client.post("/message:send", json={"message": MESSAGE, "configuration": hook}).json()[
                "task"
            ]["id"]
            for _ in KNOWN
        ]
        yield Target(client, tuple(made))


def check(response: httpx.Response, sent: str) -> None:
    """See that an answer is no accident."""
    assert response.status_code < 500, response.text[:500]
    said = response.content.decode("utf-8", "strict")
    kind = response.headers.get("content-type", "").partition(";")[0]
    if kind == "text/event-stream":
        lines = [
            line.removeprefix("data: ") for line in said.splitlines() if line.startswith("data: ")
        ]
        assert all(json.loads(line) for line in lines)
    elif said:
        assert kind in {"application/json", "application/a2a+json"}, (kind, said[:200])
        body = json.loads(said)
        if response.status_code >= 400 or (isinstance(body, dict) and "error" in body):
            assert [word for word in INSIDE.findall(said) if word not in sent] == [], said[:500]


@given(
    method=st.sampled_from(EVERY_METHOD) | st.text(max_size=20),
    params=spoil_documents(KNOWN) | JSON,
    call_id=JSON,
    by_name=st.booleans(),
)
def test_calls(
    target: Target,
    method: str,
    params: Any,  # noqa: ANN401 - any JSON
    call_id: object,
    by_name: bool,  # noqa: FBT001 - any JSON
) -> None:
    """Every method with every kind of wrong parameters, ids and envelopes."""
    envelope = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
    version = {"A2A-Version": "1.0"} if by_name and method[:1].isupper() else {}
    response = target.send("POST", "/", to_bytes(envelope), headers=version)
    if response.headers["content-type"] == "application/json" and response.status_code == 200:
        body = response.json()
        assert body["jsonrpc"] == "2.0"
        assert ("result" in body) != ("error" in body)


@given(path=st.sampled_from(ALL_PATHS), body=BODIES)
def test_bodies(target: Target, path: str, body: bytes) -> None:
    """Bytes of every kind, posted everywhere."""
    target.send("POST", path.format("known-1", "p-1"), body)


def segment() -> st.SearchStrategy[str]:
    """Make one step of a path: anything, escaped as it has to be."""
    return (st.text(max_size=12) | st.sampled_from([*NASTY, *KNOWN, "p-1"])).map(
        lambda text: quote(text.encode("utf-8", "surrogatepass"), safe=":")
    )


@given(
    verb=st.sampled_from(VERBS),
    path=st.sampled_from(ALL_PATHS),
    steps=st.tuples(segment(), segment()),
    query=st.dictionaries(
        st.sampled_from(QUERIES),
        st.text(max_size=12).filter(str.isprintable) | st.sampled_from(NASTY),
        max_size=4,
    ),
)
def test_paths_and_queries(
    target: Target, verb: str, path: str, steps: tuple[str, str], query: dict[str, str]
) -> None:
    """Every verb at every path, with anything where ids stand, and anything in the query."""
    params = {name: value.encode("utf-8", "replace").decode() for name, value in query.items()}
    target.send(verb, str(target.client.base_url).rstrip("/") + path.format(*steps), params=params)


REQUESTS = [
    ("POST", "/"),
    ("POST", "/message:send"),
    ("POST", "/message:stream"),
    ("GET", "/tasks"),
    ("GET", "/tasks/known-1:subscribe"),
    ("GET", "/.well-known/agent-card.json"),
    ("GET", "/v1/card"),
    ("POST", "/v1/message:send"),
]
VALUES = ["1.0", "0.3", "application/json", "*/*", "9" * 30, "-1", "Bearer "]


@given(
    request=st.sampled_from(REQUESTS),
    headers=st.dictionaries(st.sampled_from(HEADERS), ASCII | st.sampled_from(VALUES), max_size=5),
)
def test_headers(target: Target, request: tuple[str, str], headers: dict[str, str]) -> None:
    """Anything in the headers that are read."""
    verb, path = request
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": MESSAGE}}
    content = None if verb == "GET" else to_bytes(call if path == "/" else {"message": MESSAGE})
    target.send(
        verb, path, content, headers={name: value.strip() or "x" for name, value in headers.items()}
    )


@given(message=spoil_documents())
def test_almost_valid_messages(target: Target, message: Any) -> None:  # noqa: ANN401 - any JSON
    """A message that reaches a handler comes back unchanged, or is refused."""
    whole = {
        "message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": message}]},
        "metadata": {"skillId": "mirror"},
    }
    response = target.send("POST", "/message:send", to_bytes(whole))
    if response.status_code == 200:
        task = response.json()["task"]
        assert target.send("GET", f"/tasks/{task['id']}").json() == task
