"""The lock file, and invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from a2a_gen.output import lock
from a2a_gen.output import lock as fresh
from a2a_gen.output.lock import GeneratorInfo, Lock
from a2a_gen.problems import ProjectError

SMALL = Lock(
    GeneratorInfo("1.0", "abc", {"ruff": "1"}),
    {"out": "made"},
    {"b.json": "2", "a.json": "1"},
    {"made/x.py": "3"},
)


def test_a_lock_survives_the_disk(tmp_path: Path) -> None:
    """A lock is read back as it was written."""
    (tmp_path / lock.LOCK_FILE).write_bytes(SMALL.to_bytes())
    assert lock.read_lock(tmp_path) == SMALL


def test_a_lock_is_sorted_and_has_one_line_per_file() -> None:
    """Equal locks have equal bytes, and a merge touches only the lines of its files."""
    turned = Lock(
        SMALL.generator, SMALL.options, dict(reversed(SMALL.inputs.items())), SMALL.outputs
    )
    assert turned.to_bytes() == SMALL.to_bytes()
    assert b'\n    "a.json": "1",\n    "b.json": "2"\n' in SMALL.to_bytes()


def test_there_is_no_lock_before_the_first_build(tmp_path: Path) -> None:
    """A missing lock is not an error."""
    assert lock.read_lock(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["<<<<<<< HEAD", "[]", "{}", '{"generator": {}}'],
    ids=["merge-conflict", "a-list", "nothing", "half"],
)
def test_a_broken_lock_has_a_cure(tmp_path: Path, text: str) -> None:
    """The error of an invalid lock has the command that repairs it."""
    (tmp_path / lock.LOCK_FILE).write_text(text)
    with pytest.raises(ProjectError, match="a2a-gen build --force"):
        lock.read_lock(tmp_path)


def test_the_hash_of_the_sources_is_stable() -> None:
    """The hash of the generator is equal on every call."""
    assert fresh.hash_sources() == fresh.hash_sources()
    assert len(fresh.hash_sources()) == 64
