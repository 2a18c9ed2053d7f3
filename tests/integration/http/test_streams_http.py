"""Streams over a real socket: timing, disconnects, errors and line ends."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import pytest
from integration.dialect_client import (
    DIALECT_BINDINGS,
    DialectBinding,
    DialectClient,
    build_send_request,
    parse_sse,
)
from integration.outcome_agent import (
    LINE_ENDS,
    BlockingHandler,
    build_test_agent,
    build_test_app,
    serve_on_socket,
)
from litestar import Litestar

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import SubscribeToTaskRequest, TaskState
from a2a_runtime.engine.hub import EventHub
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Limits, Surface

SEND_BLOCKING_TASK = {"skillId": "wait"}
V0_3_JSONRPC = DialectBinding(V0_3.name, is_jsonrpc=True)
V1_0_HTTP = DialectBinding(V1_0.name, is_jsonrpc=False)


@pytest.fixture(scope="module")
def blocking_handler() -> BlockingHandler:
    """The handler that blocks for ever."""
    return BlockingHandler()


@pytest.fixture(scope="module")
def app(blocking_handler: BlockingHandler) -> Litestar:
    """Surfaces with a short keep-alive interval, one of which cancels on disconnect."""
    agent = build_test_agent(blocking_handler)
    brief = Limits(keep_alive_interval=0.2)
    return build_test_app(
        Surface(agent, limits=brief),
        Surface(agent, "/kind", default_v0_3_form=V0_3.name),
        Surface(agent, "/gone", cancel_on_disconnect=True, limits=brief),
    )


@pytest.fixture(scope="module")
def client(app: Litestar) -> Iterator[httpx.Client]:
    """A client on a socket."""
    with serve_on_socket(app) as client:
        yield client


@pytest.fixture(params=DIALECT_BINDINGS, ids=str)
def talker(request: pytest.FixtureRequest, client: httpx.Client) -> DialectClient:
    """A client for one dialect and binding."""
    binding: DialectBinding = request.param
    return DialectClient(
        client, binding, "/kind" if binding == DialectBinding(V0_3.name, is_jsonrpc=False) else ""
    )


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> bool:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def hub_of(app: Litestar) -> EventHub:
    """Return the event hub of a running app."""
    runtime = app.plugins.get(A2APlugin).runtime
    assert runtime is not None
    return runtime.engine.hub


@pytest.mark.requirement("1.0", "3.1.2c")
def test_events_are_sent_when_they_happen(talker: DialectClient) -> None:
    """They are not buffered until the end of the stream."""
    moments = [
        time.monotonic()
        for _ in talker.events(SEND_STREAMING_MESSAGE, build_send_request("4", skill="tick"))
    ]
    assert moments[-1] - moments[0] >= 0.15


def test_all_streams_of_a_task_have_the_same_events(client: httpx.Client) -> None:
    """All streams have the same events in order; closing one does not affect others."""
    talker = DialectClient(client, V1_0_HTTP)
    task = talker.task("10", skill="tick", configuration={"return_immediately": True})
    received: list[list[str]] = [[] for _ in range(4)]

    def listen(number: int) -> None:
        for event_id, _ in talker.subscribe(task.id):
            received[number].append(str(event_id))
            if number == 0:
                return

    threads = [threading.Thread(target=listen, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(received[0]) == 1
    last = [events[-3:] for events in received[1:]]
    assert last[0] == last[1] == last[2]


def test_a_silent_stream_has_keep_alive_comments(client: httpx.Client) -> None:
    """A stream without events has a comment at every interval."""
    talker = DialectClient(client, V1_0_HTTP)
    task = talker.task("x", skill="wait", configuration={"return_immediately": True})
    with client.stream("POST", f"/tasks/{task.id}:subscribe") as response:
        lines = response.iter_lines()
        comments = 0
        for line in lines:
            comments += line.startswith(":")
            if comments == 3:
                break
    talker.cancel(task.id)


def test_a_response_starts_without_a_first_event(client: httpx.Client) -> None:
    """A client that resumes after the newest event gets the status soon."""
    talker = DialectClient(client, V1_0_HTTP)
    task = talker.task("x", skill="wait", configuration={"return_immediately": True})
    assert wait_until(lambda: talker.get(task.id).status.state == TaskState.WORKING)
    with client.stream(
        "POST", f"/tasks/{task.id}:subscribe", headers={"Last-Event-ID": "2"}, timeout=2
    ) as response:
        assert response.status_code == 200
    talker.cancel(task.id)


@pytest.mark.parametrize("path", ["", "/gone"], ids=["continue", "cancel"])
@pytest.mark.parametrize(
    "operation", [SEND_MESSAGE, SEND_STREAMING_MESSAGE], ids=["send", "stream"]
)
def test_a_disconnect_cancels_the_task_with_the_option(
    client: httpx.Client, blocking_handler: BlockingHandler, path: str, operation: object
) -> None:
    """By default a disconnect leaves the task running; with the option it cancels it."""
    method, url, options = DialectClient(client, V1_0_HTTP, path).build_request(
        operation, build_send_request(f"{path}-{operation}", skill="wait")
    )  # type: ignore[arg-type]

    async def disconnect() -> None:
        async with httpx.AsyncClient(base_url=client.base_url, trust_env=False) as leaving:
            request = asyncio.ensure_future(leaving.request(method, url, **options))
            async with asyncio.timeout(10):
                # The handler runs in another thread.
                while f"{path}-{operation}" not in blocking_handler.started_texts:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            request.cancel()
            await asyncio.wait([request])

    asyncio.run(disconnect())
    if path:
        assert wait_until(lambda: f"{path}-{operation}" in blocking_handler.canceled_texts)
    else:
        time.sleep(0.3)
        assert f"{path}-{operation}" not in blocking_handler.canceled_texts


def test_a_disconnect_releases_the_event_buffer() -> None:
    """A disconnect releases the buffer before the next event of the task."""
    app = build_test_app()
    with serve_on_socket(app) as client:
        hub = hub_of(app)
        task = DialectClient(client, V1_0_HTTP).task(
            "x", skill="wait", configuration={"return_immediately": True}
        )
        with client.stream("GET", f"/tasks/{task.id}:subscribe"):
            assert wait_until(lambda: len(hub._buffers) == 1)
        assert wait_until(lambda: len(hub._buffers) == 0)
        with suppress(httpx.ReadTimeout):
            client.post(
                "/message:send",
                json={
                    "message": {
                        "messageId": "m",
                        "role": "ROLE_USER",
                        "parts": [{"text": "x"}],
                        "metadata": SEND_BLOCKING_TASK,
                    }
                },
                timeout=0.3,
            )
        assert wait_until(lambda: len(hub._buffers) == 0, 4)


def test_line_ends_in_texts_are_escaped(talker: DialectClient) -> None:
    """A reader that splits lines as Python does gets the whole text."""
    texts = [
        event.artifact_update.artifact.parts[0].text
        for event in talker.stream("x", skill="lines")
        if event.artifact_update
    ]
    assert texts == [LINE_ENDS]


def test_an_error_before_the_first_event_is_a_plain_response(talker: DialectClient) -> None:
    """An unknown task or an invalid cursor; 0.3 over JSON-RPC wants a stream of one event."""
    refused = talker.call_raw(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="nobody"))
    assert refused.headers["content-type"] == (
        "text/event-stream" if talker.dialect_binding == V0_3_JSONRPC else "application/json"
    )
    for last_event_id in ("three", "1000"):
        wrong = talker.call_raw(
            SUBSCRIBE_TO_TASK,
            SubscribeToTaskRequest(id=talker.task("x").id),
            last_event_id=last_event_id,
        )
        assert '"field":"Last-Event-ID"' in wrong.text


def test_streams_of_0_3_end_when_the_task_needs_input(client: httpx.Client) -> None:
    """A stream of 0.3 ends with an event that has ``final`` when the task needs input."""
    events = DialectClient(client, V0_3_JSONRPC).stream("hi", skill="ask")
    assert events[-1].status_update is not None
    assert events[-1].status_update.status.state == TaskState.INPUT_REQUIRED
    method, url, options = DialectClient(client, V0_3_JSONRPC).build_request(
        SEND_STREAMING_MESSAGE, build_send_request("hi", skill="ask")
    )
    with client.stream(method, url, **options) as response:
        frames = [json.loads(data) for _, _, data in parse_sse(response.iter_lines())]
    assert [frame["result"].get("final") for frame in frames][-1] is True
    assert {frame["id"] for frame in frames} == {"r-1"}


def test_open_requests_get_an_error_when_the_server_stops(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams and sends that outlast the grace period are answered as unavailable, without
    tracebacks in the log.
    """
    received: list[str] = []
    threads = []
    app = build_test_app()
    with serve_on_socket(app, grace_seconds=0.1) as client:
        talker = DialectClient(client, V1_0_HTTP)
        task = talker.task("x", skill="wait", configuration={"return_immediately": True})

        def connect() -> httpx.Client:
            """Open a client of a thread's own: the shared one is closed with the server, before the
            threads have read everything.
            """
            return httpx.Client(base_url=client.base_url, timeout=30, trust_env=False)

        def listen() -> None:
            with connect() as own, own.stream("POST", f"/tasks/{task.id}:subscribe") as response:
                received.extend(data for _, _, data in parse_sse(response.iter_lines()))

        def wait() -> None:
            with connect() as own:
                received.append(
                    DialectClient(own, V1_0_HTTP)
                    .call_raw(SEND_MESSAGE, build_send_request("x", skill="wait"))
                    .text
                )

        threads = [threading.Thread(target=listen), threading.Thread(target=wait)]
        for thread in threads:
            thread.start()
        assert wait_until(lambda: len(hub_of(app)._buffers) == 2)
        server_log = logging.getLogger("uvicorn.error")
        monkeypatch.setattr(server_log, "handlers", [caplog.handler])
        server_log.setLevel(logging.ERROR)
    for thread in threads:
        thread.join(30)
    assert sum("UNAVAILABLE" in each for each in received) == 2
    assert "timeout graceful shutdown exceeded" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_disconnect_within_a_body_is_not_logged(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that disconnects within a body leaves no line in the log."""
    host = client.base_url.host
    port = client.base_url.port
    with socket.create_connection((host, port or 80)) as connection:
        connection.sendall(
            b"POST / HTTP/1.1\r\nhost: x\r\n"
            b"content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"
        )
    time.sleep(0.1)
    assert caplog.text == ""
    assert DialectClient(client, V1_0_HTTP).task("still here").status.state == TaskState.COMPLETED
