"""SQL files with named sections."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import a2a_runtime.stores
from a2a_runtime.features import postgres
from a2a_runtime.stores import sql

TOY = """-- A head, which says what is in here.

-- name: first
-- Why.
SELECT 1
  -- in between
  FROM a;

--name:second
DELETE FROM b WHERE x = '--';
"""


def test_sections_are_found_by_name_without_comments() -> None:
    """Comments and semicolons are removed."""
    assert sql.parse(TOY, "toy.sql") == {
        "first": "SELECT 1\n  FROM a",
        "second": "DELETE FROM b WHERE x = '--'",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1;\n-- name: a\nSELECT 2;", "toy.sql: statement before the first name"),
        ("-- name: a\n-- nothing\n", "toy.sql: section a is empty"),
        ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;", "toy.sql: section a is defined twice"),
    ],
    ids=["nameless", "empty", "twice"],
)
def test_an_invalid_file_is_an_error(text: str, message: str) -> None:
    """The error names the file and the section."""
    with pytest.raises(ValueError, match=message):
        sql.parse(text, "toy.sql")


def test_a_name_is_unique_among_the_files_of_a_package() -> None:
    """A file loaded twice has every name twice."""
    with pytest.raises(ValueError, match=r"sections that another file already has: .*claim"):
        sql.load("a2a_runtime.stores.sqlite", "runs.sql", "runs.sql")


@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_every_section_is_used(backend: str) -> None:
    """No statement is left over; ``SqlStore`` and ``{section}`` use some of them."""
    stores = Path(a2a_runtime.stores.__file__).parent
    folders = {"sqlite": stores / "sqlite", "postgres": Path(postgres.__file__).parent}
    shared_modules = sorted(stores.glob("sql_*.py"))
    folder = folders[backend]
    sections = {
        name: text
        for path in folder.glob("*.sql")
        for name, text in sql.parse(path.read_text(encoding="utf-8"), path.name).items()
    }
    code = "".join(
        path.read_text(encoding="utf-8") for path in (*shared_modules, *folder.glob("*.py"))
    )
    used = {
        name
        for name in sections
        if f'"{name}"' in code
        or f"'{name}'" in code
        or any(f"{{{name}}}" in text for text in sections.values())
    }
    assert set(sections) - used == set()
    shared = set(
        re.findall(
            r"(?:_fetch|_execute|_fetch_configs|fetch)\(\s*\"(\w+)\"",
            "".join(path.read_text(encoding="utf-8") for path in shared_modules),
        )
    )
    assert shared - set(sections) == set()
