"""State of an SQLite store: its connection threads, statements in a transaction, and loading of
whole tasks.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Coroutine, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores import fragments
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.models import StoredTask
from a2a_runtime.stores.sql_statements import SqlTransaction
from a2a_runtime.stores.sql_store import SqlStore
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.sqlite.executor import ConnectionThread, DatabaseCall, T


class SqliteTransaction:
    """Statements in a transaction of a connection thread. Its methods never wait."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    async def fetch(self, section: str, /, **parameters: object) -> Sequence[sqlite3.Row]:
        """Run a statement and return its rows."""
        return _fetch(self._db, section, parameters)

    async def load_task(self, key: str) -> StoredTask:
        """Load a task that exists."""
        return load_by_key(self._db, key)


class SqliteBase(SqlStore):
    """An SQLite store with threads for writes, reads, lists and counts: what takes longer does not
    delay the reads of a send.
    """

    def __init__(self, path: str | Path, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(options)
        self.path = Path(path)
        self._writer: ConnectionThread | None = None
        self._reader: ConnectionThread | None = None
        self._lister: ConnectionThread | None = None
        self._counter: ConnectionThread | None = None

    async def _write(self, call: DatabaseCall[T]) -> T:
        return await self._require_open(self._writer).run(call)

    async def _read(self, call: DatabaseCall[T]) -> T:
        return await self._require_open(self._reader).run(call)

    def _require_open(self, thread: ConnectionThread | None) -> ConnectionThread:
        if thread is None:
            raise StoreUnavailableError(f"{self.path}: the store is not open; call open() first")
        return thread

    async def _fetch(self, section: str, /, **parameters: object) -> Sequence[sqlite3.Row]:
        return await self._read(lambda db: _fetch(db, section, parameters))

    async def _execute(self, section: str, /, **parameters: object) -> Sequence[sqlite3.Row]:
        return await self._write(lambda db: _fetch(db, section, parameters))

    async def _transact(self, work: Callable[[SqlTransaction], Coroutine[Any, Any, T]]) -> T:
        return await self._write(lambda db: _run_coroutine(work(SqliteTransaction(db))))

    async def _load_tasks(self, keys: Sequence[str]) -> Mapping[str, StoredTask]:
        def load(db: sqlite3.Connection) -> dict[str, StoredTask]:
            found: dict[str, StoredTask] = {}
            for key in keys:
                for row in db.execute(SQL["load_by_key"], {"key": key}):
                    found[row["key"]] = load_stored_task(db, row)
            return found

        if keys:
            return await self._read(load)
        return {}


def _fetch(
    db: sqlite3.Connection, section: str, parameters: Mapping[str, object]
) -> list[sqlite3.Row]:
    """Run a statement; lists become JSON arrays, which statements read with ``json_each``."""
    values = {**parameters}
    for name, value in parameters.items():
        if isinstance(value, list):
            values[name] = json.dumps(value)
    return db.execute(SQL[section], values).fetchall()


def _run_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over an ``SqliteTransaction`` without an event loop: it never waits, so its
    first step is its last.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(
        "SqliteTransaction: the work waits for something else; await only the transaction"
    )


def load_by_key(db: sqlite3.Connection, key: str) -> StoredTask:
    """Load a task that exists."""
    return load_stored_task(db, db.execute(SQL["load_by_key"], {"key": key}).fetchone())


def load_stored_task(
    db: sqlite3.Connection,
    row: sqlite3.Row,
    history_length: int | None = None,
    *,
    include_artifacts: bool = True,
) -> StoredTask:
    """Build a task from its row, and load its messages and chunks."""
    key = row["key"]
    length = -1 if history_length is None else history_length
    history: list[bytes] = []
    if length:
        messages = db.execute(SQL["messages_of"], {"key": key, "length": length})
        history = [body for (body,) in messages]
    chunks: Sequence[sqlite3.Row] = ()
    if include_artifacts:
        chunks = sorted(db.execute(SQL["chunks_of"], {"key": key}), key=itemgetter("place"))
    return fragments.to_stored_task(
        row,
        history[::-1],
        [(chunk["artifact_id"], chunk["facts"], chunk["parts"]) for chunk in chunks],
    )
