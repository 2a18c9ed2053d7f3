"""Publishing: only changed files, only own files, and all or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from a2a_gen.output import lock
from a2a_gen.output.lock import GeneratorInfo, Lock, hash_bytes
from a2a_gen.output.publish import MARK, find_drift, make_plan, publish, refuse_edited
from a2a_gen.problems import ProjectError

GENERATOR = GeneratorInfo("1.0", "abc", {})
Files = Mapping[str, bytes]


def build_lock(files: Files) -> Lock:
    """Build the lock of some outputs."""
    return Lock(GENERATOR, {}, {}, {path: hash_bytes(content) for path, content in files.items()})


def read_hashes(old: Lock | None) -> Mapping[str, str]:
    """Return the output hashes of the last build."""
    if old:
        return old.outputs
    return {}


def build(root: Path, files: Files) -> None:
    """Publish some files as a build would."""
    stage = root / ".stage"
    staged = {path: stage / path for path in files}
    for path, content in files.items():
        staged[path].parent.mkdir(parents=True, exist_ok=True)
        staged[path].write_bytes(content)
    publish(
        root,
        staged,
        make_plan(root, files, read_hashes(lock.read_lock(root))),
        (lock.LOCK_FILE, build_lock(files).to_bytes()),
    )


def read_tree(root: Path) -> dict[str, bytes]:
    """Read everything below a folder but the stage."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".stage" not in path.parts
    }


def test_only_changed_files_are_written(tmp_path: Path) -> None:
    """A file with equal bytes keeps its modification time."""
    build(tmp_path, {"out/a.py": b"a", "out/b.py": b"b"})
    before = (tmp_path / "out/a.py").stat().st_mtime_ns
    build(tmp_path, {"out/a.py": b"a", "out/b.py": b"new"})
    assert (tmp_path / "out/a.py").stat().st_mtime_ns == before
    assert (tmp_path / "out/b.py").read_bytes() == b"new"


def test_an_orphan_goes_with_its_empty_folder(tmp_path: Path) -> None:
    """A file that is no longer generated is removed, with bytecode and its empty folder."""
    build(tmp_path, {"out/a.py": b"a", "out/old/b.py": b"b"})
    (tmp_path / "out/old/__pycache__").mkdir()
    build(tmp_path, {"out/a.py": b"a"})
    assert not (tmp_path / "out/old").exists()


def test_an_unknown_file_stays(tmp_path: Path) -> None:
    """A file that no build wrote is not an orphan in any folder; drift reports it."""
    build(tmp_path, {"out/a.py": b"a"})
    (tmp_path / "out/mine.py").write_bytes(b"mine")
    build(tmp_path, {"out/b.py": b"b"})
    assert (tmp_path / "out/mine.py").read_bytes() == b"mine"
    files = {"out/b.py": b"b"}
    old = lock.read_lock(tmp_path)
    drift = find_drift(
        tmp_path,
        tmp_path / "out",
        files,
        make_plan(tmp_path, files, read_hashes(old)),
        (old, build_lock(files)),
    )
    assert drift.unknown_files == ("out/mine.py",)
    assert drift


@pytest.mark.parametrize("path", ["../outside.py", "/etc/hostname"], ids=["above", "absolute"])
def test_a_lock_cannot_lead_out_of_the_project(tmp_path: Path, path: str) -> None:
    """A path in the lock that leaves the project is never removed."""
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "outside.py").write_bytes(MARK)
    old = build_lock({path: MARK})
    assert make_plan(project, {}, read_hashes(old)).remove == {}


@pytest.mark.parametrize(
    ("files", "edited"),
    [
        ({"out/a.py": b"other"}, ("out/a.py",)),
        ({}, ("out/a.py",)),
        ({"out/a.py": b"by hand"}, ()),
    ],
    ids=["would-be-overwritten", "would-be-removed", "already-what-would-be-written"],
)
def test_edited_files_are_refused(tmp_path: Path, files: Files, edited: tuple[str, ...]) -> None:
    """A file that matches neither the last build nor this one was edited by hand."""
    build(tmp_path, {"out/a.py": b"a"})
    (tmp_path / "out/a.py").write_bytes(b"by hand")
    plan = make_plan(tmp_path, files, read_hashes(lock.read_lock(tmp_path)))
    assert plan.edited == edited
    if edited:
        with pytest.raises(ProjectError, match=r"(?s)out/a\.py.*--force"):
            refuse_edited(plan, "a2a-gen build", "the schemas")


def test_force_keeps_an_edited_orphan_that_lost_its_mark(tmp_path: Path) -> None:
    """An edited orphan without the generated mark is not deleted, even with force."""
    build(tmp_path, {"out/a.py": MARK, "out/b.py": MARK})
    (tmp_path / "out/a.py").write_bytes(b"mine now")
    (tmp_path / "out/b.py").write_bytes(MARK + b" and edited")
    build(tmp_path, {})
    assert (tmp_path / "out/a.py").exists()
    assert not (tmp_path / "out/b.py").exists()


def test_a_failure_restores_everything(tmp_path: Path) -> None:
    """If one file cannot be replaced, the files before it and the lock are restored."""
    build(tmp_path, {"out/a.py": b"a", "out/gone.py": b"gone"})
    (tmp_path / "out/z.py").mkdir()
    before = read_tree(tmp_path)
    with pytest.raises(ProjectError, match=r"out/z\.py: cannot be written"):
        build(tmp_path, {"out/a.py": b"new", "out/fresh/b.py": b"b", "out/z.py": b"z"})
    assert read_tree(tmp_path) == before
    assert not (tmp_path / "out/fresh").exists()


def test_drift_reports_every_file_and_the_difference(tmp_path: Path) -> None:
    """Missing, stale, edited and orphaned files have their own text, and the diff leads from disk
    to output.
    """
    build(tmp_path, {"out/edited.py": b"1\n", "out/orphan.py": b"1\n", "out/stale.py": b"1\n"})
    (tmp_path / "out/edited.py").write_bytes(b"hand\n")
    files = {"out/edited.py": b"2\n", "out/missing.py": b"2\n", "out/stale.py": b"2\n"}
    old = lock.read_lock(tmp_path)
    drift = find_drift(
        tmp_path,
        tmp_path / "out",
        files,
        make_plan(tmp_path, files, read_hashes(old)),
        (old, build_lock(files)),
    )
    assert dict(drift.describe()) == {
        "out/edited.py": "edited by hand",
        "out/missing.py": "missing",
        "out/orphan.py": "no longer generated",
        "out/stale.py": "stale",
        lock.LOCK_FILE: "does not match the inputs and outputs",
    }
    assert list(drift.render_diff())[-9:-4] == [
        "--- a/out/stale.py",
        "+++ b/out/stale.py",
        "@@ -1 +1 @@",
        "-1",
        "+2",
    ]
    assert list(drift.render_diff())[-4:] == [
        "--- a/out/orphan.py",
        "+++ /dev/null",
        "@@ -1 +0,0 @@",
        "-1",
    ]
