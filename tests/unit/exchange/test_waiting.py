"""Something is done before a wait, and what waits notices nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from a2a_runtime.http.event_stream import FlushBeforeBlocking

pytestmark = pytest.mark.anyio


class CallLog:
    """What was done, in its order."""

    def __init__(self, *, should_fail: bool = False, should_wait: bool = False) -> None:
        self.entries: list[str] = []
        self._should_fail, self._should_wait = should_fail, should_wait

    async def flush(self) -> None:
        """Be the first thing."""
        self.entries.append("first")
        if self._should_wait:
            await asyncio.sleep(0)
        if self._should_fail:
            raise LookupError("first")

    async def operation(self, *waits: Callable[[], Awaitable[object]]) -> str:
        """Wait for some things, and say how it went."""
        try:
            for wait in waits:
                await wait()
                self.entries.append("waited")
        except asyncio.CancelledError:
            self.entries.append("canceled")
            raise
        finally:
            self.entries.append("left")
        return "done"


async def test_what_is_there_at_once_is_not_waited_for() -> None:
    """Then nothing is done before."""
    notes = CallLog()
    assert await FlushBeforeBlocking(notes.operation(), notes.flush) == "done"
    assert notes.entries == ["left"]


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "after a wait of its own"])
async def test_before_the_first_wait_something_is_done_once(*, waits: bool) -> None:
    """Whatever it waits for: a turn of the loop, a time, or what has come in the meantime."""
    notes, gate = CallLog(should_wait=waits), asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(gate.set_result, None)

    async def come() -> None:
        await gate

    assert await FlushBeforeBlocking(notes.operation(come, lambda: asyncio.sleep(0), lambda: asyncio.sleep(0.001)), notes.flush) == "done"
    assert notes.entries == ["first", "waited", "waited", "waited", "left"]


async def test_a_failure_of_either_is_raised_and_both_are_left() -> None:
    """What is awaited hears that the thing before it has failed, and can put its affairs in order."""
    notes = CallLog(should_fail=True)
    with pytest.raises(LookupError):
        await FlushBeforeBlocking(notes.operation(lambda: asyncio.sleep(10)), notes.flush)
    assert notes.entries == ["first", "left"]


@pytest.mark.parametrize("waits", [False, True], ids=["while it waits", "while the first thing waits"])
async def test_a_cancellation_gets_through(*, waits: bool) -> None:
    """As it would to anything that is awaited."""
    notes = CallLog(should_wait=waits)
    running = asyncio.ensure_future(_flush_before_sleep(notes))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert notes.entries == ["first", "canceled", "left"]


async def _flush_before_sleep(notes: CallLog) -> str:
    return await FlushBeforeBlocking(notes.operation(lambda: asyncio.sleep(10)), notes.flush)
