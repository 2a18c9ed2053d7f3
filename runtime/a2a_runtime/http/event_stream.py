"""Server-sent events: one stream of events to one client.

    events ──► encode ──► buffer ──► client      events that are ready at once go in one write
    client gone, credentials expired             the events are closed at once (see ``watchers``)
    nothing sent for a while                     a comment, so that no proxy closes the connection

An error before anything was sent is raised, and becomes a plain response. A later error is sent as
the last event. If the first event does not come soon, the response starts without it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from contextlib import aclosing
from json.encoder import encode_basestring_ascii
from typing import Generic, TypeVar

from a2a_contract.errors import UnavailableError
from a2a_runtime.http.asgi import ClientDisconnectError, Header, HttpRequest
from a2a_runtime.http.watchers import wait_for_disconnect

T = TypeVar("T")

KEEP_ALIVE = b": keepalive\n\n"
"""A comment, which is no event: it shows clients and proxies that the connection is alive."""

_NOT_ASCII = re.compile(rb"[\x80-\xff]+")
_FIRST_EVENT_TIMEOUT = 0.25
"""Seconds after which the response starts without its first event."""
_MAX_BUFFER_BYTES = 65_536
"""Size at which buffered events are sent although more are ready; then a reader of a long log gives
way to others.
"""
EVENT_STREAM = b"text/event-stream"
_HEADERS = (
    (b"content-type", EVENT_STREAM),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)


def to_ascii_json(json: bytes) -> bytes:
    """Escape all non-ASCII characters in JSON strings: readers in Python split lines at U+0085,
    U+2028 and U+2029 too.
    """
    if json.isascii():
        return json
    return _NOT_ASCII.sub(_escape, json)


def _escape(match: re.Match[bytes]) -> bytes:
    return encode_basestring_ascii(match[0].decode())[1:-1].encode()


def encode_event(cursor: str, json: bytes) -> bytes:
    """Encode one event; without a cursor it is not in the log, and gets no id."""
    data = b"data: %b\n\n" % to_ascii_json(json)
    if cursor:
        return b"id: %b\n%b" % (cursor.encode(), data)
    return data


def encode_error_event(json: bytes) -> bytes:
    """Encode the event that reports the failure of a stream."""
    return b"event: error\ndata: %b\n\n" % to_ascii_json(json)


class FlushBeforeBlocking(Generic[T]):
    """``await FlushBeforeBlocking(awaitable, flush)`` awaits something, and calls ``flush`` once
    before it blocks.

        next event is ready      awaitable ──► result, no flush
        next event is not ready  awaitable ──► pending future ─► flush() ─► event loop ─► … result

    Invariant: the event loop gets every future of ``awaitable`` exactly once and in order, and
    whatever it sends back (a value, an error, a cancellation) reaches the coroutine that is
    suspended at that time, ``flush`` or ``awaitable``. An error of ``flush`` is raised in
    ``awaitable``. A second task for flushing would do the same, but a task for each stream costs
    more than the writes that it saves (measured).
    """

    def __init__(self, awaitable: Awaitable[T], flush: Callable[[], Awaitable[None]]) -> None:
        self._awaitable = awaitable
        self._flush = flush

    def __await__(self) -> Generator[object, object, T]:
        """Run ``awaitable`` by hand up to its first future, then ``flush``, then pass futures and
        replies on as ``yield from`` does.

        If ``flush`` fails, the future is canceled first, as a task does it: a driver must learn
        that the result of its query is not awaited any more.
        """
        steps: Generator[object, object, T] = self._awaitable.__await__()
        failure: BaseException | None = None
        try:
            pending = next(steps)
            try:
                yield from self._flush().__await__()
            except BaseException as error:  # noqa: BLE001 - raised where the awaitable is suspended
                failure = error
                if isinstance(pending, asyncio.Future):
                    pending.cancel()
            while True:
                reply = None
                try:
                    reply = yield pending
                except BaseException as error:  # noqa: BLE001 - as above
                    failure = failure or error
                if failure is None:
                    pending = steps.send(reply)
                else:
                    pending = steps.throw(failure)
                    failure = None
        except StopIteration as finished:
            result: T = finished.value
            return result


class EventStreamResponse:
    """Sends the events of one stream."""

    def __init__(
        self, request: HttpRequest, keep_alive_seconds: float, headers: Iterable[Header] = ()
    ) -> None:
        self._request = request
        self._keep_alive_seconds = keep_alive_seconds
        self._headers = (*_HEADERS, *headers)
        self._now = asyncio.get_running_loop().time
        self._last_sent_at: float | None = None
        self._buffer = bytearray()
        self._send_lock = asyncio.Lock()

    @property
    def has_started(self) -> bool:
        """True if anything was sent or is buffered."""
        return self._request.has_started_response or bool(self._buffer)

    async def run(
        self,
        events: AsyncGenerator[T, None],
        encode: Callable[[T], bytes],
        encode_error: Callable[[Exception], bytes],
    ) -> None:
        """Send every event, and end the response."""
        try:
            with self._request.interrupt as interrupt:
                interrupt.watch(
                    wait_for_disconnect(
                        self._request.receive, self._send_keep_alive, _FIRST_EVENT_TIMEOUT
                    )
                )
                async with aclosing(events):
                    while (
                        event := await FlushBeforeBlocking(anext(events, None), self._flush)
                    ) is not None:
                        self._buffer += encode(event)
                        if len(self._buffer) > _MAX_BUFFER_BYTES:
                            await self._send_chunk()
                            await asyncio.sleep(0)
        except ClientDisconnectError:
            raise
        except Exception as error:  # the edge of a request: every failure is reported to the client
            if not self.has_started:
                raise
            await self._send_chunk(encode_error(error), has_more=False)
        except asyncio.CancelledError:  # the server stops, and its grace period is over
            if self.has_started:
                await self._send_chunk(encode_error(UnavailableError()), has_more=False)
            raise
        else:
            await self._send_chunk(has_more=False)

    async def _flush(self) -> None:
        if self._buffer:
            await self._send_chunk()

    async def _send_chunk(self, data: bytes = b"", *, has_more: bool = True) -> None:
        """Send the buffer and more data; the first chunk starts the response."""
        async with self._send_lock:
            body = bytes(self._buffer + data)
            self._buffer = bytearray()
            self._last_sent_at = self._now()
            if not self._request.has_started_response:
                self._request.has_started_response = True
                await self._request.send(
                    {"type": "http.response.start", "status": 200, "headers": list(self._headers)}
                )
            await self._request.send(
                {"type": "http.response.body", "body": body, "more_body": has_more}
            )

    async def _send_keep_alive(self) -> float:
        """Send a comment if nothing was sent for long; return the seconds until the next check."""
        if self._last_sent_at is not None:
            silent = self._now() - self._last_sent_at
            if silent < self._keep_alive_seconds:
                return self._keep_alive_seconds - silent
        await self._send_chunk(KEEP_ALIVE)
        return self._keep_alive_seconds
