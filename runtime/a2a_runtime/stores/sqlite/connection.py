"""Connections to the file, and what its errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from a2a_runtime.errors import StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.stores import sql

SQL: Final = sql.load("a2a_runtime.stores.sqlite", "connection.sql", "tasks.sql", "lists.sql", "contexts.sql", "runs.sql", "pushes.sql", "counts.sql")

_OLDEST = (3, 37)  # STRICT tables
_BUSY_SECONDS = 10.0
_STATEMENTS = 256

_CURES: Mapping[str, str] = {
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
    if sqlite3.sqlite_version_info < _OLDEST:
        raise UnsupportedStoreError(f"SQLite {sqlite3.sqlite_version} is too old: {'.'.join(map(str, _OLDEST))} is needed")
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS)
    except sqlite3.Error as error:
        raise unavailable(path, error) from error
    connection.row_factory = sqlite3.Row
    try:
        for setting in ("journal_mode", "synchronous", "foreign_keys", *(["read_only"] if read_only else [])):
            connection.execute(SQL[setting])
    except sqlite3.Error as error:
        connection.close()
        raise unavailable(path, error) from error
    return connection


def unavailable(path: Path, error: sqlite3.Error) -> StoreUnavailableError:
    """Say where the store failed and what can be done about it."""
    name = getattr(error, "sqlite_errorname", None) or "SQLITE_ERROR"
    cure = next((cure for prefix, cure in _CURES.items() if name.startswith(prefix)), "Look into the log")
    return StoreUnavailableError(f"{path}: {error} ({name}). {cure}")
