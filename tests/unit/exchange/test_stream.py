"""Streams to one client: order, errors, silence, and clients that leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

import pytest
from unit.exchange.connection import Connection

from a2a_runtime.auth.gate import ChallengeError
from a2a_runtime.http.event_stream import SILENCE, EventStream
from a2a_runtime.http.watchers import Expiry, Listener
from a2a_runtime.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


class Frames:
    """Frames that come one by one; notes when nobody reads them any more."""

    def __init__(self, frames: Iterable[bytes], *, then: Exception | None = None, waits: float = 0) -> None:
        self.closed = False
        self._frames, self._then, self._waits = frames, then, waits

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Give the frames, and then fail or wait for ever."""
        try:
            for frame in self._frames:
                await asyncio.sleep(self._waits)
                yield frame
            if self._then is not None:
                raise self._then
        finally:
            self.closed = True


async def run(connection: Connection, frames: Frames, keep_alive: float = 15) -> None:
    """Send frames over a connection."""
    await EventStream(connection.receive, connection.send, keep_alive).run(frames.read(), lambda error: b"failed: %b" % str(error).encode())


async def test_frames_are_sent_in_order_and_the_answer_ends_with_them() -> None:
    """The status comes first, then every frame; the last one says that it is."""
    connection = Connection()
    await run(connection, Frames([b"a", b"b"]))
    assert connection.status == 200
    assert [message.get("body") for message in connection.sent] == [None, b"a", b"b"]
    assert [message.get("more_body") for message in connection.sent] == [None, True, False]


async def test_what_fails_before_the_first_frame_is_raised() -> None:
    """Nothing has been sent, so that the error can be a plain answer."""
    connection = Connection()
    with pytest.raises(LookupError):
        await run(connection, Frames([], then=LookupError()))
    assert connection.sent == []


async def test_what_fails_later_is_the_last_word() -> None:
    """The client is told within the stream, which then ends."""
    connection = Connection()
    await run(connection, Frames([b"a"], then=LookupError("lost")))
    assert connection.body == b"afailed: lost"
    assert connection.sent[-1]["more_body"] is False


async def test_a_client_that_leaves_frees_the_reader_at_once() -> None:
    """Whoever produces the frames is stopped, and nothing is raised."""
    connection, frames = Connection(), Frames([b"a"] * 1000, waits=0.01)
    running = asyncio.create_task(run(connection, frames))
    await asyncio.sleep(0.03)
    connection.left.set()
    await asyncio.wait_for(running, 1)
    assert frames.closed
    assert running.cancelling() == 0


async def test_a_server_that_stops_a_stream_is_obeyed() -> None:
    """A cancellation from outside is not taken for a client that has left."""
    connection, frames = Connection(), Frames([b"a"], waits=10)
    running = asyncio.create_task(run(connection, frames))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert frames.closed


async def test_silence_is_broken() -> None:
    """A stream without a first event begins all the same, and says something now and then."""
    connection = Connection()
    await run(connection, Frames([b"a"], waits=0.5), keep_alive=0.05)
    assert connection.body.count(SILENCE) >= 3
    assert connection.body.endswith(b"a")


async def test_a_stream_that_speaks_is_not_interrupted() -> None:
    """There are no comments between events that come often."""
    connection = Connection()
    await run(connection, Frames([b"a"] * 40, waits=0.01), keep_alive=0.3)
    assert SILENCE not in connection.body


async def test_a_listener_lets_work_end_by_itself() -> None:
    """While the client stays, nothing happens to the work, not even to its exceptions."""
    with pytest.raises(LookupError):
        async with Listener(Connection().receive):
            raise LookupError


async def test_a_stream_ends_when_the_proof_of_its_reader_does() -> None:
    """At that moment of the clock, not before, with a last word; who has no end of theirs is not watched."""
    clock, connection, frames = FakeClock(), Connection(), Frames([b"a", b"b"], waits=0.01)
    for until in (None, clock.millis() / 1000 + 5000):
        stream = EventStream(connection.receive, connection.send, 15, expiry=Expiry(clock, until))
        await stream.run(frames.read(), lambda error: str(error).encode())
        assert connection.body == b"ab"
        connection.sent.clear()
    given = asyncio.Event()
    stream = EventStream(connection.receive, connection.send, 15, expiry=Expiry(clock, clock.millis() / 1000 + 5000))
    stuck = asyncio.create_task(stream.run(endless(frames, given), lambda error: str(error).encode()))
    await given.wait()
    clock.advance(3600)
    await asyncio.sleep(0.01)
    assert not stuck.done()
    clock.advance(1401)
    await stuck
    assert b"has expired" in connection.body
    assert connection.sent[-1]["more_body"] is False


async def test_a_proof_that_ends_before_the_first_event_is_refused_plainly() -> None:
    """Nothing was sent yet."""
    connection = Connection()
    stream = EventStream(connection.receive, connection.send, 15, expiry=Expiry(FakeClock(), 0.0))
    with pytest.raises(ChallengeError):
        await stream.run(endless(Frames([]), asyncio.Event()), lambda error: str(error).encode())
    assert connection.sent == []


async def endless(frames: Frames, given: asyncio.Event) -> AsyncGenerator[bytes, None]:
    """Give frames, and then none for ever."""
    async for frame in frames.read():
        yield frame
    given.set()
    await asyncio.Event().wait()


async def test_frames_that_are_there_at_once_go_in_one_write() -> None:
    """A write to the socket costs more than all that was done for a frame; but nothing that is ready waits for what is not."""
    connection, gate = Connection(), asyncio.Event()

    async def frames() -> AsyncGenerator[bytes, None]:
        yield b"a"
        yield b"b"
        await gate.wait()
        yield b"c"
        yield b"d" * 70_000
        yield b"e"

    running = asyncio.create_task(EventStream(connection.receive, connection.send, 15).run(frames(), lambda _: b""))
    await asyncio.sleep(0.01)
    assert connection.body == b"ab"
    gate.set()
    await running
    assert [message.get("body") for message in connection.sent] == [None, b"ab", b"c" + b"d" * 70_000, b"e"]
    assert [message.get("more_body") for message in connection.sent] == [None, True, True, False]
