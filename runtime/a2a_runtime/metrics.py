"""Counters and histograms of a process: plain dictionaries, which a scrape reads. They need no library, and exist only where metrics are on.

| metric | labels | counts |
|---|---|---|
| ``a2a_requests_total`` | operation, dialect, binding, outcome | requests; the outcome is ``ok``, ``disconnected`` or the reason of an error |
| ``a2a_request_seconds`` | operation, binding | their duration; of a stream, until it ends |
| ``a2a_open_streams`` | | open streams |
| ``a2a_runs_total`` | skill, end | runs of handlers; the end is a state, ``suspended``, ``released`` or ``replaced`` |
| ``a2a_run_seconds`` | skill | their duration |
| ``a2a_running_tasks`` | | tasks that run in this process |
| ``a2a_store_seconds`` | call | duration of store calls; ``mark_delivered``, ``retry`` and ``mark_failed`` are webhooks |
| ``a2a_store_failures_total`` | call | store calls that have raised an error |
| ``a2a_loop_lag_seconds`` | | how late the event loop was at its last sample |
| ``a2a_uptime_seconds`` | | time since the start |

Every label has a bounded number of values: no ids, no callers, no paths. Skills that a source adds beyond ``MAX_SKILLS`` count as ``other``.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

MAX_SKILLS = 200
OTHER = "other"
NO_OPERATION = "none"
"""Operation of a request that is refused before it is parsed."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets of histograms."""

_LAG_INTERVAL = 1.0


class Histogram:
    """Durations of one set of labels."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        """Observations per bucket, the last one without a bound."""
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Add a duration."""
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds


class Metrics:
    """Metrics of one process."""

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.requests: Counter[tuple[str, str, str, str]] = Counter()
        self.request_seconds: dict[tuple[str, str], Histogram] = {}
        self.runs: Counter[tuple[str, str]] = Counter()
        self.run_seconds: dict[str, Histogram] = {}
        self.store_seconds: dict[str, Histogram] = {}
        self.store_failures: Counter[str] = Counter()
        self.loop_lag_seconds = 0.0
        self.count_streams: Callable[[], int] = lambda: 0
        self.count_running: Callable[[], int] = lambda: 0

    def record_request(self, operation: str, dialect: str, binding: str, outcome: str, seconds: float) -> None:
        """Count a request."""
        operation = operation or NO_OPERATION
        self.requests[operation, dialect, binding, outcome] += 1
        self._find(self.request_seconds, (operation, binding)).observe(seconds)

    def record_run(self, skill: str, end: str, seconds: float) -> None:
        """Count a run of a handler."""
        if skill not in self.run_seconds and len(self.run_seconds) >= MAX_SKILLS:
            skill = OTHER
        self.runs[skill, end] += 1
        self._find(self.run_seconds, skill).observe(seconds)

    def record_store_call(self, call: str, seconds: float, *, has_failed: bool) -> None:
        """Count a call of the store."""
        self._find(self.store_seconds, call).observe(seconds)
        if has_failed:
            self.store_failures[call] += 1

    @staticmethod
    def _find(histograms: dict[K, Histogram], key: K) -> Histogram:
        if (found := histograms.get(key)) is None:
            found = histograms[key] = Histogram()
        return found

    async def watch_loop(self) -> None:
        """Measure how late the event loop is, for ever."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(_LAG_INTERVAL)
            self.loop_lag_seconds = max(0.0, time.monotonic() - began - _LAG_INTERVAL)

    def summarize(self) -> dict[str, int | float]:
        """Sum up the numbers that a registry of modules reads as JSON."""
        ends: Counter[str] = Counter()
        for (_, end), number in self.runs.items():
            ends[end] += number
        return {
            "active_tasks": self.count_running(),
            "completed_tasks": ends["completed"],
            "failed_tasks": ends["failed"],
            "uptime_seconds": round(time.monotonic() - self.started_at, 3),
            "total_requests": self.requests.total(),
        }
