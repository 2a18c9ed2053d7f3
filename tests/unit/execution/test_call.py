"""Handlers are called as what they are; plain functions run in a thread of their own."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from a2a_runtime.execution.run import run_in_thread
from a2a_runtime.execution.signals import TaskSuspended

pytestmark = pytest.mark.anyio


async def test_a_function_that_blocks_blocks_nobody() -> None:
    """The loop goes on while a hundred functions sleep, and each has its own thread."""
    started = time.monotonic()
    names = await asyncio.gather(*(run_in_thread(lambda _: (time.sleep(0.1), threading.current_thread().ident)[1], None) for _ in range(100)))
    assert time.monotonic() - started < 5
    assert len(set(names)) > 1


@pytest.mark.parametrize("error", [ValueError, TaskSuspended, StopIteration, SystemExit], ids=lambda error: error.__name__)
async def test_whatever_a_function_raises_reaches_whoever_waits(error: type[BaseException]) -> None:
    """Exceptions cross from the thread, those that are none too; nothing is swallowed and nothing hangs."""

    def fails(_: object) -> None:
        raise error

    with pytest.raises(RuntimeError if error is StopIteration else error):
        async with asyncio.timeout(5):
            await run_in_thread(fails, None)


async def test_nobody_waits_for_an_abandoned_function() -> None:
    """A function that never comes back keeps neither its caller nor the process."""
    stop = threading.Event()
    call = asyncio.ensure_future(run_in_thread(lambda _: stop.wait(10), None))
    await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "a2a-handler")
    stop.set()
