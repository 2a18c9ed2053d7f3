"""Faults of agents and networks: each test has a server with one fault, on a real socket."""

from __future__ import annotations

import asyncio

import pytest
from integration.client.bad_server import (
    BadServer,
    answer,
    frames,
    serve_connections,
    stream,
    wrap_result,
)
from pydantic_core import from_json, to_json

from a2a_contract.errors import (
    InternalError,
    MethodNotFoundError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from a2a_contract.v1_0 import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a_runtime.client import (
    HTTP_JSON,
    JSONRPC,
    A2AClient,
    ClientOptions,
    ClosedError,
    ConnectError,
    ConnectionLostError,
    InvalidResponseError,
    Pin,
    ResponseLimits,
    ResponseTimeoutError,
    ResponseTooLargeError,
    RetryPolicy,
    StreamLostError,
    UnexpectedStatusError,
    UntrustedOriginError,
)

pytestmark = pytest.mark.anyio

NEW = Pin("v1_0", JSONRPC)
OLD = Pin("v0_3", JSONRPC)
REST = Pin("v1_0", HTTP_JSON)
OLD_REST = Pin("v0_3_proto", HTTP_JSON)
TASK = b'{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}'
WORKING = b'{"task":%b}' % TASK
CHUNK = (
    b'{"artifactUpdate":{"taskId":"t","contextId":"c",'
    b'"artifact":{"artifactId":"a","parts":[{"text":"one"}]}}}'
)
DONE = b'{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}'


ANSWERS: dict[str, tuple[bytes, Pin, type[Exception], str]] = {
    "a web page": (answer(b"<html>", media_type="text/html"), NEW, InvalidResponseError, "<html>"),
    "half of an answer": (answer(wrap_result(TASK)[:40]), NEW, InvalidResponseError, "GetTask"),
    "nothing": (answer(b""), NEW, InvalidResponseError, "GetTask"),
    "something else": (answer(wrap_result(b'{"id":5}')), NEW, InvalidResponseError, "GetTask"),
    "no result": (answer(b'{"jsonrpc":"2.0","id":"1"}'), NEW, InvalidResponseError, "result"),
    "less than promised": (
        answer(wrap_result(TASK), length=10_000),
        NEW,
        ConnectionLostError,
        "lost",
    ),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n", NEW, ConnectionLostError, "lost"),
    "nothing at all": (b"", NEW, ConnectionLostError, "lost"),
    "too much": (answer(wrap_result(TASK) + b" " * 5000), NEW, ResponseTooLargeError, "2000 bytes"),
    "an error page": (
        answer(b"oops", "500 Internal Server Error", "text/plain"),
        NEW,
        UnexpectedStatusError,
        "oops",
    ),
    "a gateway": (
        answer(b"<html>bad gateway", "502 Bad Gateway", "text/html"),
        NEW,
        UnexpectedStatusError,
        "502",
    ),
    "busy": (answer(b"", "503 Service Unavailable"), NEW, UnavailableError, "unavailable"),
    "elsewhere": (answer(b"", "302 Found"), NEW, UnexpectedStatusError, "302"),
    "an error with the status of an error": (
        answer(
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}', "404 Not Found"
        ),
        NEW,
        MethodNotFoundError,
        "no",
    ),
    "an error that is plain HTTP": (
        answer(b'{"message":"Task not found"}', "404 Not Found"),
        OLD_REST,
        TaskNotFoundError,
        "not found",
    ),
    "an error with a good status": (
        answer(b'{"error":{"code":404,"details":[{"reason":"TASK_NOT_FOUND"}]}}'),
        REST,
        TaskNotFoundError,
        "not found",
    ),
}


