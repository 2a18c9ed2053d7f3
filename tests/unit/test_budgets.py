"""Suites have budgets, and a run of whole suites fails far above them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import budgets
import pytest

CONFTEST = """
import budgets

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(budgets.Budgets(config, {"slow": 0.01, "quick": 60.0}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two suites, one of which takes far more than it may."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -q -m 'not soak'\npythonpath = tests\ntestpaths = "
        "tests\nmarkers = soak: long\n"
    )
    for suite, seconds in (("slow", 0.3), ("quick", 0)):
        (tmp_path / "tests" / suite).mkdir(parents=True)
        (tmp_path / "tests" / suite / f"test_{suite}.py").write_text(
            f"import time\ndef test_one(): time.sleep({seconds})\n"
        )
    shutil.copy(budgets.__file__, tmp_path / "tests")
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    return tmp_path


def run(project: Path, *words: str) -> tuple[int, str]:
    """Run its tests with no more plugins than that takes."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "COV_", "HYPOTHESIS"))
    }
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(
        command,
        cwd=project,
        env={**clean, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_run_fails_above_double(project: Path) -> None:
    """Runs of whole suites are judged, with any number of workers; selected tests are only
    printed.
    """
    code, said = run(project, "-p", "xdist", "-n2")
    assert code == pytest.ExitCode.TESTS_FAILED, said
    assert re.search(r"^slow +0\.\d of +0  more than double: find ", said, re.MULTILINE), said
    assert re.search(r"^quick +0\.\d of +60( |$)", said, re.MULTILINE), said
    code, said = run(project, "-k", "test_one")
    assert code == pytest.ExitCode.OK, said
    assert re.search(r"^slow +0\.\d of +0  \(.*not judged\)$", said, re.MULTILINE), said


def test_only_whole_suites_are_judged() -> None:
    """A folder above is all of them, a folder here is one, and a part of it none."""
    tests = budgets.TESTS
    assert (
        set(budgets.read()) <= budgets.whole_suites([tests.parent]) == budgets.whole_suites([tests])
    )
    assert budgets.whole_suites(
        [
            tests / "unit",
            tests / "cases",
            tests / "unit" / "auth",
            tests / "style" / "test_names.py",
        ]
    ) == {"unit", "cases"}


def test_every_suite_has_a_budget() -> None:
    """Folders and lines of the file correspond; the plugin knows the default selection."""
    assert {
        path.relative_to(budgets.TESTS).parts[0] for path in budgets.TESTS.rglob("test_*.py")
    } == set(budgets.read())
    options = tomllib.loads((budgets.TESTS.parent / "pyproject.toml").read_text())["tool"][
        "pytest"
    ]["ini_options"]["addopts"]
    assert options[options.index("-m") + 1] == budgets.USUAL
