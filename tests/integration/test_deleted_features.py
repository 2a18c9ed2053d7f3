"""Features whose folders and rows are deleted: the core does not miss them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

import pytest

import a2a_runtime

ROOT = Path(__file__).parents[2]
PACKAGE = Path(a2a_runtime.__file__).parent
DELETED = ("explorer", "mesh", "srs")
CORE_TESTS = ("tests/unit/service", "tests/unit/http")
WITH_ROWS = sorted(
    set(re.findall(r"features\.(\w+)", (PACKAGE / "ports" / "registry.py").read_text()))
    - {"postgres"}  # the fixtures of all tests have a server
)


def delete_features(folder: Path, names: Iterable[str]) -> None:
    """Copy the runtime without some features, and without their rows in the tables of the
    registry; a name that stands alone there is asked for by a setting or by a type.
    """
    copy = folder / PACKAGE.name
    copytree(PACKAGE, copy, ignore=ignore_patterns("__pycache__"))
    registry = copy / "ports" / "registry.py"
    lines = registry.read_text(encoding="utf-8").splitlines(keepends=True)
    for name in names:
        rmtree(copy / "features" / name)
        row = re.compile(rf' +.*"features\.{name}\.')
        lines = [line for line in lines if not row.match(line)]
    registry.write_text("".join(lines), encoding="utf-8")


def run_core_tests(folder: Path, names: Iterable[str]) -> None:
    """Run tests of the core on a copy, in a process of its own, but for those that use a deleted
    feature themselves.
    """
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    uses = re.compile(rf"a2a_runtime\.features\.({'|'.join(names)})\b")
    files = [each for place in CORE_TESTS for each in sorted((ROOT / place).rglob("test_*.py"))]
    chosen = [str(each) for each in files if not uses.search(each.read_text(encoding="utf-8"))]
    assert len(chosen) > len(files) / 2
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(folder) in find_package(environment)


def find_package(environment: dict[str, str]) -> str:
    """Find the package that such a process imports."""
    code = "import a2a_runtime; print(a2a_runtime.__file__)"
    return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)


def test_the_core_runs_without_some_features(tmp_path: Path) -> None:
    """Its tests pass, whether a feature of the app, a dialect or a variant is gone."""
    delete_features(tmp_path, DELETED)
    run_core_tests(tmp_path, DELETED)


@pytest.mark.soak
@pytest.mark.parametrize("name", WITH_ROWS)
def test_the_core_runs_without_a_feature(tmp_path: Path, name: str) -> None:
    """Any feature that the registry names can be deleted with its rows."""
    delete_features(tmp_path, (name,))
    run_core_tests(tmp_path, (name,))
