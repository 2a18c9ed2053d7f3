"""The schema of the file, brought up to date when it is opened: forward only, each step whole or not at all.

The steps are the files of the folder ``migrations``, by their numbers; the file remembers the number of the last one. A step that is released is
never edited.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.stores.sqlite.connection import SQL, unavailable


class Step(NamedTuple):
    """One migration: the version that it leads to, and its statements."""

    version: int
    statements: Sequence[str]


def steps() -> list[Step]:
    """Read every migration, in order."""
    folder = files("a2a_runtime.stores.sqlite").joinpath("migrations")
    found = sorted((entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [Step(int(name.partition("_")[0]), list(_statements(text))) for name, text in found]


def _statements(text: str) -> Iterator[str]:
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def upgrade(connection: sqlite3.Connection, path: Path, known: Sequence[Step] = ()) -> int:
    """Bring the schema up to date; returns its version. Several processes may try at once: one does it, the others wait and find it done."""
    try:
        connection.execute(SQL["begin_write"])
        try:
            version = _upgrade(connection, path, known or steps())
        except BaseException:
            connection.execute(SQL["roll_back"])
            raise
        connection.execute(SQL["commit"])
    except sqlite3.Error as error:
        raise unavailable(path, error) from error
    return version


def _upgrade(connection: sqlite3.Connection, path: Path, known: Sequence[Step]) -> int:
    version = int(connection.execute(SQL["schema_version"]).fetchone()[0])
    if version > known[-1].version:
        raise UnsupportedStoreError(f"{path} was written by a newer release (schema {version}, this one knows {known[-1].version}). Upgrade this one")
    if version == 0 and connection.execute(SQL["holds_tables"]).fetchone()[0]:
        raise UnsupportedStoreError(f"{path} is the database of something else. Name another file")
    for step in known:
        if step.version > version:
            for statement in step.statements:
                connection.execute(statement)
            version = step.version
            connection.execute(f"{SQL['schema_version']} = {version}")  # a pragma takes no parameter
    return version
