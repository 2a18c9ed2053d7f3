"""Flushing before an awaitable blocks: the awaitable does not notice it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from a2a_runtime.http.event_stream import FlushBeforeBlocking

pytestmark = pytest.mark.anyio


class CallLog:
    """Records the order of what was called."""

    def __init__(self, *, should_fail: bool = False, should_block: bool = False) -> None:
        self.entries: list[str] = []
        self._should_fail = should_fail
        self._should_block = should_block

    async def flush(self) -> None:
        """Flush: record it, block or fail."""
        self.entries.append("flush")
        if self._should_block:
            await asyncio.sleep(0)
        if self._should_fail:
            raise LookupError("flush")

    async def operation(self, *steps: Callable[[], Awaitable[object]]) -> str:
        """Await some steps, and record how that ended."""
        try:
            for step in steps:
                await step()
                self.entries.append("step")
        except asyncio.CancelledError:
            self.entries.append("canceled")
            raise
        finally:
            self.entries.append("end")
        return "done"


async def test_no_flush_for_a_result_that_is_ready() -> None:
    """An awaitable that does not block causes no flush."""
    log = CallLog()
    assert await FlushBeforeBlocking(log.operation(), log.flush) == "done"
    assert log.entries == ["end"]


@pytest.mark.parametrize("should_block", [False, True], ids=["at once", "after blocking itself"])
async def test_one_flush_before_the_first_block(*, should_block: bool) -> None:
    """Whatever the awaitable waits for: a turn of the loop, a timer, or a future that is done
    meanwhile.
    """
    log = CallLog(should_block=should_block)
    gate = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(gate.set_result, None)

    async def wait_for_gate() -> None:
        await gate

    steps = (wait_for_gate, lambda: asyncio.sleep(0), lambda: asyncio.sleep(0.001))
    assert await FlushBeforeBlocking(log.operation(*steps), log.flush) == "done"
    assert log.entries == ["flush", "step", "step", "step", "end"]


async def test_an_error_of_the_flush_is_raised_in_the_awaitable() -> None:
    """An error of the flush is raised in the awaitable, which can clean up."""
    log = CallLog(should_fail=True)
    with pytest.raises(LookupError):
        await FlushBeforeBlocking(log.operation(lambda: asyncio.sleep(10)), log.flush)
    assert log.entries == ["flush", "end"]


@pytest.mark.parametrize("should_block", [False, True], ids=["in the awaitable", "in the flush"])
async def test_a_cancellation_reaches_the_awaitable(*, should_block: bool) -> None:
    """A cancellation reaches the awaitable behind the flush."""
    log = CallLog(should_block=should_block)
    running = asyncio.ensure_future(_flush_before_sleep(log))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert log.entries == ["flush", "canceled", "end"]


async def _flush_before_sleep(log: CallLog) -> str:
    return await FlushBeforeBlocking(log.operation(lambda: asyncio.sleep(10)), log.flush)