@pytest.mark.parametrize(("said", "pin", "kind", "text"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_bad_answers(said: bytes, pin: Pin, kind: type[Exception], text: str) -> None:
    """Each is an error that says what is wrong; none is taken for an answer."""
    server = BadServer(said)
    async with server.client(pin, attempts=2, limits=ResponseLimits(response_bytes=2000)) as client:
        with pytest.raises(kind, match=text):
            await client.get("t")


LENIENT: dict[str, tuple[bytes, Pin]] = {
    "proto3 leaves out what is empty": (wrap_result(b'{"id":"t","status":{}}'), NEW),
    "snake_case": (
        wrap_result(b'{"id":"t","context_id":"c","status":{"state":"TASK_STATE_WORKING"}}'),
        NEW,
    ),
    "numbers for words": (wrap_result(b'{"id":"t","contextId":"c","status":{"state":2}}'), NEW),
    "unknown members and words": (
        wrap_result(b'{"id":"t","new":[1],"status":{"state":"TASK_STATE_DREAMING"}}'),
        NEW,
    ),
    "a null error": (b'{"jsonrpc":"2.0","id":"1","error":null,"result":%b}' % TASK, NEW),
    "another id": (b'{"jsonrpc":"2.0","id":99,"result":%b}' % TASK, NEW),
    "no envelope members": (b'{"result":%b}' % TASK, NEW),
    "0.3 without its kinds": (
        wrap_result(
            b'{"id":"t","contextId":"c","status":{"state":"working","message":{"messageId":"m","role":"agent","parts":[{"text":"a"}]}},'
            b'"artifacts":[{"artifactId":"a","parts":[{"data":{}},{"file":{"uri":"https://a.example"}}]}]}'
        ),
        OLD,
    ),
    "the documented form of 0.3 over HTTP": (
        b'{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}',
        OLD_REST,
    ),
}


@pytest.mark.parametrize(("body", "pin"), LENIENT.values(), ids=LENIENT.keys())
async def test_missing_optional_members_are_accepted(body: bytes, pin: Pin) -> None:
    """Responses of lenient peers are read."""
    async with BadServer(answer(body, media_type="text/plain")).client(pin) as client:
        task = await client.get("t")
    assert task.id == "t"
    assert task.status.state in {TaskState.WORKING, TaskState.UNSPECIFIED, "TASK_STATE_DREAMING"}


@pytest.mark.parametrize(
    "body",
    [b'{"jsonrpc":"2.0","id":"1"}', wrap_result(b"null"), wrap_result(b"{}")],
    ids=["missing", "null", "object"],
)
async def test_an_answer_of_nothing(body: bytes) -> None:
    """Deleting has no answer, which peers write in every way."""
    async with BadServer(answer(body)).client() as client:
        await client.push_configs.delete("t", "c")


async def test_reading_is_tried_again() -> None:
    """Over a connection that drops, and past an agent that is busy."""
    server = BadServer(b"", answer(b"", "503 Busy"), answer(wrap_result(TASK)))
    async with server.client() as client:
        assert (await client.get("t")).id == "t"
    assert len(server.requests) == 3


async def test_a_message_is_tried_again_under_its_key() -> None:
    """The same key and the same message, so that an agent that has it already knows."""
    server = BadServer(b"", answer(wrap_result(WORKING)), keyed=True)
    async with server.client() as client:
        await client.send("hello", wait=False)
    assert server.headers(0)[b"idempotency-key"] == server.headers(1)[b"idempotency-key"]
    said = [
        from_json(each.partition(b"\r\n\r\n")[2])["params"]["message"]["messageId"]
        for each in server.requests
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("said", [b"", answer(b"", "503 Busy")], ids=["broken", "busy"])
async def test_a_message_is_sent_once_to_an_agent_that_may_know_nothing_of_keys(
    said: bytes,
) -> None:
    """It has perhaps done it, and would do it again: neither a call nor the begin of a stream is
    repeated.
    """
    server = BadServer(said)
    async with server.client() as client:
        with pytest.raises((ConnectionLostError, UnavailableError)):
            await client.send("pay")
        with pytest.raises((ConnectionLostError, UnavailableError)):
            await collect_events(client)
    assert len(server.requests) == 2


async def test_a_cancel_is_sent_once() -> None:
    """A second cancel differs from the first."""
    server = BadServer(b"")
    async with server.client() as client:
        with pytest.raises(ConnectionLostError):
            await client.cancel("t")
    assert len(server.requests) == 1


async def test_silence() -> None:
    """An agent that does not answer may be at it: a message is not sent again."""
    server = BadServer(None)
    async with server.client(patience=0.2) as client:
        with pytest.raises(ResponseTimeoutError):
            await client.send("hello")
    assert len(server.requests) == 1


async def test_nobody_there() -> None:
    """A refused connection says so, after some attempts."""
    async with A2AClient(
        "http://127.0.0.1:9/",
        options=ClientOptions(retry_policy=RetryPolicy(attempts=2, initial_delay=0.01)),
    ) as client:
        with pytest.raises(ConnectError, match=r"127\.0\.0\.1:9"):
            await client.send("hello")


async def test_a_closed_client() -> None:
    """A closed client raises an error for each call."""
    server = BadServer(answer(wrap_result(TASK)))
    async with server.client() as client:
        await client.aclose()
        with pytest.raises(ClosedError):
            await client.get("t")


async def collect_events(client: A2AClient) -> list[str]:
    """Stream, and write down shortly what came."""
    names = []
    async for event in client.stream("hello"):
        match event:
            case TaskArtifactUpdateEvent():
                names.append(event.artifact.parts[0].text or "")
            case Task() | TaskStatusUpdateEvent():
                names.append(event.status.state.name)
            case Message():
                names.append("message")
    return names


STREAMS: dict[str, tuple[tuple[bytes, ...], list[str]]] = {
    "whole": ((stream(WORKING, CHUNK, DONE),), ["WORKING", "one", "COMPLETED"]),
    "no more than its end": ((stream(WORKING, DONE, CHUNK),), ["WORKING", "COMPLETED"]),
    "cut in a frame": (
        (stream(WORKING, CHUNK, more=frames(DONE)[:50]), stream(WORKING, DONE)),
        ["WORKING", "one", "WORKING", "COMPLETED"],
    ),
    "cut before anything": ((b"", stream(WORKING, DONE)), ["WORKING", "COMPLETED"]),
    "comments, and line ends of all kinds": (
        (stream(more=b": ping\r\n\r\n" + frames(WORKING, DONE).replace(b"\n", b"\r\n")),),
        ["WORKING", "COMPLETED"],
    ),
    "one answer that is no stream": ((answer(wrap_result(DONE)),), ["COMPLETED"]),
    "over when it is asked for again": (
        (
            stream(WORKING),
            answer(b'{"error":{"code":-32004,"message":"over"}}'),
            answer(wrap_result(TASK.replace(b"WORKING", b"COMPLETED"))),
        ),
        ["WORKING", "COMPLETED"],
    ),
}


@pytest.mark.parametrize(("said", "events"), STREAMS.values(), ids=STREAMS.keys())
async def test_streams_come_to_their_end(said: tuple[bytes, ...], events: list[str]) -> None:
    """A stream ends with the task, whatever fault happens on the way."""
    async with BadServer(*said, keyed=True).client() as client:
        assert await collect_events(client) == events


BROKEN: dict[str, tuple[bytes, type[Exception], str]] = {
    "an error at once": (
        answer(b'{"error":{"code":-32004,"message":"no streams"}}'),
        UnsupportedOperationError,
        "no streams",
    ),
    "an error within": (
        stream(WORKING, more=b'data: {"error":{"code":-32603,"message":"oops"}}\n\n'),
        InternalError,
        "oops",
    ),
    "an error by name": (
        stream(WORKING, more=b'event: error\ndata: {"code":-32603,"message":"oops"}\n\n'),
        InternalError,
        "oops",
    ),
    "a web page": (answer(b"<html>", media_type="text/html"), InvalidResponseError, "<html>"),
    "a frame of something else": (
        stream(WORKING, b'{"new":1}'),
        InvalidResponseError,
        "SendStreamingMessage",
    ),
    "a frame of nonsense": (
        stream(WORKING, more=b"data: hello\n\n"),
        InvalidResponseError,
        "hello",
    ),
    "a line without an end": (
        stream(WORKING, more=b"data: " + b"x" * 5000),
        ResponseTooLargeError,
        "2000",
    ),
    "broken over and over": (stream(WORKING), StreamLostError, "ended before"),
    "an error page": (answer(b"oops", "500 Internal Server Error"), UnexpectedStatusError, "oops"),
}


@pytest.mark.parametrize(("said", "kind", "text"), BROKEN.values(), ids=BROKEN.keys())
async def test_streams_that_break_say_so(said: bytes, kind: type[Exception], text: str) -> None:
    """None ends as if all were well."""
    async with BadServer(said).client(
        resumes=0.1, limits=ResponseLimits(event_bytes=2000)
    ) as client:
        with pytest.raises(kind, match=text):
            await collect_events(client)


async def test_a_cursor_may_be_any_text() -> None:
    """It goes back to the agent as it came."""
    server = BadServer(stream(more="id: é7\n".encode() + frames(WORKING)), stream(DONE))
    async with server.client() as client:
        assert await collect_events(client) == ["WORKING", "COMPLETED"]
    assert server.headers(1)[b"last-event-id"] == "é7".encode()


async def test_a_silent_stream_is_taken_up_again() -> None:
    """A connection that is dead and does not know it is found out by its silence."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n"

    class Stuck(BadServer):
        async def _answer_connection(
            self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            if self.requests:
                return await super()._answer_connection(reader, writer)
            self.requests.append(await reader.read(65536))
            writer.write(head + b"id: 3\n" + frames(WORKING))
            return await asyncio.sleep(30)

    server = Stuck(stream(DONE))
    async with server.client(silence=0.3) as client:
        assert await collect_events(client) == ["WORKING", "COMPLETED"]
    assert server.headers(1)[b"last-event-id"] == b"3"


@pytest.mark.parametrize(
    "rest", [b"HTTP/1.1 200 OK\r\n", answer(b"", length=1_000_000)], ids=["headers", "body"]
)
async def test_an_answer_that_drips_has_a_deadline(rest: bytes) -> None:
    """The timeout is that of the whole answer, not of a pause: for a card, for an answer, and for
    an answer in place of a stream.
    """

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(rest)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    once = RetryPolicy(attempts=1)
    async with serve_connections(drip) as url:
        async with A2AClient(url, timeout=0.5, options=ClientOptions(retry_policy=once)) as client:
            with pytest.raises(ResponseTimeoutError, match=r"0\.5 s"):
                await client.get_card()
        async with A2AClient(
            url, timeout=0.5, options=ClientOptions(retry_policy=once, interface_url=url)
        ) as client:
            with pytest.raises(ResponseTimeoutError):
                await client.get("t")
            with pytest.raises(ResponseTimeoutError):
                async for _ in client.stream("x"):
                    pass


async def test_credentials_stay_at_their_origin() -> None:
    """Another port of the same host may be another service: a card that leads there gets nothing,
    unless the client trusts that origin.
    """
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        card = {
            "name": "a",
            "description": "",
            "version": "1",
            "capabilities": {},
            "skills": [],
            "defaultInputModes": [],
            "defaultOutputModes": [],
        }
        interface = {"url": other_url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        body = (
            to_json({**card, "supportedInterfaces": [interface]})
            if head.startswith(b"GET")
            else wrap_result(TASK)
        )
        writer.write(answer(body))

    async with serve_connections(serve) as url, serve_connections(serve) as other_url:
        async with A2AClient(url, auth="hush") as client:
            with pytest.raises(UntrustedOriginError, match=other_url):
                await client.get("t")
        assert not any(head.startswith(b"POST") for head in heads)
        async with A2AClient(
            url, auth="hush", options=ClientOptions(trusted_origins=(other_url,))
        ) as client:
            assert (await client.get("t")).id == "t"
        assert b"Bearer hush" in heads[-1]
