"""Who runs what, in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.stores.sqlite.base import SqliteBase, find_task, load_by_key
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.values import Record, RecordKind, Run, StoredTask


class SqliteRuns(SqliteBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        until = self._options.clock.millis() + round(self._options.lease * 1000)
        await self._write(lambda db: db.execute(SQL["renew_lease"], {"process": process, "until": until}))

    async def beat(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        await self.register(process)
        rows = await self._read(lambda db: db.execute(SQL["wanted_canceled"], {"process": process}).fetchall())
        return [row["key"] for row in rows]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        await self._write(lambda db: db.execute(SQL["end_lease"], {"process": process}))

    async def claim(self, key: str, process: str) -> Run | None:
        """Begin a run of a task."""

        def claim(db: sqlite3.Connection) -> Run | None:
            who = {"key": key, "process": process, "now": self._options.clock.millis()}
            if not db.execute(SQL["claim"], who).rowcount:
                return None
            rows = db.execute(SQL["records_of"], {"key": key})
            records = [Record(RecordKind(kind), name, body, fingerprint) for kind, name, fingerprint, body in rows]
            return Run(load_by_key(db, key), records)

        return await self._write(claim)

    async def orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        of = None if surfaces is None else json.dumps([*surfaces])
        which = {"now": self._options.clock.millis(), "limit": limit, "surfaces": of}
        rows = await self._read(lambda db: db.execute(SQL["orphans"], which).fetchall())
        return [row["key"] for row in rows]

    async def request_cancel(self, scope: Scope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""

        def cancel(db: sqlite3.Connection) -> StoredTask:
            row = find_task(db, scope, wire_id)
            if row is None:
                raise TaskNotFoundError(details={"task_id": wire_id})
            if not lifecycle.is_cancelable(State(row["state"])):
                raise TaskNotCancelableError(details={"task_id": wire_id})
            db.execute(SQL["want_canceled"], {"key": row["key"]})
            return load_by_key(db, row["key"])

        return await self._write(cancel)
