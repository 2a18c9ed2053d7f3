"""Clocks, and conversions of points in time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from a2a_contract.base import timestamp_from_text, timestamp_text
from a2a_runtime.base.clock import SystemClock, to_datetime, to_millis, to_rfc3339
from a2a_runtime.testing.clock import FakeClock


@pytest.mark.parametrize("millis", [0, 1, 999, 1000, 1_793_872_800_007, 4_102_444_800_999])
def test_conversions_are_lossless(millis: int) -> None:
    """Number, datetime and text are the same time, and the text is that of the models."""
    assert to_millis(to_datetime(millis)) == millis
    assert to_rfc3339(millis) == timestamp_text(to_datetime(millis))
    assert timestamp_from_text(to_rfc3339(millis)) == to_datetime(millis)


def test_time_zones_do_not_matter() -> None:
    """An offset is converted, and the time is rounded down to a millisecond."""
    there = datetime(2026, 11, 5, 12, 0, 0, 1999, tzinfo=timezone(timedelta(hours=2)))
    assert to_datetime(to_millis(there)) == datetime(2026, 11, 5, 10, 0, 0, 1000, tzinfo=UTC)


def test_the_system_clock_reads_the_machine() -> None:
    """Its time is that of the machine, in milliseconds."""
    clock = SystemClock()
    assert abs(clock.millis() - time.time() * 1000) < 1000
    before = clock.monotonic()
    asyncio.run(clock.sleep(0.01))
    assert clock.monotonic() - before >= 0.01


def test_a_fake_clock_moves_only_by_hand() -> None:
    """Sleepers wake in order when the clock passes their times; a canceled one does not."""
    clock = FakeClock(1000)
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async def scene() -> None:
        tasks = [
            asyncio.create_task(sleeper(name, seconds))
            for name, seconds in (("late", 2), ("soon", 1), ("canceled", 1.5), ("now", 0))
        ]
        await asyncio.sleep(0.01)
        assert woken == ["now"]
        tasks[2].cancel()
        clock.advance(0.5)
        await asyncio.sleep(0)
        assert woken == ["now"]
        clock.advance(1.5)
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scene())
    assert woken == ["now", "soon", "late"]
    assert (clock.millis(), clock.monotonic()) == (3000, 2.0)
    clock.set_back(1)
    assert (clock.millis(), clock.monotonic()) == (2000, 2.0)
