"""Fixtures of the breaking-change tests: an in-process command, and a small contract in a
repository.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from unit.diff.sides import SMALLEST, Run, git

from a2a_gen.entry import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; return its exit code, stdout and stderr."""

    def command(*words: str | Path) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        output = capsys.readouterr()
        return code, output.out, output.err

    return command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small contract in a repository, committed and tagged, with one break since."""
    folder = tmp_path / "project"
    shutil.copytree(SMALLEST / "input", folder)
    git(tmp_path, "init", "-q", "project")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First")
    git(folder, "tag", "-a", "v1.0.0", "-m", "A tag with a message of its own")
    request = folder / "schema" / "v1_0" / "request.json"
    request.write_text(request.read_text().replace('"minLength": 1', '"minLength": 3'))
    monkeypatch.chdir(folder)
    return folder
