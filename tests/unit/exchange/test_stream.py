"""Streams to one client: order, errors, silence, and clients that leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

import pytest
from unit.exchange.connection import Connection

from a2a_runtime.auth.gate import ChallengeError
from a2a_runtime.http.event_stream import KEEP_ALIVE, EventStreamResponse
from a2a_runtime.http.watchers import CredentialExpiry, DisconnectWatcher
from a2a_runtime.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


class ChunkSource:
    """Frames that come one by one; notes when nobody reads them any more."""

    def __init__(self, chunks: Iterable[bytes], *, failure: Exception | None = None, should_block: float = 0) -> None:
        self.is_closed = False
        self._chunks, self._failure, self._should_block = chunks, failure, should_block

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Give the frames, and then fail or wait for ever."""
        try:
            for frame in self._chunks:
                await asyncio.sleep(self._should_block)
                yield frame
            if self._failure is not None:
                raise self._failure
        finally:
            self.is_closed = True


async def run_stream(connection: Connection, source: ChunkSource, keep_alive: float = 15) -> None:
    """Send frames over a connection."""
    await EventStreamResponse(connection.receive, connection.send, keep_alive).run(source.read(), lambda error: b"failed: %b" % str(error).encode())


async def test_frames_are_sent_in_order_and_the_answer_ends_with_them() -> None:
    """The status comes first, then every frame; the last one says that it is."""
    connection = Connection()
    await run_stream(connection, ChunkSource([b"a", b"b"]))
    assert connection.status == 200
    assert [message.get("body") for message in connection.sent] == [None, b"a", b"b"]
    assert [message.get("more_body") for message in connection.sent] == [None, True, False]


async def test_what_fails_before_the_first_frame_is_raised() -> None:
    """Nothing has been sent, so that the error can be a plain answer."""
    connection = Connection()
    with pytest.raises(LookupError):
        await run_stream(connection, ChunkSource([], failure=LookupError()))
    assert connection.sent == []


async def test_what_fails_later_is_the_last_word() -> None:
    """The client is told within the stream, which then ends."""
    connection = Connection()
    await run_stream(connection, ChunkSource([b"a"], failure=LookupError("lost")))
    assert connection.body == b"afailed: lost"
    assert connection.sent[-1]["more_body"] is False


async def test_a_client_that_leaves_frees_the_reader_at_once() -> None:
    """Whoever produces the frames is stopped, and nothing is raised."""
    connection, frames = Connection(), ChunkSource([b"a"] * 1000, should_block=0.01)
    running = asyncio.create_task(run_stream(connection, frames))
    await asyncio.sleep(0.03)
    connection.left.set()
    await asyncio.wait_for(running, 1)
    assert frames.is_closed
    assert running.cancelling() == 0


async def test_a_server_that_stops_a_stream_is_obeyed() -> None:
    """A cancellation from outside is not taken for a client that has left."""
    connection, frames = Connection(), ChunkSource([b"a"], should_block=10)
    running = asyncio.create_task(run_stream(connection, frames))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert frames.is_closed


async def test_silence_is_broken() -> None:
    """A stream without a first event begins all the same, and says something now and then."""
    connection = Connection()
    await run_stream(connection, ChunkSource([b"a"], should_block=0.5), keep_alive=0.05)
    assert connection.body.count(KEEP_ALIVE) >= 3
    assert connection.body.endswith(b"a")


async def test_a_stream_that_speaks_is_not_interrupted() -> None:
    """There are no comments between events that come often."""
    connection = Connection()
    await run_stream(connection, ChunkSource([b"a"] * 40, should_block=0.01), keep_alive=0.3)
    assert KEEP_ALIVE not in connection.body


async def test_a_listener_lets_work_end_by_itself() -> None:
    """While the client stays, nothing happens to the work, not even to its exceptions."""
    with pytest.raises(LookupError):
        async with DisconnectWatcher(Connection().receive):
            raise LookupError


async def test_a_stream_ends_when_the_proof_of_its_reader_does() -> None:
    """At that moment of the clock, not before, with a last word; who has no end of theirs is not watched."""
    clock, connection, frames = FakeClock(), Connection(), ChunkSource([b"a", b"b"], should_block=0.01)
    for until in (None, clock.millis() / 1000 + 5000):
        stream = EventStreamResponse(connection.receive, connection.send, 15, expiry=CredentialExpiry(clock, until))
        await stream.run(frames.read(), lambda error: str(error).encode())
        assert connection.body == b"ab"
        connection.sent.clear()
    given = asyncio.Event()
    stream = EventStreamResponse(connection.receive, connection.send, 15, expiry=CredentialExpiry(clock, clock.millis() / 1000 + 5000))
    stuck = asyncio.create_task(stream.run(repeat_chunk(frames, given), lambda error: str(error).encode()))
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
    stream = EventStreamResponse(connection.receive, connection.send, 15, expiry=CredentialExpiry(FakeClock(), 0.0))
    with pytest.raises(ChallengeError):
        await stream.run(repeat_chunk(ChunkSource([]), asyncio.Event()), lambda error: str(error).encode())
    assert connection.sent == []


async def repeat_chunk(frames: ChunkSource, given: asyncio.Event) -> AsyncGenerator[bytes, None]:
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

    running = asyncio.create_task(EventStreamResponse(connection.receive, connection.send, 15).run(frames(), lambda _: b""))
    await asyncio.sleep(0.01)
    assert connection.body == b"ab"
    gate.set()
    await running
    assert [message.get("body") for message in connection.sent] == [None, b"ab", b"c" + b"d" * 70_000, b"e"]
    assert [message.get("more_body") for message in connection.sent] == [None, True, True, False]
