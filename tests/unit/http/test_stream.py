"""Event streams: order, errors, keep-alive, disconnect and expired credentials."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

import pytest
from unit.http.connection import Connection

from a2a_runtime.auth.gate import ChallengeError
from a2a_runtime.http.asgi import ClientDisconnectError, HttpRequest
from a2a_runtime.http.event_stream import KEEP_ALIVE, EventStreamResponse
from a2a_runtime.http.watchers import wait_for_expiry
from a2a_runtime.testing.clock import FakeClock

pytestmark = pytest.mark.anyio


class ChunkSource:
    """Yields chunks one by one; records that its reader has closed it."""

    def __init__(
        self, chunks: Iterable[bytes], *, failure: Exception | None = None, pause_seconds: float = 0
    ) -> None:
        self.is_closed = False
        self._chunks = chunks
        self._failure = failure
        self._pause_seconds = pause_seconds

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield the chunks, then fail if a failure is given."""
        try:
            for chunk in self._chunks:
                await asyncio.sleep(self._pause_seconds)
                yield chunk
            if self._failure is not None:
                raise self._failure
        finally:
            self.is_closed = True


async def run_stream(
    request: HttpRequest, chunks: AsyncGenerator[bytes, None], keep_alive_seconds: float = 15
) -> None:
    """Send chunks as a stream."""
    await EventStreamResponse(request, keep_alive_seconds).run(
        chunks, bytes, lambda error: b"failed: %b" % str(error).encode()
    )


async def run_until(
    request: HttpRequest, chunks: AsyncGenerator[bytes, None], clock: FakeClock, expires_at: float
) -> None:
    """Send chunks until the credentials expire."""
    with request.interrupt as interrupt:
        interrupt.watch(wait_for_expiry(clock, expires_at))
        await run_stream(request, chunks)


async def test_chunks_are_sent_in_order() -> None:
    """The status comes first, then every chunk; the last message ends the response."""
    connection = Connection()
    await run_stream(connection.request(), ChunkSource([b"a", b"b"]).read())
    assert connection.status == 200
    assert [message.get("body") for message in connection.sent] == [None, b"a", b"b"]
    assert [message.get("more_body") for message in connection.sent] == [None, True, False]


async def test_an_error_before_the_first_chunk_is_raised() -> None:
    """Nothing has been sent, so that the error can become a plain response."""
    connection = Connection()
    with pytest.raises(LookupError):
        await run_stream(connection.request(), ChunkSource([], failure=LookupError()).read())
    assert connection.sent == []


async def test_a_later_error_is_the_last_event() -> None:
    """The stream reports the error and ends."""
    connection = Connection()
    await run_stream(connection.request(), ChunkSource([b"a"], failure=LookupError("lost")).read())
    assert connection.body == b"afailed: lost"
    assert connection.sent[-1]["more_body"] is False


async def test_a_disconnect_closes_the_source_at_once() -> None:
    """The cancellation of the task is undone, and the disconnect is raised."""
    connection = Connection()
    source = ChunkSource([b"a"] * 1000, pause_seconds=0.01)
    running = asyncio.create_task(run_stream(connection.request(), source.read()))
    await asyncio.sleep(0.03)
    connection.left.set()
    with pytest.raises(ClientDisconnectError):
        await asyncio.wait_for(running, 5)
    assert source.is_closed
    assert running.cancelling() == 0


async def test_a_cancellation_by_the_server_passes() -> None:
    """It is not mistaken for a disconnect."""
    connection = Connection()
    source = ChunkSource([b"a"], pause_seconds=10)
    running = asyncio.create_task(run_stream(connection.request(), source.read()))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert source.is_closed


async def test_keep_alive_comments_are_sent_while_nothing_happens() -> None:
    """A stream without a first event starts, and sends a comment at every interval."""
    connection = Connection()

    async def yield_chunks() -> AsyncGenerator[bytes, None]:
        while connection.body.count(KEEP_ALIVE) < 3:  # noqa: ASYNC110 - the connection has no event
            await asyncio.sleep(0.01)
        yield b"a"

    async with asyncio.timeout(30):
        await run_stream(connection.request(), yield_chunks(), keep_alive_seconds=0.05)
    assert connection.body.endswith(b"a")


async def test_no_keep_alive_comment_between_frequent_events() -> None:
    """Every chunk restarts the interval of keep-alive comments."""
    connection = Connection()
    await run_stream(
        connection.request(),
        ChunkSource([b"a"] * 12, pause_seconds=0.1).read(),
        keep_alive_seconds=1,
    )
    assert KEEP_ALIVE not in connection.body


async def test_a_stream_whose_events_are_ready_gives_way_to_others() -> None:
    """A reader of a long log writes one buffer in a turn of the event loop, not the whole log."""
    connection = Connection()
    seen_sizes: set[int] = set()

    async def take_turns() -> None:
        while True:
            seen_sizes.add(len(connection.body))
            await asyncio.sleep(0)

    async def yield_chunks() -> AsyncGenerator[bytes, None]:
        for _ in range(10):
            yield b"a" * 100_000

    other = asyncio.create_task(take_turns())
    await run_stream(connection.request(), yield_chunks())
    other.cancel()
    assert seen_sizes.issuperset(range(100_000, 1_000_000, 100_000))


async def test_a_stream_ends_when_its_credentials_expire() -> None:
    """At that moment of the clock, not before, with an error event."""
    clock = FakeClock()
    connection = Connection()
    source = ChunkSource([b"a", b"b"], pause_seconds=0.01)
    expires_at = clock.millis() / 1000 + 5000
    await run_until(connection.request(), source.read(), clock, expires_at)
    assert connection.body == b"ab"
    connection.sent.clear()
    consumed = asyncio.Event()
    blocked = asyncio.create_task(
        run_until(connection.request(), block_after(source, consumed), clock, expires_at)
    )
    await consumed.wait()
    clock.advance(3600)
    await asyncio.sleep(0.01)
    assert not blocked.done()
    clock.advance(1401)
    await blocked
    assert b"expired" in connection.body
    assert connection.sent[-1]["more_body"] is False


async def test_credentials_that_expire_before_the_first_event_are_refused() -> None:
    """Nothing has been sent, so that the error can become a plain response."""
    connection = Connection()
    with pytest.raises(ChallengeError):
        await run_until(
            connection.request(), block_after(ChunkSource([]), asyncio.Event()), FakeClock(), 0.0
        )
    assert connection.sent == []


async def block_after(source: ChunkSource, consumed: asyncio.Event) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a source, then block for ever."""
    async for chunk in source.read():
        yield chunk
    consumed.set()
    await asyncio.Event().wait()


async def test_chunks_that_are_ready_at_once_go_in_one_write() -> None:
    """A write to the socket costs more than everything that was done for a chunk; but no chunk
    waits for one that is not ready.
    """
    connection = Connection()
    gate = asyncio.Event()

    async def yield_chunks() -> AsyncGenerator[bytes, None]:
        yield b"a"
        yield b"b"
        await gate.wait()
        yield b"c"
        yield b"d" * 70_000
        yield b"e"

    running = asyncio.create_task(run_stream(connection.request(), yield_chunks()))
    async with asyncio.timeout(30):
        while not connection.body:  # noqa: ASYNC110 - the connection has no event
            await asyncio.sleep(0.01)
    assert connection.body == b"ab"
    gate.set()
    await running
    assert [message.get("body") for message in connection.sent] == [
        None,
        b"ab",
        b"c" + b"d" * 70_000,
        b"e",
    ]
    assert [message.get("more_body") for message in connection.sent] == [None, True, True, False]
