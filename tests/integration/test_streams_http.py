"""Streams over a real socket: events as they come, clients that leave, errors within, and what readers make of frames."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import httpx
import pytest
from integration.serving import LINE_ENDS, BlockingHandler, build_test_agent, build_test_app, serve_on_socket
from integration.talking import DIALECT_BINDINGS, DialectBinding, DialectClient, build_send_request, parse_sse
from litestar import Litestar

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import SubscribeToTaskRequest, TaskState
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.surface import Limits, Surface

SEND_BLOCKING_TASK = {"skillId": "wait"}
V0_3_JSONRPC, V1_0_JSONRPC = DialectBinding(V0_3.name, is_jsonrpc=True), DialectBinding(V1_0.name, is_jsonrpc=False)


@pytest.fixture(scope="module")
def waiting() -> BlockingHandler:
    """The handler that waits for ever."""
    return BlockingHandler()


@pytest.fixture(scope="module")
def app(waiting: BlockingHandler) -> Litestar:
    """An agent that keeps silent streams open with a comment every so often, and one that stops what nobody waits for."""
    agent = build_test_agent(waiting)
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
    """Somebody who talks in one dialect over one binding."""
    voice: DialectBinding = request.param
    return DialectClient(client, voice, "/kind" if voice == DialectBinding(V0_3.name, is_jsonrpc=False) else "")


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> bool:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_events_come_when_they_happen(talker: DialectClient) -> None:
    """They are not kept back until the stream is over."""
    moments = [time.monotonic() for _ in talker.events(SEND_STREAMING_MESSAGE, build_send_request("4", skill="tick"))]
    assert moments[-1] - moments[0] >= 0.15


def test_many_streams_of_one_task_bring_the_same(client: httpx.Client) -> None:
    """Each in order, and one that is closed disturbs no other."""
    talker = DialectClient(client, V1_0_JSONRPC)
    task = talker.task("10", skill="tick", configuration={"return_immediately": True})
    heard: list[list[str]] = [[] for _ in range(4)]

    def listen(number: int) -> None:
        for event_id, _ in talker.subscribe(task.id):
            heard[number].append(str(event_id))
            if number == 0:
                return

    threads = [threading.Thread(target=listen, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard[0]) == 1
    last = [events[-3:] for events in heard[1:]]
    assert last[0] == last[1] == last[2]


def test_a_silent_stream_is_kept_open(client: httpx.Client) -> None:
    """Comments come while nothing happens, and they are no events."""
    talker = DialectClient(client, V1_0_JSONRPC)
    task = talker.task("x", skill="wait", configuration={"return_immediately": True})
    with client.stream("POST", f"/tasks/{task.id}:subscribe") as response:
        lines = response.iter_lines()
        comments = 0
        for line in lines:
            comments += line.startswith(":")
            if comments == 3:
                break
    talker.cancel(task.id)


def test_a_stream_without_a_first_event_begins_all_the_same(client: httpx.Client) -> None:
    """Who goes on after the newest event is told at once that the stream is open."""
    talker = DialectClient(client, V1_0_JSONRPC)
    task = talker.task("x", skill="wait", configuration={"return_immediately": True})
    assert wait_until(lambda: talker.get(task.id).status.state == TaskState.WORKING)
    with client.stream("POST", f"/tasks/{task.id}:subscribe", headers={"Last-Event-ID": "2"}, timeout=2) as response:
        assert response.status_code == 200
    talker.cancel(task.id)


@pytest.mark.parametrize("path", ["", "/gone"], ids=["the task goes on", "the task is stopped"])
@pytest.mark.parametrize("operation", [SEND_MESSAGE, SEND_STREAMING_MESSAGE], ids=["send", "stream"])
def test_a_client_that_leaves(client: httpx.Client, waiting: BlockingHandler, path: str, operation: object) -> None:
    """A task goes on without whoever waits for it, unless the surface says otherwise."""
    method, url, options = DialectClient(client, V1_0_JSONRPC, path).build_request(operation, build_send_request(f"{path}-{operation}", skill="wait"))  # type: ignore[arg-type]
    with suppress(httpx.ReadTimeout), client.stream(method, url, **options, timeout=0.3):
        time.sleep(0.3)  # a stream has begun; a send has not been answered by then
    if path:
        assert wait_until(lambda: f"{path}-{operation}" in waiting.canceled_texts)
    else:
        time.sleep(0.3)
        assert f"{path}-{operation}" not in waiting.canceled_texts


def test_a_reader_that_leaves_is_forgotten_at_once() -> None:
    """Nothing is followed for a client that has gone, before anything more happens to the task."""
    app = build_test_app()
    with serve_on_socket(app) as client:
        assembly = app.plugins.get(A2APlugin).runtime
        assert assembly is not None
        hub = assembly.engine.hub
        task = DialectClient(client, V1_0_JSONRPC).task("x", skill="wait", configuration={"return_immediately": True})
        with client.stream("GET", f"/tasks/{task.id}:subscribe"):
            assert wait_until(lambda: hub.count_followed_tasks() == 1)
        assert wait_until(lambda: hub.count_followed_tasks() == 0, 1)
        with suppress(httpx.ReadTimeout):
            client.post(
                "/message:send",
                json={"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}], "metadata": SEND_BLOCKING_TASK}},
                timeout=0.3,
            )
        assert wait_until(lambda: hub.count_followed_tasks() == 0, 4)


def test_ends_of_lines_survive_readers_that_cut_there(talker: DialectClient) -> None:
    """What Python takes for ends of lines arrives whole through a reader that cuts at them."""
    texts = [event.artifact_update.artifact.parts[0].text for event in talker.stream("x", skill="lines") if event.artifact_update]
    assert texts == [LINE_ENDS]


def test_a_stream_is_refused_like_everything_else(talker: DialectClient) -> None:
    """What is wrong before the first event is a plain answer."""
    refused = talker.call_raw(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="nobody"))
    assert refused.headers["content-type"] == "application/json"
    for last_event_id in ("three", "1000"):
        wrong = talker.call_raw(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=talker.task("x").id), last_event_id=last_event_id)
        assert '"field":"Last-Event-ID"' in wrong.text


def test_0_3_streams_end_when_the_task_waits_for_the_caller(client: httpx.Client) -> None:
    """The last event says so; in 1.0 the stream stays open."""
    events = DialectClient(client, V0_3_JSONRPC).stream("hi", skill="ask")
    assert events[-1].status_update is not None
    assert events[-1].status_update.status.state == TaskState.INPUT_REQUIRED
    method, url, options = DialectClient(client, V0_3_JSONRPC).build_request(SEND_STREAMING_MESSAGE, build_send_request("hi", skill="ask"))
    with client.stream(method, url, **options) as response:
        frames = [json.loads(data) for _, _, data in parse_sse(response.iter_lines())]
    assert [frame["result"].get("final") for frame in frames][-1] is True
    assert {frame["id"] for frame in frames} == {"r-1"}


def test_a_server_that_stops_cuts_nothing_off() -> None:
    """Whoever still listens, or waits, when the server has waited long enough is told that it stops."""
    heard: list[str] = []
    threads = []
    with serve_on_socket(build_test_app(), grace_seconds=0.1) as client:
        talker = DialectClient(client, V1_0_JSONRPC)
        task = talker.task("x", skill="wait", configuration={"return_immediately": True})

        def listen() -> None:
            with client.stream("POST", f"/tasks/{task.id}:subscribe") as response:
                heard.extend(data for _, _, data in parse_sse(response.iter_lines()))

        def wait() -> None:
            heard.append(talker.call_raw(SEND_MESSAGE, build_send_request("x", skill="wait")).text)

        threads = [threading.Thread(target=listen), threading.Thread(target=wait)]
        for thread in threads:
            thread.start()
        assert wait_until(lambda: talker.get(task.id).status.state == TaskState.WORKING)
        time.sleep(0.3)
    for thread in threads:
        thread.join(5)
    assert sum("UNAVAILABLE" in each for each in heard) == 2


def test_a_request_that_is_cut_off_is_nobody_s_error(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    """A client that leaves in the middle of its body leaves nothing behind, not even a line in the log."""
    host, port = client.base_url.host, client.base_url.port
    with socket.create_connection((host, port or 80)) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
    time.sleep(0.1)
    assert caplog.text == ""
    assert DialectClient(client, V1_0_JSONRPC).task("still here").status.state == TaskState.COMPLETED
