"""Accepted changes beside the schemas that they are about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.diff.sides import Run


def compare(run: Run, folder: Path, *entries: object) -> tuple[int, str, str]:
    """Compare two versions of a schema, of which the new one refuses more; the entries stand beside
    the member that changed.
    """
    for name, limit in (("old", 9), ("new", 3)):
        inner = {
            "type": "string",
            "maxLength": limit,
            **({"x-diff-ignore": [*entries]} if name == "new" and entries else {}),
        }
        (folder / f"{name}.json").write_text(
            json.dumps({"type": "object", "properties": {"a": inner}})
        )
    return run("diff", folder / "old.json", folder / "new.json", "--plain", "--role", "read")


def test_an_entry_beside_a_schema_accepts_its_change(run: Run, tmp_path: Path) -> None:
    """A rule and a reason are enough; the entry is about that schema and what is below it."""
    assert compare(run, tmp_path)[0] == 1
    assert (
        compare(run, tmp_path, {"rule": "bound-tightened", "reason": "no client sends more"})[0]
        == 0
    )


def test_an_entry_counts_until_its_day(run: Run, tmp_path: Path) -> None:
    """Afterwards the change is reported again, and the entry too, with its place."""
    code, _, notes = compare(
        run, tmp_path, {"rule": "bound-tightened", "reason": "for a while", "until": "2020-01-01"}
    )
    assert code == 1
    assert "new.json:1: x-diff-ignore" in notes
    assert "expired on 2020-01-01" in notes


def test_an_entry_without_a_finding_is_reported(run: Run, tmp_path: Path) -> None:
    """Such an entry can be deleted."""
    code, _, notes = compare(
        run,
        tmp_path,
        {"rule": "bound-tightened", "reason": "yes"},
        {"rule": "A2A063", "reason": "a pattern"},
    )
    assert code == 0
    assert "A2A063" in notes
    assert "matches no finding" in notes


@pytest.mark.parametrize(
    "entry",
    [
        {"rule": "bound-tightened"},
        {"rule": "no-such-rule", "reason": "x"},
        {"reason": "x"},
        {"rule": "A2A060", "reason": "x", "path": "a"},
        "A2A060",
    ],
    ids=["no reason", "unknown rule", "no rule", "with a path", "text"],
)
def test_a_wrong_entry_is_refused_with_its_place(run: Run, tmp_path: Path, entry: object) -> None:
    """An entry that accepts nothing, or everything, ends the comparison."""
    code, _, message = compare(run, tmp_path, entry)
    assert code == 2
    assert "new.json:1: x-diff-ignore" in message
    assert "fix:" in message
