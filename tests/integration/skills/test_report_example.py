"""The example is what `init` writes, built; and the projects that `init` writes build and pass
their tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from ruff import find_ruff_bin  # pyright: ignore[reportMissingTypeStubs] - ships no types
from style.source_files import ROOT

from a2a_gen.commands.init import render_project
from a2a_gen.entry import main

EXAMPLE = ROOT / "examples" / "report"
MADE = ("src/report_agent/contract/", "a2a-gen.lock")
LEFT_BEHIND = (".a2a-gen", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache")


def test_the_example_equals_the_output_of_init() -> None:
    """Every file of the example comes from the template or from a build."""
    files = (
        path
        for path in EXAMPLE.rglob("*")
        if path.is_file() and not set(path.parts) & set(LEFT_BEHIND)
    )
    there = {
        path.relative_to(EXAMPLE).as_posix(): path.read_text(encoding="utf-8") for path in files
    }
    assert {path: text for path, text in there.items() if not path.startswith(MADE)} == dict(
        render_project("report-agent", "report")
    )


def test_the_example_is_fresh(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The generated files match the schemas."""
    monkeypatch.chdir(EXAMPLE)
    assert main(["check"]) == 0, capsys.readouterr().err
    assert main(["ir"]) == 0
    assert '"WriteReport"' not in capsys.readouterr().out


@pytest.mark.soak
@pytest.mark.parametrize("template", ["hello", "report"])
def test_started_projects_pass_their_tests(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under any name, a project that was started builds and passes its own tests; from the wheel,
    `packaging/` sees to it in every run.
    """
    monkeypatch.chdir(tmp_path)
    assert main(["init", "some-other-name", "--template", template]) == 0
    monkeypatch.chdir(tmp_path / "some-other-name")
    assert main(["build"]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["a-agent", "zebra"])
@pytest.mark.parametrize("template", ["hello", "report", "apcore"])
def test_started_projects_are_tidy_before_they_are_built(
    template: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the project is called, its linter has nothing to say, although the generated package
    is not there yet.
    """
    monkeypatch.chdir(tmp_path)
    assert main(["init", name, "--template", template]) == 0
    done = subprocess.run(
        [find_ruff_bin(), "check", "--no-cache", name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["class", "with-hyphen", "1st"])
def test_clients_that_could_not_be_imported_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder whose name no import statement can say is not written to."""
    monkeypatch.chdir(tmp_path)
    assert main(["client", "http://127.0.0.1:1", "-o", name]) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["Capitals", "with_underscore", "1st", "a--b", "-a", "class", "json", "a2a-runtime"]
)
def test_names_that_are_no_names_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written for a name that could not be that of an agent and of a package."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--", name]) == 2
    assert list(tmp_path.iterdir()) == []
