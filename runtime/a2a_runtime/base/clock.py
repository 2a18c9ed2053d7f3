"""Clock port, and conversions of points in time.

Everything that waits, expires or is stamped takes a ``Clock``; tests pass
``a2a_runtime.testing.clock.FakeClock`` and advance it by hand. Points in time are whole
milliseconds since 1970 inside of the runtime. The wire carries the same precision, so a stored time
equals the one that a client saw.
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
    """Source of time."""

    def millis(self) -> int:
        """Read the wall clock, in milliseconds since 1970; it steps back when the machine's clock
        is set.
        """
        ...

    def monotonic(self) -> float:
        """Read a clock that never steps back, in seconds since an arbitrary moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """Clock of the machine."""

    def millis(self) -> int:
        """Read the wall clock."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Read the monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def to_datetime(millis: int) -> datetime:
    """Convert milliseconds since 1970 to a ``datetime`` in UTC."""
    # positional arguments, because keywords take twice as long
    return _EPOCH + timedelta(0, 0, 0, millis)


def to_millis(at: datetime) -> int:
    """Convert an aware ``datetime`` to milliseconds since 1970, rounded down."""
    return (at - _EPOCH) // _MILLISECOND


def to_rfc3339(millis: int) -> str:
    """Format milliseconds since 1970 as on the wire, in UTC with milliseconds:
    ``2026-11-05T10:00:00.000Z``.
    """
    return f"{_format_second(millis // 1000)}.{millis % 1000:03d}Z"


@lru_cache(maxsize=16)
def _format_second(second: int) -> str:
    # Many events fall into one second, and formatting a date costs more than all the rest of an
    # event.
    return to_datetime(second * 1000).strftime("%Y-%m-%dT%H:%M:%S")
