"""Connections to the file, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from a2a_runtime.errors import StoreInUseError, StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.stores import sql

SQL: Final = sql.load("a2a_runtime.stores.sqlite", "connection.sql", "tasks.sql", "lists.sql", "contexts.sql", "runs.sql", "pushes.sql", "counts.sql")

_MIN_SQLITE_VERSION = (3, 37)  # STRICT tables
_BUSY_TIMEOUT_SECONDS = 10.0
_MAX_CACHED_STATEMENTS = 256

_FIXES: Mapping[str, str] = {
    "SQLITE_FULL": "The disk is full, or the file has reached its limit. Make room; nothing that was acknowledged is lost",
    "SQLITE_NOTADB": "This is not an SQLite database. Name another file, or put a backup in its place",
    "SQLITE_CORRUPT": "The file is damaged. Stop the process, keep a copy, put a backup in its place or use `.recover` of the sqlite3 shell",
    "SQLITE_CANTOPEN": "The file cannot be opened. Make its folder, and let this user write there",
    "SQLITE_READONLY": "The file cannot be written. Let this user write it and its folder",
    "SQLITE_BUSY": "Another process holds the file for too long. Stop what works on it beside this process",
    "SQLITE_IOERR": "The disk does not answer as it should. Look into the system's log",
}


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a connection for one thread; transactions are begun and ended by whoever uses it."""
    if sqlite3.sqlite_version_info < _MIN_SQLITE_VERSION:
        raise UnsupportedStoreError(f"SQLite {sqlite3.sqlite_version} is too old: {'.'.join(map(str, _MIN_SQLITE_VERSION))} is needed")
    try:
        connection = sqlite3.connect(
            path, timeout=_BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=_MAX_CACHED_STATEMENTS
        )
    except sqlite3.Error as error:
        raise to_unavailable_error(path, error) from error
    connection.row_factory = sqlite3.Row
    try:
        for setting in ("journal_mode", "synchronous", "foreign_keys", *(["read_only"] if read_only else [])):
            connection.execute(SQL[setting])
    except sqlite3.Error as error:
        connection.close()
        raise to_unavailable_error(path, error) from error
    return connection


def to_unavailable_error(path: Path, error: sqlite3.Error) -> StoreUnavailableError:
    """Say where the store failed and what can be done about it."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
    cure = next((cure for prefix, cure in _FIXES.items() if name.startswith(prefix)), "Look into the log")
    return StoreUnavailableError(f"{path}: {error} ({name}). {cure}")


# One process runs on a file at a time; others may look at it and tidy up.
#
# The lock is the operating system's, on a file beside the database: it goes when its process goes, however that died, and nothing has to be cleaned
# up.
#

if sys.platform == "win32":
    import msvcrt

    def _take(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FileLock:
    """A lock that one process can hold."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock or say who has it."""
        path = self._database.with_name(f"{self._database.name}.lock")
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _take(file)
        except OSError as error:
            os.close(file)
            raise StoreInUseError(
                f"Another process runs on {self._database} ({path}). Stop it, give this one its own file, or use Postgres, which many may share"
            ) from error
        self._file = file

    def release(self) -> None:
        """Let go of the lock; the file stays, because removing it would let two processes lock two files of that name."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


# The schema of the file, brought up to date when it is opened: forward only, each step whole or not at all.
#
# The steps are the files of the folder ``migrations``, by their numbers; the file remembers the number of the last one. A step that is released is
# never edited.
#


class Migration(NamedTuple):
    """One migration: the version that it leads to, and its statements."""

    version: int
    statements: Sequence[str]


def load_migrations() -> list[Migration]:
    """Read every migration, in order."""
    folder = files("a2a_runtime.stores.sqlite").joinpath("migrations")
    found = sorted((entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [Migration(int(name.partition("_")[0]), list(_split_statements(text))) for name, text in found]


def _split_statements(text: str) -> Iterator[str]:
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def upgrade(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = ()) -> int:
    """Bring the schema up to date; returns its version. Several processes may try at once: one does it, the others wait and find it done."""
    try:
        connection.execute(SQL["begin_write"])
        try:
            version = _apply_migrations(connection, path, migrations or load_migrations())
        except BaseException:
            connection.execute(SQL["roll_back"])
            raise
        connection.execute(SQL["commit"])
    except sqlite3.Error as error:
        raise to_unavailable_error(path, error) from error
    return version


def _apply_migrations(connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]) -> int:
    version = int(connection.execute(SQL["schema_version"]).fetchone()[0])
    if version > migrations[-1].version:
        raise UnsupportedStoreError(
            f"{path} was written by a newer release (schema {version}, this one knows {migrations[-1].version}). Upgrade this one"
        )
    if version == 0 and connection.execute(SQL["holds_tables"]).fetchone()[0]:
        raise UnsupportedStoreError(f"{path} is the database of something else. Name another file")
    for step in migrations:
        if step.version > version:
            for statement in step.statements:
                connection.execute(statement)
            version = step.version
            connection.execute(f"{SQL['schema_version']} = {version}")  # a pragma takes no parameter
    return version
