"""Shares of a soak run: the minutes that each may take, and what it has checked, which adds up in
``soak.md``.

A soak runs every test once, those marked ``soak`` too, and tries many more examples of each
property. Its mark puts a test into a share: ``@pytest.mark.soak(share="drills")``. All other tests
are the share ``tests``.

A test records what it has checked as whole numbers, such as ``record_property("tasks", 1000)``; the
examples of properties are counted here.
The minutes of a share are those of its tests, divided by the number of workers: so the minutes of
all shares are those of the run.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import pytest
from budgets import TESTS, crowd, is_whole, read

PROFILE = "soak"
"""The profile of hypothesis, by which a soak is recognized."""
OTHER_TESTS = "tests"
RECORD = TESTS / "soak.md"
_SHARE = "share of a soak"
_EXAMPLES = re.compile(r"(\d+) passing")
_COUNT = re.compile(r"([\d,]+) ([a-z][a-z ]*)")
_TOTAL = re.compile(r"^Together.*$", re.MULTILINE)


def is_soak() -> bool:
    """Tell whether this process takes part in a soak."""
    return os.environ.get("HYPOTHESIS_PROFILE") == PROFILE


def share_of(item: pytest.Item) -> str:
    """Name the share of a test."""
    mark = item.get_closest_marker("soak")
    if mark is None:
        return OTHER_TESTS
    return mark.kwargs.get("share", OTHER_TESTS)


def show_counts(counts: Mapping[str, int]) -> str:
    """Write counts, the largest first."""
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{number:,} {what}" for what, number in ordered)


def read_counts(text: str) -> Counter[str]:
    """Read what ``show_counts`` has written."""
    return Counter({what: int(number.replace(",", "")) for number, what in _COUNT.findall(text)})


def add_run(record: str, row: str) -> str:
    """Add the row of a run to the record, whose total is that of all rows."""
    record = f"{record.rstrip()}\n{row}\n"
    rows = [line for line in record.splitlines() if line.startswith("| 2")]
    total = Counter[str]()
    minutes = 0
    for each in rows:
        _, _, _, run_minutes, _, counts, _ = each.split("|")
        total += read_counts(counts.strip())
        minutes += int(run_minutes)
    return _TOTAL.sub(
        f"Together, in {len(rows)} runs of {minutes} minutes: {show_counts(total)}.", record
    )


class Soak:
    """A plugin that names the share of each test, and adds up what the shares take and check."""

    def __init__(self, config: pytest.Config, budgets: Mapping[str, float]) -> None:
        self._config = config
        self._budgets = budgets
        self._workers = max(1, len(getattr(config.option, "tx", None) or ()))
        self._began_at = time.monotonic()
        self._minutes: Counter[str] = Counter()
        self._alone: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Name the share; a report takes the name to the process that adds up."""
        item.user_properties.append((_SHARE, share_of(item)))

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Count the examples of a property."""
        statistics = getattr(item, "hypothesis_statistics", "")
        if examples := sum(int(number) for number in _EXAMPLES.findall(statistics)):
            item.user_properties.append(("examples", examples))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test, or the making and removing of its fixtures, to its share."""
        properties = list(report.user_properties)
        share = str(dict(properties).get(_SHARE, OTHER_TESTS))
        minutes = report.duration / 60 / self._workers
        self._minutes[share] += minutes  # type: ignore[assignment]  # a counter of minutes
        self._alone[share] += minutes / crowd()  # type: ignore[assignment]  # as above
        if report.when == "teardown":  # the last report of a test has all properties
            self._add_counts(share, properties)

    def _add_counts(self, share: str, properties: Iterable[tuple[str, object]]) -> None:
        counts = self._counts.setdefault(share, Counter())
        counts["tests"] += 1
        for name, value in properties:
            if isinstance(value, int):
                counts[name] += value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add a row to the record if everything was run and nothing failed."""
        if session.exitstatus == pytest.ExitCode.OK and self._is_recorded():
            RECORD.write_text(
                add_run(RECORD.read_text(encoding="utf-8"), self.row()), encoding="utf-8"
            )

    def _is_recorded(self) -> bool:
        config = self._config
        folders = [config.invocation_params.dir / each for each in config.args]
        has_all = any(TESTS.is_relative_to(each) for each in folders) and not config.option.markexpr
        is_worker = hasattr(config, "workerinput")
        return has_all and is_whole(config) and not is_worker

    def row(self) -> str:
        """Write the row of this run."""
        words = ["git", "rev-parse", "--short", "HEAD"]
        done = subprocess.run(words, cwd=TESTS, capture_output=True, text=True, check=False)
        shares = ", ".join(
            f"{name} {minutes:.0f}" for name, minutes in sorted(self._minutes.items())
        )
        counts = show_counts(sum(self._counts.values(), Counter()))
        minutes = (time.monotonic() - self._began_at) / 60
        return (
            f"| {datetime.now(UTC):%Y-%m-%d} | {done.stdout.strip()} | {minutes:.0f} | {shares} "
            f"| {counts} |"
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what each share took beside its budget, and what it has checked."""
        terminalreporter.section("minutes of a soak, per share")
        for line in self.lines():
            terminalreporter.line(line)

    def lines(self) -> Iterator[str]:
        """Write a line for each share."""
        for name, minutes in sorted(self._minutes.items()):
            budget = self._budgets.get(name, 0.0)
            alone = self._alone[name]
            busy = f"  (about {alone:.1f} with cores of its own)" if minutes > 1.1 * alone else ""
            fix = (
                "  more than its budget: try fewer examples, or change the shares in budgets.toml"
                if alone > budget
                else ""
            )
            yield (
                f"{name:<12} {minutes:6.1f} of {budget:3.0f}  "
                f"{show_counts(self._counts.get(name, {}))}{busy}{fix}"
            )


def read_shares() -> Mapping[str, float]:
    """Read the minutes that each share may take."""
    return read(table="soak")
