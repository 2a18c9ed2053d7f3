"""Budgets in seconds for each suite: printed with the time of a run, which fails above double.

A suite is a folder beside this file. Its seconds are the sum over its tests with their fixtures,
shared among the workers of a core, so that the
number of workers does not change them.
They are judged only when whole suites ran: not for single files, selected tests, other profiles, or
with coverage; and where others keep the machine
busy, only the share that the tests would have taken without them.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILE = TESTS / "budgets.toml"
USUAL = "not soak"
"""The default selection of pytest: see `addopts`."""
PATIENCE = 2.0
"""How many times its budget a suite may take before the run fails: machines are not equally
fast.
"""
OWN_LOAD = 1.5
"""How many processes of a run are ready for each core, with one worker for each: servers and
commands that tests start are some of them.
"""


def read(file: Path = FILE, table: str = "seconds") -> Mapping[str, float]:
    """Read the seconds that each suite may take; or from another table, the minutes of each share
    of a soak.
    """
    return {
        str(name): float(limit)
        for name, limit in tomllib.loads(file.read_text(encoding="utf-8"))[table].items()
    }


def suite_of(path: Path) -> str | None:
    """Name the suite that a test file belongs to."""
    parts = path.relative_to(TESTS).parts if path.is_relative_to(TESTS) else ()
    if len(parts) > 1:
        return parts[0]
    return None


def whole_suites(paths: Iterable[Path]) -> frozenset[str]:
    """Name the suites that run in full when these files and folders are asked for."""
    suites: set[str] = set()
    for path in paths:
        if TESTS.is_relative_to(path):
            suites |= {each.name for each in TESTS.iterdir() if each.is_dir()}
        elif path.parent == TESTS and path.is_dir():
            suites.add(path.name)
    return frozenset(suites)


def is_whole(config: pytest.Config) -> bool:
    """Tell whether a run takes every test of its folders that its marks select."""
    option = config.option
    chosen = option.keyword or option.deselect or option.ignore or option.ignore_glob
    cut_short = (
        option.maxfail
        or option.collectonly
        or getattr(option, "lf", False)
        or getattr(option, "stepwise", False)
    )
    return not (chosen or cut_short)


def is_usual(config: pytest.Config) -> bool:
    """Tell whether a run takes every test that its folders hold, as they usually run."""
    measured = getattr(config.option, "cov_source", None) or "HYPOTHESIS_PROFILE" in os.environ
    return is_whole(config) and config.option.markexpr == USUAL and not measured


def crowd() -> float:
    """Return the load of the machine by other processes, as a factor; 1 on a quiet machine."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / OWN_LOAD)


class Budgets:
    """A plugin that adds up what tests take; for the process that hears of all of them."""

    def __init__(self, config: pytest.Config, budgets: Mapping[str, float]) -> None:
        self._budgets = budgets
        self._root = config.rootpath
        paths = (config.invocation_params.dir / each for each in config.args)
        self._judged = whole_suites(paths) if is_usual(config) else frozenset()
        self._workers_per_core = max(
            1.0, len(getattr(config.option, "tx", None) or ()) / (os.cpu_count() or 1)
        )
        self._spent: Counter[str] = Counter()
        self._alone: Counter[str] = Counter()

    def overdrawn(self) -> list[str]:
        """Name the suites that ran in full and took more than double their budget, or have none."""
        return sorted(
            name
            for name, spent in self._alone.items()
            if name in self._judged and spent > PATIENCE * self._budgets.get(name, 0.0)
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test, or the making and removing of its fixtures, to its suite."""
        suite = suite_of(self._root / report.nodeid.partition("::")[0])
        if suite is not None:
            # The counter holds seconds.
            self._spent[suite] += report.duration  # type: ignore[assignment]
            self._alone[suite] += report.duration / crowd() / self._workers_per_core  # type: ignore[assignment]  # as above

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run that went well but took far too long."""
        if session.exitstatus == pytest.ExitCode.OK and self.overdrawn():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what each suite took beside its budget."""
        if self._spent:
            terminalreporter.section("seconds of tests, per suite")
            for line in self.lines():
                terminalreporter.line(line)

    def lines(self) -> Iterator[str]:
        """Write a line for each suite."""
        overdrawn = self.overdrawn()
        for name, spent in sorted(self._spent.items()):
            budget = f"{self._budgets[name]:7.0f}" if name in self._budgets else "   none"
            busy = (
                f"  (about {self._alone[name]:.0f} with cores of its own)"
                if spent > 1.1 * self._alone[name]
                else ""
            )
            remark = (
                busy
                if name in self._judged
                else "  (not the usual run of the whole suite: not judged)"
            )
            fix = (
                "  more than double: find what got slow with --durations=20, or raise the "
                f"budget in {FILE.name}"
            )
            yield f"{name:<12} {spent:8.1f} of {budget}{fix if name in overdrawn else remark}"
