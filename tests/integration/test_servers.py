"""The agent under other ASGI servers: what is asked of all of them, over a socket, in every dialect
over every binding.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conformance.agent import ADA
from conformance.agent_client import AgentClient
from integration.dialect_client import DIALECT_BINDINGS, DialectBinding, build_send_request
from integration.outcome_agent import LINE_ENDS

from a2a_contract.dialects import V0_3
from a2a_contract.operations import SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import TaskState
from a2a_runtime.testing.ports import find_free_port

APP = "integration.asgi_app:app"
COMMANDS = {
    "uvicorn": ("uvicorn", "--host", "127.0.0.1", "--port", "{port}", "--log-level", "error", APP),
    "granian": (
        "granian",
        "--interface",
        "asgi",
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--log-level",
        "error",
        APP,
    ),
    "hypercorn": ("hypercorn", "--bind", "127.0.0.1:{port}", "--log-level", "error", APP),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=COMMANDS)
def client(request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client of a server in a process of its own, which stops when it is told to."""
    port = find_free_port()
    command = [each.format(port=port) for each in COMMANDS[request.param]]
    paths = [str(Path(each).resolve()) for each in sys.path if each]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=15, trust_env=False
        ) as client:
            _wait_until_it_answers(client, process)
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def _wait_until_it_answers(client: httpx.Client, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"the server did not start: {process.communicate()[1][-2000:]}")
        try:
            if client.get("/.well-known/agent-card.json").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("the server does not answer")


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def dialect_client(request: pytest.FixtureRequest, client: httpx.Client) -> AgentClient:
    """A client for each dialect and binding."""
    binding: DialectBinding = request.param
    return AgentClient(
        client, binding, "/kind" if binding == DialectBinding(V0_3.name, is_jsonrpc=False) else ""
    )


def test_a_conversation_takes_place(dialect_client: AgentClient) -> None:
    """Sending, asking, answering, reading and canceling."""
    assert dialect_client.task("hello").status.state == TaskState.COMPLETED
    asking = dialect_client.task("hi", skill="ask")
    assert (
        dialect_client.task("yes", task_id=asking.id, message_id="m-2").status.state
        == TaskState.COMPLETED
    )
    running = dialect_client.task("x", skill="wait", configuration={"return_immediately": True})
    assert dialect_client.cancel(running.id).status.state == TaskState.CANCELED
    assert dialect_client.get(running.id).status.state == TaskState.CANCELED


def test_a_stream_comes_as_it_happens(dialect_client: AgentClient) -> None:
    """Not all at the end, whole, and gone on with after a break."""
    moments = []
    events = []
    for event in dialect_client.events(
        SEND_STREAMING_MESSAGE, build_send_request("4", skill="tick")
    ):
        moments.append(time.monotonic())
        events.append(event)
    assert moments[-1] - moments[0] > 0.1
    first = events[0][1].task
    assert first is not None
    assert list(dialect_client.subscribe(first.id, last_event_id=str(events[1][0]))) == events[2:]
    lines = [
        event.artifact_update.artifact.parts[0].text
        for event in dialect_client.stream("x", skill="lines")
        if event.artifact_update
    ]
    assert lines == [LINE_ENDS]


def test_a_client_that_leaves_disturbs_nobody(client: httpx.Client) -> None:
    """Its stream is over, its task is not."""
    dialect_client = AgentClient(client, DIALECT_BINDINGS[1])
    for _, event in dialect_client.events(
        SEND_STREAMING_MESSAGE, build_send_request("6", skill="tick")
    ):
        assert event.task is not None
        task_id = event.task.id
        break
    end = time.monotonic() + 10
    while (
        dialect_client.get(task_id).status.state != TaskState.COMPLETED and time.monotonic() < end
    ):
        time.sleep(0.05)
    assert dialect_client.get(task_id).status.state == TaskState.COMPLETED


@pytest.mark.parametrize(
    ("verb", "path", "body", "status"),
    [
        ("POST", "/message:send", b"x" * 200_000, 413),
        ("POST", "/message:send", b"{", 400),
        ("POST", "/", b"\xff", 200),
        ("GET", "/message:send", None, 405),
        ("GET", "/nothing/at/all", None, 404),
        ("GET", "/tasks/a%2Fb", None, 404),
        ("GET", "/tasks/a%3Ab", None, 404),
        ("HEAD", "/.well-known/agent-card.json", None, 200),
        ("OPTIONS", "/tasks", None, 204),
    ],
)
def test_errors_are_equal_under_every_server(
    client: httpx.Client, verb: str, path: str, body: bytes | None, status: int
) -> None:
    """The agent responds, not the server in front of it."""
    response = client.request(
        verb, path, content=body, headers={**ADA, "content-type": "application/json"}
    )
    assert response.status_code == status
    assert "Traceback" not in response.text
    assert verb in {"HEAD", "OPTIONS"} or "error" in response.json()


def test_a_card_is_not_sent_twice(client: httpx.Client) -> None:
    """A client that has the card gets 304 without a body."""
    first = client.get("/.well-known/agent-card.json")
    again = client.get(
        "/.well-known/agent-card.json", headers={"If-None-Match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert first.json()["supportedInterfaces"][0]["url"].startswith(
        str(client.base_url).rstrip("/")
    )
