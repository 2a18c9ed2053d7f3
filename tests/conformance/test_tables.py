"""The tables of what the specifications say: every row has a test or a reason, and every test is in a row."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["row"] for path in sorted(HERE.glob("*.toml"))}
ERROR_ROWS = [pytest.param(row, id=f"{name}-{row['section']}-{number}") for name, rows in TABLES.items() for number, row in enumerate(rows)]
ALL = "*"


def names_of(path: Path) -> set[str]:
    """List the tests of a file."""
    return {
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


OURS = {name for path in HERE.glob("test_v*.py") for name in names_of(path)}


@pytest.mark.parametrize("row", ERROR_ROWS)
def test_a_row_has_tests_or_a_reason(row: dict[str, Any]) -> None:
    """Never both, and the tests exist."""
    assert row["level"] in {"MUST", "SHOULD"}
    assert row["says"]
    assert bool(row.get("tests")) != bool(row.get("gap"))
    for name in row.get("tests", ()):
        path, _, test = name.rpartition("::")
        known = names_of(ROOT / path) if path else OURS
        assert known if test == ALL else test in known, name


def test_every_test_is_in_a_row() -> None:
    """A reader who starts from the specification finds all of them."""
    names = {name for rows in TABLES.values() for row in rows for name in row.get("tests", ())}
    assert sorted(OURS - names) == []


def test_names_begin_with_a_section_of_the_table() -> None:
    """The section leads back to the row."""
    sections = {f"test_{name}_{row['section'].replace('.', '_')}_" for name, rows in TABLES.items() for row in rows}
    assert [test for test in sorted(OURS) if not any(test.startswith(section) for section in sections)] == []
