"""Who runs what, in Postgres: several processes share the tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import asyncpg

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.stores.postgres import rows
from a2a_runtime.stores.postgres.base import EVERYTHING, PostgresBase, uuid_of
from a2a_runtime.stores.postgres.statements import SQL
from a2a_runtime.stores.values import Record, RecordKind, Run, StoredTask

_CANCELABLE = [state for state in State if lifecycle.is_cancelable(state)]


class PostgresRuns(PostgresBase):
    """Leases of processes, claims of tasks, cancellation."""

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        await self._pool.rows(SQL["register"], process, self._lease())

    async def beat(self, process: str) -> Sequence[str]:
        """Renew the lease; the keys of those of its tasks that somebody wants canceled."""
        doubtful = tuple(self._doubtful.get(process, ()))
        canceled = await self._pool.rows(SQL["beat"], process, self._lease(), doubtful)
        self._doubtful.get(process, set()).difference_update(doubtful)
        return [str(row["key"]) for row in canceled]

    async def unregister(self, process: str) -> None:
        """End the lease."""
        await self._pool.rows(SQL["unregister"], process)

    async def claim(self, key: str, process: str) -> Run | None:
        """Begin a run of a task."""
        try:
            task = uuid_of(key)
        except TaskNotFoundError:
            return None
        with self._in_doubt(process, task):
            async with self._pool.transaction() as connection:
                if not await connection.fetch(SQL["claim"], task, process, self._server_millis()):
                    return None
                (whole,) = await connection.fetch(SQL["load_tasks"], *EVERYTHING, [task])
                records = await connection.fetch(SQL["records"], task)
        return Run(rows.stored(whole), [_record(row) for row in records])

    async def orphans(self, limit: int = 64, surfaces: Collection[str] | None = None) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        of = None if surfaces is None else [*surfaces]
        return [str(row["key"]) for row in await self._pool.rows(SQL["orphans"], self._server_millis(), limit, of)]

    async def request_cancel(self, scope: Scope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""
        row = await self._pool.row(SQL["request_cancel"], scope.to_text(), wire_id, _CANCELABLE)
        stored = None if row is None else (await self._load([row["key"]])).get(str(row["key"]))
        if stored is None:
            await self._key(scope, wire_id)
            raise TaskNotCancelableError(details={"task_id": wire_id})
        return stored

    def _lease(self) -> int:
        return self._server_millis() + round(self._options.lease * 1000)


def _record(row: asyncpg.Record) -> Record:
    return Record(RecordKind(row["kind"]), row["record_key"], row["body"], row["fingerprint"])
