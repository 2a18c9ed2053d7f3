"""The database file: its connections, errors and migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.stores import sql

SQL: Final = sql.load(
    "a2a_runtime.stores.sqlite",
    "connection.sql",
    "tasks.sql",
    "lists.sql",
    "contexts.sql",
    "runs.sql",
    "pushes.sql",
    "counts.sql",
)

_MIN_SQLITE_VERSION = (3, 37)  # STRICT tables
_BUSY_TIMEOUT_SECONDS = 10.0
_MAX_CACHED_STATEMENTS = 256
_SYNCHRONOUS: Mapping[str, str] = {"full": "synchronous_full", "normal": "synchronous_normal"}
"""Statement of each mode. With the others of SQLite, a power failure could damage the file."""

_FIXES: Mapping[str, str] = {
    "SQLITE_FULL": (
        "free disk space or raise the limit of the file; nothing that was acknowledged is lost"
    ),
    "SQLITE_NOTADB": "this is not an SQLite database; choose another path or restore a backup",
    "SQLITE_CORRUPT": (
        "the file is damaged; stop the process, keep a copy, then restore a backup or use "
        "`.recover` of the sqlite3 shell"
    ),
    "SQLITE_CANTOPEN": "create the folder and make it writable for this user",
    "SQLITE_READONLY": "make the file and its folder writable for this user",
    "SQLITE_BUSY": "another process holds the file for too long; stop other programs that use it",
    "SQLITE_IOERR": "the disk reports errors; read the log of the system",
}


def check_synchronous(mode: str) -> None:
    """Raise ``UnsupportedStoreError`` for a mode that the store does not have."""
    if mode not in _SYNCHRONOUS:
        raise UnsupportedStoreError(
            f"sqlite_synchronous: {mode!r} is no mode of the store; use "
            f"{' or '.join(map(repr, _SYNCHRONOUS))}"
        )


def connect(
    path: Path, *, synchronous: str = "full", read_only: bool = False
) -> sqlite3.Connection:
    """Open a connection for one thread, without automatic transactions."""
    if sqlite3.sqlite_version_info < _MIN_SQLITE_VERSION:
        raise UnsupportedStoreError(
            f"SQLite {sqlite3.sqlite_version}: too old for the store; use "
            f"{'.'.join(map(str, _MIN_SQLITE_VERSION))} or later"
        )
    try:
        connection = sqlite3.connect(
            path,
            timeout=_BUSY_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_MAX_CACHED_STATEMENTS,
        )
    except sqlite3.Error as error:
        raise to_unavailable_error(path, error) from error
    connection.row_factory = sqlite3.Row
    try:
        for setting in (
            "journal_mode",
            _SYNCHRONOUS[synchronous],
            "foreign_keys",
            *(["read_only"] if read_only else []),
        ):
            connection.execute(SQL[setting])
    except sqlite3.Error as error:
        connection.close()
        raise to_unavailable_error(path, error) from error
    return connection


def to_unavailable_error(path: Path, error: sqlite3.Error) -> StoreUnavailableError:
    """Convert an SQLite error to an error with the path and a fix."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
    fix = next((fix for prefix, fix in _FIXES.items() if name.startswith(prefix)), "read the log")
    return StoreUnavailableError(f"{path}: {error} ({name}); {fix}")


class Migration(NamedTuple):
    """Statements that upgrade the schema to a version."""

    version: int
    statements: Sequence[str]


def load_migrations() -> list[Migration]:
    """Load the files of the folder ``migrations``, ordered by number.

    A released migration is never edited.
    """
    folder = files("a2a_runtime.stores.sqlite").joinpath("migrations")
    found = sorted(
        (entry.name, entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    )
    return [
        Migration(int(name.partition("_")[0]), list(_split_statements(text)))
        for name, text in found
    ]


def _split_statements(text: str) -> Iterator[str]:
    statement = ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def read_version(connection: sqlite3.Connection, path: Path) -> int:
    """Read the version of the schema; 0 is a new file, or one of another program."""
    try:
        return int(connection.execute(SQL["schema_version"]).fetchone()[0])
    except sqlite3.Error as error:
        raise to_unavailable_error(path, error) from error


def read_file_version(path: Path) -> tuple[int, int]:
    """Read the version of a file and the latest one; nothing is written, whatever the file is."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            return read_version(connection, path), load_migrations()[-1].version
    except sqlite3.Error as error:
        raise to_unavailable_error(path, error) from error


def upgrade(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] = ()
) -> int:
    """Apply missing migrations in one transaction, and return the version.

    Concurrent upgrades wait for each other.
    """
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


def _apply_migrations(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration]
) -> int:
    version = read_version(connection, path)
    latest = migrations[-1].version
    if version > latest:
        raise UnsupportedStoreError(
            f"{path}: schema {version} is of a newer release, this one knows {latest}; "
            "upgrade this release"
        )
    if version == 0 and connection.execute(SQL["holds_tables"]).fetchone()[0]:
        raise UnsupportedStoreError(f"{path}: the database of another program; choose another path")
    for migration in migrations:
        if migration.version > version:
            for statement in migration.statements:
                connection.execute(statement)
            version = migration.version
            # A pragma takes no parameter.
            connection.execute(f"{SQL['schema_version']} = {version}")
    return version
