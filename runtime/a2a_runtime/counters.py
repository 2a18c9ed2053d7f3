"""Counts in memory."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from a2a_runtime.clock import Clock

_CAPACITY = 100_000


class WindowCount(NamedTuple):
    """How often something was counted, and in how many seconds that is forgotten."""

    number: int
    seconds_left: float


class CounterStore(Protocol):
    """Counts of how often somebody has asked lately, for all processes together. They may be lost with a crash."""

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Count one more under a key, which is forgotten so many seconds after it was counted for the first time; nobody's count is lost."""
        ...


class MemoryCounter:
    """Counts by their keys, so many that nobody can fill it; beyond that, the one that has waited longest goes."""

    def __init__(self, clock: Clock, capacity: int = _CAPACITY) -> None:
        self._clock, self._capacity = clock, capacity
        self._counts: dict[str, tuple[int, float]] = {}

    def add(self, key: str, seconds: float) -> WindowCount:
        """Count one more, and forget the key so many seconds after it was counted for the first time."""
        now = self._clock.monotonic()
        number, until = self._counts.pop(key, (0, now))
        if until <= now:
            number, until = 0, now + seconds
        self._counts[key] = number + 1, until
        if len(self._counts) > self._capacity:
            del self._counts[next(iter(self._counts))]
        return WindowCount(number + 1, until - now)

    def get(self, key: str) -> WindowCount:
        """Say how many there are."""
        now = self._clock.monotonic()
        number, until = self._counts.get(key, (0, now))
        return WindowCount(number, until - now) if until > now else WindowCount(0, 0.0)

    def remove_expired(self) -> None:
        """Forget what is over."""
        now = self._clock.monotonic()
        self._counts = {key: each for key, each in self._counts.items() if each[1] > now}
