"""Invariants of every build: the same bytes everywhere, and no work the second time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases.case import CASES, tree

from a2a_gen.entry import main
from a2a_gen.output import lock
from a2a_gen.output.cache import FOLDER as CACHE_FOLDER

ROOT = Path(__file__).parents[2]
HEAVY = ("click", "datamodel_code_generator", "jinja2", "litestar", "pydantic")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The smallest contract, in a folder of its own."""
    shutil.copytree(CASES / "smallest" / "input", tmp_path / "project")
    return tmp_path / "project"


def read_published(folder: Path) -> dict[str, bytes]:
    """Read all files but those of the cache, which another build may order differently."""
    return {
        path: content
        for path, content in tree(folder).items()
        if not path.startswith(f"{CACHE_FOLDER}/")
    }


def times(folder: Path) -> dict[str, int]:
    """Return the modification time of each file."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run(
    project: Path,
    *words: str,
    program: str = "import sys; from a2a_gen.entry import main; sys.exit(main())",
    **environment: str,
) -> str:
    """Run a command in an interpreter of its own, and give what it printed."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(
        command,
        cwd=project,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr) == (
        0,
        1,
        False,
    ), done.stderr
    return done.stdout


@pytest.mark.slow
def test_builds_are_the_same_everywhere(project: Path, tmp_path: Path) -> None:
    """Hash seed, folder, working directory, time zone and locale make no difference to any byte,
    the lock included.
    """
    elsewhere = tmp_path / "a much longer name" / "of another folder"
    shutil.copytree(project, elsewhere)
    run(project, "build", PYTHONHASHSEED="0", TZ="UTC", LC_ALL="C")
    run(
        elsewhere / "schema" / "v1_0",
        "build",
        PYTHONHASHSEED="4242",
        TZ="Pacific/Apia",
        LC_ALL="C.UTF-8",
    )
    assert tree(project) == tree(elsewhere)
    assert lock.LOCK_FILE in tree(project)


def test_no_output_names_its_machine(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the output nor the lock holds a path of this machine."""
    monkeypatch.chdir(project)
    assert main(["build"]) == 0
    assert [
        path for path, content in tree(project).items() if str(project.parent).encode() in content
    ] == []


def test_a_second_build_writes_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build after build leaves every file alone, the lock included, whether it takes the short way
    or is made to go all the way.
    """
    monkeypatch.chdir(project)
    assert main(["build"]) == 0
    before = times(project)
    assert main(["build"]) == 0
    assert main(["build", "--force"]) == 0
    assert times(project) == before


def test_a_build_with_nothing_to_do_imports_nothing_heavy(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The short way ends before click, Pydantic, Litestar or a generator is imported."""
    monkeypatch.chdir(project)
    assert main(["build"]) == 0
    program = "import sys; from a2a_gen.entry import main; assert main() == 0; print(*sys.modules)"
    assert set(run(project, "build", program=program).split()) & set(HEAVY) == set()


@pytest.mark.parametrize(
    "path",
    ["schema/v1_0/task.json", "generated/tiny_contract/__init__.py"],
    ids=["an-input", "an-output"],
)
def test_a_changed_or_missing_file_is_noticed(
    project: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The short way is not taken when an input or output is not what the lock says."""
    monkeypatch.chdir(project)
    assert main(["build"]) == 0
    before = read_published(project)
    content = (project / path).read_bytes()
    (project / path).unlink()
    if path.startswith("schema"):
        (project / path).write_bytes(content.replace(b"an agent does", b"an agent has done"))
    assert main(["build"]) == 0
    assert (read_published(project) == before) is not path.startswith("schema")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("v1_0/task.json", "Identifier", "Name"),
        ("v0_3/message.json", '"description": "', '"description": "Edited. '),
        ("dialects.json", "A2A 0.3", "A2A nil-three"),
    ],
    ids=["canonical", "another-dialect", "a-table"],
)
def test_a_build_after_an_edit_is_a_whole_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str
) -> None:
    """The reused parts of the last build equal a build from nothing, on this repository's own
    contract.
    """
    for part in ("schema", "generated"):
        shutil.copytree(
            ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("examples", "__pycache__")
        )
    for part in ("pyproject.toml", lock.LOCK_FILE):
        shutil.copy(ROOT / part, tmp_path / part)
    monkeypatch.chdir(tmp_path)
    assert main(["build", "--force"]) == 0
    before = tree(tmp_path / "generated")
    edited = tmp_path / "schema" / file
    edited.write_text(edited.read_text().replace(old, new))
    assert main(["build"]) == 0
    after = tree(tmp_path / "generated")
    assert after != before
    assert main(["build", "--force"]) == 0
    assert tree(tmp_path / "generated") == after


def test_nothing_is_left_behind(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a build there are the inputs, the output, the lock and the cache, which git ignores."""
    monkeypatch.chdir(project)
    assert main(["build"]) == 0
    assert sorted(path.name for path in project.iterdir()) == [
        CACHE_FOLDER,
        "a2a-gen.lock",
        "generated",
        "pyproject.toml",
        "schema",
    ]
    assert (project / CACHE_FOLDER / ".gitignore").read_text().strip() == "*"
