"""Tasks and their events in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.caller import Scope
from a2a_runtime.clock import millis_of
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.stores import cursor
from a2a_runtime.stores.sqlite import writes
from a2a_runtime.stores.sqlite.base import SqliteBase, find_task, stored
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.values import Change, Created, LoggedEvent, NewTask, StoredTask, TaskPage, TaskQuery, Written

_BEYOND = (1 << 62, "")


class SqliteTasks(SqliteBase):
    """Creates, reads, changes, lists and deletes tasks; reads their events."""

    async def create_task(self, scope: Scope, new: NewTask) -> Created:
        """Create a task, or find the one that its idempotency key stands for."""
        return await self._write(lambda db: writes.create(db, scope, new, self._ids, self._options))

    async def update_task(self, scope: Scope, key: str, change: Change) -> Written:
        """Change a task, or refuse to."""
        return await self._write(lambda db: writes.change(db, scope, key, change, self._options))

    async def load_task(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask | None:
        """Read a task."""

        def load(db: sqlite3.Connection) -> StoredTask | None:
            row = find_task(db, scope, wire_id)
            return None if row is None else stored(db, row, history_length, include_artifacts=include_artifacts)

        return await self._read(load)

    async def get_version(self, scope: Scope, wire_id: str) -> int | None:
        """Say at which version a task is."""

        def version(db: sqlite3.Connection) -> int | None:
            row = db.execute(SQL["version_of"], {"scope": scope.to_text(), "wire_id": wire_id}).fetchone()
            return None if row is None else int(row["version"])

        return await self._read(version)

    async def list_tasks(self, scope: Scope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        at, key = cursor.task_place(query) or _BEYOND
        oldest = 0 if query.changed_after is None else millis_of(query.changed_after)
        where = {"scope": scope.to_text(), "context_id": query.context_id, "state": query.state, "oldest": oldest, "at": at, "key": key}
        kind = "context" if query.context_id is not None else "state" if query.state is not None else "all"

        def page(db: sqlite3.Connection) -> TaskPage:
            rows = db.execute(SQL[f"page_of_{kind}"], {**where, "limit": query.page_size + 1}).fetchall()
            shown = rows[: query.page_size]
            return TaskPage(
                tasks=[stored(db, row, query.history_length, include_artifacts=query.include_artifacts) for row in shown],
                next_page_token=cursor.task_token(query, shown[-1]["status_at"], shown[-1]["key"]) if len(rows) > len(shown) else "",
                total_size=db.execute(SQL[f"count_of_{kind}"], where).fetchone()[0],
            )

        return await self._read(page)

    async def delete_task(self, scope: Scope, wire_id: str) -> bool:
        """Delete a task with all that hangs on it."""
        where = {"scope": scope.to_text(), "wire_id": wire_id}
        return await self._write(lambda db: db.execute(SQL["delete_task"], where).rowcount > 0)

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""

        def events(db: sqlite3.Connection) -> Sequence[LoggedEvent]:
            rows = db.execute(SQL["events_of"], {"key": key, "after": after, "limit": limit})
            found = [LoggedEvent(seq, body, State(state)) for seq, body, state in rows]
            if not found:
                _check_log(db, key, after)
            return found

        return await self._read(events)


def _check_log(db: sqlite3.Connection, key: str, after: int) -> None:
    """Tell a log without news from one that cannot have any."""
    row = db.execute(SQL["last_seq_of"], {"key": key}).fetchone()
    if row is None:
        raise TaskNotFoundError
    if row["last_seq"] > after:
        raise EventsGoneError
