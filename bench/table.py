"""Times something several times and prints it as a row of a table: the median, the spread, and the
goal beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured, in seconds."""

    what: str
    seconds: tuple[float, ...]
    goal: float | None = None

    def __str__(self) -> str:
        median = statistics.median(self.seconds)
        best = min(self.seconds)
        worst = max(self.seconds)
        goal = (
            ""
            if self.goal is None
            else f"{self.goal * 1000:8.0f} ms  {'kept' if median < self.goal else 'MISSED'}"
        )
        return (
            f"{self.what:52} {median * 1000:8.1f} ms  {best * 1000:8.1f} - {worst * 1000:7.1f} "
            f"{goal}"
        )


def measure(
    what: str,
    work: Callable[[], object],
    *,
    rounds: int,
    goal: float | None = None,
    before: Callable[[], object] | None = None,
) -> Row:
    """Time some work, with a preparation before each round that does not count."""
    seconds: list[float] = []
    for _ in range(rounds):
        if before is not None:
            before()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return Row(what, tuple(seconds), goal)


def show(title: str, rows: Iterable[Row]) -> None:
    """Print a table, each row as soon as it is measured."""
    print(f"\n{title}\n{'':52} {'median':>11}  {'best':>8} - {'worst':>7} {'goal':>11}")
    for row in rows:
        print(row, flush=True)
