"""Windowed counters: in memory, and the port of counters that processes share."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from a2a_runtime.base.clock import Clock

_CAPACITY = 100_000


class WindowCount(NamedTuple):
    """Count of a key in its current window."""

    number: int
    seconds_left: float
    """Time until the window ends and the count is 0 again."""


class CounterStore(Protocol):
    """Counters shared by all processes of a store. A crash may lose counts."""

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Increment a key atomically; its window begins with the first count and lasts some
        seconds.
        """
        ...


class MemoryCounter:
    """Counters of one process.

    Beyond its capacity the key that was counted least recently is evicted.
    """

    def __init__(self, clock: Clock, capacity: int = _CAPACITY) -> None:
        self._clock = clock
        self._capacity = capacity
        self._windows: dict[str, tuple[int, float]] = {}

    def add(self, key: str, seconds: float) -> WindowCount:
        """Increment a key; its window begins with the first count and lasts some seconds."""
        number, seconds_left = self.get(key)
        seconds_left = seconds_left if number else seconds
        self._windows.pop(key, None)
        self._windows[key] = number + 1, self._clock.monotonic() + seconds_left
        if len(self._windows) > self._capacity:
            del self._windows[next(iter(self._windows))]
        return WindowCount(number + 1, seconds_left)

    def get(self, key: str) -> WindowCount:
        """Read the count of a key."""
        now = self._clock.monotonic()
        number, until = self._windows.get(key, (0, now))
        if until > now:
            return WindowCount(number, until - now)
        return WindowCount(0, 0.0)

    def remove_expired(self) -> None:
        """Remove the keys whose windows have ended."""
        now = self._clock.monotonic()
        self._windows = {key: window for key, window in self._windows.items() if window[1] > now}
