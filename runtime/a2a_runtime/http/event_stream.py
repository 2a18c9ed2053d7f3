"""One stream of events to one client.

    events ──► frames ──► client          until the events end, or fail; frames that are there at once go in one write
    client gone ──► the events are closed at once, and with them whoever reads for them
    client's proof run out ──► the same, with an error as the last event
    silence ──► a comment, so that nothing in between takes the connection for dead

What fails before anything was sent is raised, so that it becomes a plain answer; what fails later becomes the last event. A first event that does not
come soon is not waited for: the client is told that the stream has begun.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, nullcontext
from json.encoder import encode_basestring_ascii
from typing import Generic, TypeVar

from litestar.types import Receive, Send

from a2a_contract.errors import UnavailableError
from a2a_runtime.http.watchers import CredentialExpiry, DisconnectWatcher

# Server-sent events as bytes that every reader takes for what they are.
#
# JSON has no line ends of its own, but readers in Python cut a text at U+0085, U+2028 and U+2029 too: so nothing but ASCII is sent, and everything
# else
# is escaped inside the strings of the JSON.
#

_NOT_ASCII = re.compile(rb"[\x80-\xff]+")

KEEP_ALIVE = b": keepalive\n\n"
"""A comment: it tells a client, and whatever stands in between, that the connection lives."""


def to_ascii_json(json: bytes) -> bytes:
    """Write JSON in ASCII; what is ASCII already, which is most, is not looked at twice."""
    return json if json.isascii() else _NOT_ASCII.sub(_escape, json)


def encode_event(number: int, json: bytes) -> bytes:
    """Write one event; one that has no number in a log, 0, has no id to go on from."""
    return b"id: %d\ndata: %b\n\n" % (number, to_ascii_json(json)) if number else b"data: %b\n\n" % to_ascii_json(json)


def encode_error_event(json: bytes) -> bytes:
    """Write the event that says that the stream has failed."""
    return b"event: error\ndata: %b\n\n" % to_ascii_json(json)


def _escape(match: re.Match[bytes]) -> bytes:
    return encode_basestring_ascii(match[0].decode())[1:-1].encode()


# Doing something at the last moment before waiting.
#
# Whoever collects things to send them together does not want to wait while he still has some: what is there at once is taken, and before the first
# real
# wait, what was taken is sent. A second task could do that too, but a task for each stream costs more than the writes that it saves.
#

T = TypeVar("T")


class FlushBeforeBlocking(Generic[T]):
    """``await BeforeItWaits(it, first)`` awaits something, and if that has to wait, does ``first`` before."""

    def __init__(self, awaited: Awaitable[T], flush: Callable[[], Awaitable[None]]) -> None:
        self._awaited, self._flush = awaited, flush

    def __await__(self) -> Generator[object, object, T]:
        """Run it up to where it waits, then ``first``; what it waits for may have come by then, which its task sees as always."""
        steps: Generator[object, object, T] = self._awaited.__await__()
        try:
            waited_for = next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        failure: BaseException | None = None
        try:
            yield from self._flush().__await__()
        except BaseException as error:  # noqa: BLE001 - it is raised where something is awaited
            failure = error
        return (yield from _resume(steps, waited_for, failure))


def _resume(steps: Generator[object, object, T], pending: object, failure: BaseException | None) -> Generator[object, object, T]:
    """Go on with something that has begun, as ``yield from`` would."""
    try:
        while True:
            if failure is not None:
                pending, failure = steps.throw(failure), None
            try:
                heard = yield pending
            except BaseException as error:  # noqa: BLE001 - as above
                failure = error
            else:
                pending = steps.send(heard)
    except StopIteration as done:
        result: T = done.value
        return result


_FIRST_EVENT_TIMEOUT = 0.25
"""Seconds after which a stream begins without its first event."""
_MAX_BUFFER_BYTES = 65_536
"""Bytes of frames that are sent although more are there: a stream that has much to tell is not kept back until it has told it."""
_HEADERS = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))


class EventStreamResponse:
    """Sends frames to a client that listens for them."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        keep_alive_seconds: float,
        headers: Sequence[tuple[bytes, bytes]] = (),
        expiry: CredentialExpiry | None = None,
    ) -> None:
        self._receive, self._send = receive, send
        self._keep_alive_seconds = keep_alive_seconds
        self._headers = (*_HEADERS, *headers)
        self._expiry = expiry or nullcontext()
        self._now = asyncio.get_running_loop().time
        self._last_sent_at: float | None = None
        self._buffer = bytearray()
        self._send_lock = asyncio.Lock()

    @property
    def has_started(self) -> bool:
        """Whether anything was sent, or is about to be."""
        return self._last_sent_at is not None or bool(self._buffer)

    async def run(self, chunks: AsyncGenerator[bytes, None], encode_error: Callable[[Exception], bytes]) -> None:
        """Send every frame, and return when they have ended or the client is gone."""
        async with DisconnectWatcher(self._receive, self._send_keep_alive, _FIRST_EVENT_TIMEOUT) as listener, aclosing(chunks):
            try:
                async with self._expiry:
                    while (frame := await FlushBeforeBlocking(anext(chunks, None), self._flush)) is not None:
                        self._buffer += frame
                        if len(self._buffer) > _MAX_BUFFER_BYTES:
                            await self._send_chunk()
            except Exception as error:  # the edge of a request: whatever fails, the client is told
                if not self.has_started:
                    raise
                await self._send_chunk(encode_error(error))
            except asyncio.CancelledError:
                if self.has_started and not listener.is_disconnected:  # the server stops, and has waited long enough
                    await self._finish(encode_error(UnavailableError()))
                raise
            await self._finish()

    async def _flush(self) -> None:
        if self._buffer:
            await self._send_chunk()

    async def _finish(self, data: bytes = b"") -> None:
        await self._send_chunk(data, more=False)

    async def _send_chunk(self, data: bytes = b"", *, more: bool = True) -> None:
        """Send what is ready, and something after it."""
        async with self._send_lock:
            body, self._buffer = bytes(self._buffer + data), bytearray()
            is_first, self._last_sent_at = self._last_sent_at is None, self._now()
            if is_first:
                await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _send_keep_alive(self) -> float:
        """Say something if nothing was said for long, and tell after which time to look again."""
        silent = self._keep_alive_seconds if self._last_sent_at is None else self._now() - self._last_sent_at
        if silent < self._keep_alive_seconds:
            return self._keep_alive_seconds - silent
        await self._send_chunk(KEEP_ALIVE)
        return self._keep_alive_seconds
