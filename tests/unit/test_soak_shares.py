"""A soak takes each test once, shows what its shares take, and adds what it has checked to a
file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import budgets
import pytest
import soak_shares

CONFTEST = """
import soak_shares

def pytest_configure(config):
    if soak_shares.is_soak():
        config.pluginmanager.register(soak_shares.Soak(config, {"drills": 0.0, "tests": 20.0}))
"""
TESTS = """
import time
import pytest
from hypothesis import given, settings, strategies

@pytest.mark.soak(share="drills")
def test_drill(record_property):
    record_property("faults", 1200)
    record_property("a text", "is not counted")
    time.sleep(0.1)

@settings(max_examples=30)
@given(strategies.integers())
def test_property(number):
    assert number == number
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A share that takes more than its minutes, and a property."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -q -m 'not soak'\npythonpath = tests\ntestpaths = "
        "tests\nmarkers = soak: long\n"
    )
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_all.py").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST)
    for module in (budgets, soak_shares):
        shutil.copy(module.__file__, folder)
    text = soak_shares.RECORD.read_text(encoding="utf-8")
    (folder / "soak.md").write_text(
        "".join(line for line in text.splitlines(keepends=True) if not line.startswith("| 2"))
    )
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    """Run its tests as ``make soak`` does, with no more plugins than that takes."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "COV_", "HYPOTHESIS"))
    }
    clean |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HYPOTHESIS_PROFILE": "soak"}
    command = [sys.executable, "-m", "pytest", "-p", "_hypothesis_pytestplugin", *words]
    done = subprocess.run(
        command, cwd=project, env=clean, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_counts_of_runs_add_up(project: Path) -> None:
    """Each whole run adds a row, and the total is that of all rows; the minutes of a share are
    shown beside its budget.
    """
    record = project / "tests" / "soak.md"
    for number in (1, 2):
        code, said = run(project, "-m", "", "-p", "xdist", "-n2")
        assert code == pytest.ExitCode.OK, said
        assert re.search(
            r"^drills +0\.0 of +0  1,200 faults, 1 tests.*  more than its budget: ",
            said,
            re.MULTILINE,
        ), said
        assert re.search(r"^tests +0\.0 of +20  30 examples, 1 tests", said, re.MULTILINE), said
        total = (
            rf"^Together, in {number} runs of \d+ minutes: {1200 * number:,} faults, "
            rf"{30 * number} examples, {2 * number} tests\.$"
        )
        assert re.search(total, record.read_text(), re.MULTILINE)
    assert len([line for line in record.read_text().splitlines() if line.startswith("| 2")]) == 2


def test_one_share_alone(project: Path) -> None:
    """Its mark selects it, and nothing is added to the record."""
    before = (project / "tests" / "soak.md").read_text()
    code, said = run(project, "-m", 'soak(share="drills")')
    assert (code, "1 passed" in said) == (pytest.ExitCode.OK, True), said
    assert (project / "tests" / "soak.md").read_text() == before


def test_a_soak_that_fails_is_not_recorded(project: Path) -> None:
    """It has not shown what it counts."""
    (project / "tests" / "test_fails.py").write_text("def test_it(): assert False\n")
    before = (project / "tests" / "soak.md").read_text()
    assert run(project, "-m", "")[0] == pytest.ExitCode.TESTS_FAILED
    assert (project / "tests" / "soak.md").read_text() == before


def test_every_share_has_minutes() -> None:
    """The shares of marks and those of the file correspond, and leave two of sixty minutes."""
    text = "".join(path.read_text(encoding="utf-8") for path in budgets.TESTS.rglob("test_*.py"))
    marked = set(re.findall(r'mark\.soak\(share="(\w+)"\)', text))
    shares = soak_shares.read_shares()
    assert marked | {soak_shares.OTHER_TESTS} == set(shares)
    assert sum(shares.values()) <= 58
