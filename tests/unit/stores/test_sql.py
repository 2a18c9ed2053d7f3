"""SQL files with named sections."""

from __future__ import annotations

from pathlib import Path

import pytest

import a2a_runtime.stores
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
    """A statement is what Python passes on, and nothing else."""
    assert sql.parse(TOY, "toy.sql") == {"first": "SELECT 1\n  FROM a", "second": "DELETE FROM b WHERE x = '--'"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SELECT 1;\n-- name: a\nSELECT 2;", "toy.sql: a statement stands before the first name"),
        ("-- name: a\n-- nothing\n", "toy.sql: a is empty"),
        ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;", "toy.sql: a stands there twice"),
    ],
    ids=["nameless", "empty", "twice"],
)
def test_a_wrong_file_says_what_is_wrong(text: str, fault: str) -> None:
    """The error names the file and the section."""
    with pytest.raises(ValueError, match=fault):
        sql.parse(text, "toy.sql")


def test_a_name_is_unique_among_the_files_of_a_package() -> None:
    """Loading a file twice is the simplest way to have a name twice."""
    with pytest.raises(ValueError, match="named in another file already"):
        sql.load("a2a_runtime.stores.sqlite", "runs.sql", "runs.sql")


def test_every_section_is_used_and_every_name_is_there() -> None:
    """No statement is left over, and no module asks for one that is not there."""
    folder = Path(a2a_runtime.stores.__file__).with_name("sqlite")
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    names = {name for path in folder.glob("*.sql") for name in sql.parse(path.read_text(encoding="utf-8"), path.name)}
    dynamic = {f"{kind}_of_{what}" for kind in ("page", "count") for what in ("all", "state", "context")}
    settings = {"journal_mode", "synchronous", "foreign_keys", "read_only"}
    assert {name for name in names if f'SQL["{name}"]' not in code and f"SQL['{name}']" not in code} == dynamic | settings
