"""Background tasks of a process."""

from __future__ import annotations

import asyncio

import pytest

from a2a_runtime.base.clock import SystemClock
from a2a_runtime.engine.background import BackgroundTasks
from a2a_runtime.errors import StoreUnavailableError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "error", [None, StoreUnavailableError("away")], ids=["an answer", "an error"]
)
async def test_a_call_that_loses_its_cancellation_ends_all_the_same(
    error: Exception | None,
) -> None:
    """A driver may swallow the cancellation, or convert it to an error of its own; ``stop`` waits
    for no further call.
    """
    background = BackgroundTasks(SystemClock())
    begun = asyncio.Event()
    calls = 0

    async def loses_cancellation() -> None:
        nonlocal calls
        calls += 1
        begun.set()
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            if error is not None:
                raise error from None

    background.run_every(1000, loses_cancellation)
    await begun.wait()
    async with asyncio.timeout(30):
        await background.stop()
    assert calls == 1
