"""Runs every case: each folder beside this file is a project and what the generator makes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cases.case import CASES, Case, Step, read_case, tree

from a2a_gen.emit.package import emit_support
from a2a_gen.entry import main
from a2a_gen.source.project import find_project

ALL = [read_case(path.parent) for path in sorted(CASES.glob("*/case.toml"))]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.folder.name)
def test_case(
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    update: bool,
) -> None:
    """The generator does what the folder says, and a command that fails changes nothing."""
    project = tmp_path / "project"
    case.lay_out(project)
    monkeypatch.chdir(project)
    for step in case.steps:
        take(step, case, project)
    said = capsys.readouterr()
    compare(case.folder / "stdout.txt", said.out, update=update)
    compare(case.folder / "stderr.txt", said.err.replace(str(project), "PROJECT"), update=update)
    if (case.folder / "expected").exists():
        compare_trees(
            case.folder / "expected",
            without_support(tree(output_of(project), case.shows)),
            update=update,
        )


def without_support(there: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out the copies of support files, which are all there or none, each as the generator
    copies it.
    """
    copies = {
        path: content
        for path, content in there.items()
        if b"from a2a_gen/support/" in content.partition(b"\n")[0]
    }
    assert not copies or copies == emit_support()
    return {path: content for path, content in there.items() if path not in copies}


def take(step: Step, case: Case, project: Path) -> None:
    """Run one command of a case."""
    case.prepare(step, project)
    before = tree(project)
    assert main(step.run.split()) == step.exit, case.says
    if step.exit:
        assert tree(project) == before, "a command that failed changed something"
    assert [path for path in step.gone if (project / path).exists()] == []


def output_of(project: Path) -> Path:
    """Find the folder of generated files in a project."""
    return find_project(project).out


def compare(file: Path, text: str, *, update: bool) -> None:
    """Compare a text with a file; no file is no text."""
    if update:
        file.unlink(missing_ok=True)
        if text:
            file.write_text(text, encoding="utf-8")
    assert text == (file.read_text(encoding="utf-8") if file.exists() else "")


def compare_trees(expected: Path, there: dict[str, bytes], *, update: bool) -> None:
    """Compare files with a folder to the byte."""
    if update:
        shutil.rmtree(expected)
        for path, content in there.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_bytes(content)
    wanted = tree(expected)
    assert sorted(there) == sorted(wanted)
    for path, content in wanted.items():
        assert there[path].decode() == content.decode(), path
