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
from a2a_runtime.http.watchers import Expiry, Listener

# Server-sent events as bytes that every reader takes for what they are.
#
# JSON has no line ends of its own, but readers in Python cut a text at U+0085, U+2028 and U+2029 too: so nothing but ASCII is sent, and everything
# else
# is escaped inside the strings of the JSON.
#

_NOT_ASCII = re.compile(rb"[\x80-\xff]+")

SILENCE = b": keepalive\n\n"
"""A comment: it tells a client, and whatever stands in between, that the connection lives."""


def ascii_json(json: bytes) -> bytes:
    """Write JSON in ASCII; what is ASCII already, which is most, is not looked at twice."""
    return json if json.isascii() else _NOT_ASCII.sub(_escaped, json)


def frame(number: int, json: bytes) -> bytes:
    """Write one event; one that has no number in a log, 0, has no id to go on from."""
    return b"id: %d\ndata: %b\n\n" % (number, ascii_json(json)) if number else b"data: %b\n\n" % ascii_json(json)


def error_frame(json: bytes) -> bytes:
    """Write the event that says that the stream has failed."""
    return b"event: error\ndata: %b\n\n" % ascii_json(json)


def _escaped(found: re.Match[bytes]) -> bytes:
    return encode_basestring_ascii(found[0].decode())[1:-1].encode()


# Doing something at the last moment before waiting.
#
# Whoever collects things to send them together does not want to wait while he still has some: what is there at once is taken, and before the first
# real
# wait, what was taken is sent. A second task could do that too, but a task for each stream costs more than the writes that it saves.
#

T = TypeVar("T")


class BeforeItWaits(Generic[T]):
    """``await BeforeItWaits(it, first)`` awaits something, and if that has to wait, does ``first`` before."""

    def __init__(self, awaited: Awaitable[T], first: Callable[[], Awaitable[None]]) -> None:
        self._awaited, self._first = awaited, first

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
            yield from self._first().__await__()
        except BaseException as error:  # noqa: BLE001 - it is raised where something is awaited
            failure = error
        return (yield from _going_on(steps, waited_for, failure))


def _going_on(steps: Generator[object, object, T], waited_for: object, failure: BaseException | None) -> Generator[object, object, T]:
    """Go on with something that has begun, as ``yield from`` would."""
    try:
        while True:
            if failure is not None:
                waited_for, failure = steps.throw(failure), None
            try:
                heard = yield waited_for
            except BaseException as error:  # noqa: BLE001 - as above
                failure = error
            else:
                waited_for = steps.send(heard)
    except StopIteration as done:
        result: T = done.value
        return result


_PATIENCE = 0.25
"""Seconds after which a stream begins without its first event."""
_BURST = 65_536
"""Bytes of frames that are sent although more are there: a stream that has much to tell is not kept back until it has told it."""
_HEADERS = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))


class EventStream:
    """Sends frames to a client that listens for them."""

    def __init__(
        self, receive: Receive, send: Send, keep_alive: float, headers: Sequence[tuple[bytes, bytes]] = (), expiry: Expiry | None = None
    ) -> None:
        self._receive, self._send = receive, send
        self._keep_alive = keep_alive
        self._headers = (*_HEADERS, *headers)
        self._expiry = expiry or nullcontext()
        self._now = asyncio.get_running_loop().time
        self._spoke_at: float | None = None
        self._ready = bytearray()
        self._turn = asyncio.Lock()

    @property
    def has_begun(self) -> bool:
        """Whether anything was sent, or is about to be."""
        return self._spoke_at is not None or bool(self._ready)

    async def run(self, frames: AsyncGenerator[bytes, None], last_words: Callable[[Exception], bytes]) -> None:
        """Send every frame, and return when they have ended or the client is gone."""
        async with Listener(self._receive, self._break_silence, _PATIENCE) as listener, aclosing(frames):
            try:
                async with self._expiry:
                    while (frame := await BeforeItWaits(anext(frames, None), self._flush)) is not None:
                        self._ready += frame
                        if len(self._ready) > _BURST:
                            await self._say()
            except Exception as error:  # the edge of a request: whatever fails, the client is told
                if not self.has_begun:
                    raise
                await self._say(last_words(error))
            except asyncio.CancelledError:
                if self.has_begun and not listener.is_gone:  # the server stops, and has waited long enough
                    await self._end(last_words(UnavailableError()))
                raise
            await self._end()

    async def _flush(self) -> None:
        if self._ready:
            await self._say()

    async def _end(self, data: bytes = b"") -> None:
        await self._say(data, more=False)

    async def _say(self, data: bytes = b"", *, more: bool = True) -> None:
        """Send what is ready, and something after it."""
        async with self._turn:
            body, self._ready = bytes(self._ready + data), bytearray()
            is_first, self._spoke_at = self._spoke_at is None, self._now()
            if is_first:
                await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def _break_silence(self) -> float:
        """Say something if nothing was said for long, and tell after which time to look again."""
        silent = self._keep_alive if self._spoke_at is None else self._now() - self._spoke_at
        if silent < self._keep_alive:
            return self._keep_alive - silent
        await self._say(SILENCE)
        return self._keep_alive
