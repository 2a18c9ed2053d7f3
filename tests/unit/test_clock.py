"""The time, as a number and as text."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from a2a_contract.base import timestamp_from_text, timestamp_text
from a2a_runtime.clock import SystemClock, to_datetime, to_millis, to_rfc3339
from a2a_runtime.testing.clock import FakeClock


@pytest.mark.parametrize("millis", [0, 1, 999, 1000, 1_793_872_800_007, 4_102_444_800_999])
def test_a_moment_is_the_same_as_number_datetime_and_text(millis: int) -> None:
    """Nothing is lost between the three, and the text is the one that models write."""
    assert to_millis(to_datetime(millis)) == millis
    assert to_rfc3339(millis) == timestamp_text(to_datetime(millis))
    assert timestamp_from_text(to_rfc3339(millis)) == to_datetime(millis)


def test_a_moment_of_another_zone_is_the_same_moment() -> None:
    """An offset does not matter, and what is finer than a millisecond is cut off."""
    there = datetime(2026, 11, 5, 12, 0, 0, 1999, tzinfo=timezone(timedelta(hours=2)))
    assert to_datetime(to_millis(there)) == datetime(2026, 11, 5, 10, 0, 0, 1000, tzinfo=UTC)


def test_the_system_clock_is_the_systems() -> None:
    """It says what the machine says, in milliseconds."""
    clock = SystemClock()
    assert abs(clock.millis() - time.time() * 1000) < 1000
    before = clock.monotonic()
    asyncio.run(clock.sleep(0.01))
    assert clock.monotonic() - before >= 0.01


def test_a_fake_clock_moves_only_by_hand() -> None:
    """Sleepers wake in the order of their times, when the clock has passed them; one that has given up is left out."""
    clock = FakeClock(1000)
    woken: list[str] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async def scene() -> None:
        tasks = [asyncio.create_task(sleeper(name, seconds)) for name, seconds in (("late", 2), ("soon", 1), ("never", 1.5), ("now", 0))]
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
