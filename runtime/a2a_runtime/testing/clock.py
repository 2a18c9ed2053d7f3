"""Clocks that a test advances or sets."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

from a2a_runtime.base.clock import SystemClock

_START = 1_793_872_800_000  # 2026-11-05T10:00:00Z


class FakeClock:
    """Returns the time that a test has set; ``advance`` wakes the sleepers whose time has
    passed.
    """

    def __init__(self, millis: int = _START) -> None:
        self._millis = millis
        self._monotonic = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def millis(self) -> int:
        """Return milliseconds since 1970."""
        return self._millis

    def monotonic(self) -> float:
        """Return the seconds that the clock was advanced so far."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock is advanced by this time."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waker = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), waker))
        await waker

    def advance(self, seconds: float) -> None:
        """Advance the clock and wake the sleepers in the order of their times."""
        self._millis += round(seconds * 1000)
        self._monotonic += seconds
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            waker = heapq.heappop(self._sleepers)[2]
            if not waker.done():
                waker.set_result(None)

    def set_back(self, seconds: float) -> None:
        """Set the wall clock back; the monotonic clock is unchanged."""
        self.jump(-seconds)

    def jump(self, seconds: float) -> None:
        """Set the wall clock ahead, or back if negative; the monotonic clock is unchanged."""
        self._millis += round(seconds * 1000)


class JumpingClock(SystemClock):
    """Clock of the machine whose wall clock a test sets, as a suspended laptop or virtual machine
    does.
    """

    def __init__(self) -> None:
        self._ahead_millis = 0

    def millis(self) -> int:
        """Read the wall clock."""
        return super().millis() + self._ahead_millis

    def jump(self, seconds: float) -> None:
        """Set the wall clock ahead, or back if negative; the monotonic clock is unchanged."""
        self._ahead_millis += round(seconds * 1000)
