"""What time it is: the one seam through which the runtime learns it.

Everything that waits, expires or is stamped takes a ``Clock``; tests hand in ``a2a_runtime.testing.clock.FakeClock`` and move it by hand. Points in
time are whole milliseconds since 1970 inside the runtime, because that is what the wire carries: a stored time and the one that a client has seen are
then the same number.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class Clock(Protocol):
    """Tells the time and lets it pass."""

    def millis(self) -> int:
        """Say how many milliseconds have passed since 1970; may step back when somebody sets the machine's clock."""
        ...

    def monotonic(self) -> float:
        """Say how many seconds have passed since some moment; never steps back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clock."""

    def millis(self) -> int:
        """Read the wall clock."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Read the clock that never steps back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for real."""
        await asyncio.sleep(seconds)


def to_datetime(millis: int) -> datetime:
    """Make a ``datetime`` in UTC of milliseconds since 1970."""
    return _EPOCH + timedelta(0, 0, 0, millis)  # by place: by name it takes twice as long


def to_millis(at: datetime) -> int:
    """Make milliseconds since 1970 of an aware ``datetime``; what is finer than a millisecond is cut off."""
    return (at - _EPOCH) // _MILLISECOND


def to_rfc3339(millis: int) -> str:
    """Write a point in time as the wire carries it, in UTC with milliseconds: ``2026-11-05T10:00:00.000Z``."""
    second, rest = divmod(millis, 1000)
    return f"{_second(second)}.{rest:03d}Z"


@lru_cache(maxsize=16)
def _second(second: int) -> str:
    # Many events fall into one second, and formatting a date costs more than all the rest of an event.
    return to_datetime(second * 1000).strftime("%Y-%m-%dT%H:%M:%S")
