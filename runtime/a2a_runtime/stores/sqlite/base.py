"""What the roles of the SQLite store share: its lanes, and how its rows become a task."""

from __future__ import annotations

import sqlite3
from operator import itemgetter
from pathlib import Path

from a2a_contract.errors import TaskNotFoundError
from a2a_runtime.caller import TaskScope
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.ids import IdGenerator
from a2a_runtime.stores import fragments as task_row
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.models import StoredTask
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.sqlite.executor import ConnectionThread, DatabaseCall, T


class SqliteBase:
    """The lanes of a store that is open."""

    def __init__(self, path: str | Path, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        self.path = Path(path)
        self._options = options
        self._ids = IdGenerator(options.clock)
        self._writer: ConnectionThread | None = None
        self._reader: ConnectionThread | None = None

    async def _write(self, call: DatabaseCall[T]) -> T:
        if self._writer is None:
            raise StoreUnavailableError(f"{self.path} is not open")
        return await self._writer.run(call)

    async def _read(self, call: DatabaseCall[T]) -> T:
        if self._reader is None:
            raise StoreUnavailableError(f"{self.path} is not open")
        return await self._reader.run(call)


def require_key(db: sqlite3.Connection, scope: TaskScope, wire_id: str) -> str:
    """Find the key of a task that has to be there."""
    row = db.execute(SQL["key_of"], {"scope": scope.to_text(), "wire_id": wire_id}).fetchone()
    if row is None:
        raise TaskNotFoundError(details={"task_id": wire_id})
    return str(row["key"])


def find_task(db: sqlite3.Connection, scope: TaskScope, wire_id: str) -> sqlite3.Row | None:
    """Find the row of a task by what its client calls it."""
    row: sqlite3.Row | None = db.execute(SQL["load_by_wire_id"], {"scope": scope.to_text(), "wire_id": wire_id}).fetchone()
    return row


def load_by_key(db: sqlite3.Connection, key: str) -> StoredTask:
    """Load a task whose row is known to be there."""
    return load_stored_task(db, db.execute(SQL["load_by_key"], {"key": key}).fetchone())


def load_stored_task(db: sqlite3.Connection, row: sqlite3.Row, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
    """Make a task of its row and what hangs on it."""
    key = row["key"]
    length = -1 if history_length is None else history_length
    history = [body for (body,) in db.execute(SQL["messages_of"], {"key": key, "length": length})] if length else []
    chunks = sorted(db.execute(SQL["chunks_of"], {"key": key}), key=itemgetter("place")) if include_artifacts else ()
    return task_row.to_stored_task(row, history[::-1], [(chunk["artifact_id"], chunk["facts"], chunk["parts"]) for chunk in chunks])


__all__ = ["SqliteBase", "find_task", "load_by_key", "load_stored_task", "require_key"]
