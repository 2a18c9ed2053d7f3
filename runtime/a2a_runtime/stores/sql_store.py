"""Tasks, contexts, runs and counters of the stores that keep them in SQL; their webhooks are in
``sql_webhooks``.

Both databases have the named sections that are used here, with the same parameters (``:name``) and
columns. Each backend keeps what is its own: its ``.sql`` files, its tasks (the hot path), its
cleanup, and the primitives of ``sql_statements``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.counters import WindowCount
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.stores import changes, fragments
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.fragments import TaskRow
from a2a_runtime.stores.models import (
    LoggedEvent,
    RenewedLease,
    RunProgress,
    StoredTask,
)
from a2a_runtime.stores.sql_statements import SqlTransaction, to_list
from a2a_runtime.stores.sql_webhooks import SqlWebhooks

T = TypeVar("T")

_LATE_COMMIT_MILLIS = 60_000
_CANCELABLE_STATES = [state for state in State if lifecycle.is_cancelable(state)]
_ACTIVE_STATES = sorted(lifecycle.ACTIVE)


class SqlStore(SqlWebhooks):
    """The roles of a store whose statements differ between databases, but not what is done with
    them.
    """

    def __init__(self, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(options)
        self._swept_until: dict[str, int] = {}
        """Time up to which ended tasks of a dialect have been seen, by dialect: a cleanup reads
        what has ended since.
        """

    def _conversation_cutoff(self) -> int:
        return self._options.cutoff_millis(self._options.conversation_retention_seconds)

    # Tasks

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Return the version of a task."""
        rows = await self._fetch("get_version", scope=scope.to_text(), wire_id=wire_id)
        if not rows or await self._is_over(str(rows[0]["key"]), rows[0]):
            return None
        return int(rows[0]["version"])

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        rows = await self._fetch("read_events", key=key, after=after, limit=limit)
        if not rows or await self._is_over(key, rows[0]):
            raise TaskNotFoundError
        first = rows[0]["seq"]
        last_seq = rows[0]["last_seq"]
        changes.check_read(after, mark, last_seq, rows[0]["cursor_mark"])
        if after < last_seq and first != after + 1:
            raise EventsGoneError
        if first is None:
            return []
        return [fragments.to_logged_event(row) for row in rows]

    async def _find_readable(self, stored: StoredTask | None) -> StoredTask | None:
        """Return a task unless it has expired; one that runs costs no more than a look at its
        state.
        """
        if stored is None or stored.state not in lifecycle.TERMINAL:
            return stored
        if self._options.is_kept(stored.dialect, stored.status_at):
            return stored
        if await self._fetch("find_delivery", key=stored.key):
            return stored
        return None

    async def _is_over(self, key: str, row: TaskRow) -> bool:
        """Return whether a task, of which this is a row, has expired: the next cleanup deletes
        it.
        """
        if row["ended_at"] is None or self._options.is_kept(row["dialect"], row["ended_at"]):
            return False
        return not await self._fetch("find_delivery", key=key)

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with everything that belongs to it."""

        async def delete(transaction: SqlTransaction) -> bool:
            rows = await transaction.fetch("lock_task", scope=scope.to_text(), wire_id=wire_id)
            keys = [row["key"] for row in rows]
            await _delete_tasks(transaction, keys)
            return bool(keys)

        return await self._transact(delete)

    # Contexts

    async def load_context(
        self, scope: TaskScope, context_id: str, hidden_skills: Collection[str] = ()
    ) -> Mapping[str, object] | None:
        """Read what a handler has stored with a conversation."""
        where = {"scope": scope.to_text(), "context_id": context_id, "hidden": [*hidden_skills]}
        rows = await self._fetch("load_context", **where, cutoff=self._conversation_cutoff())
        if rows:
            return fragments.decode_object(rows[0]["data"])
        return None

    async def update_context(
        self,
        scope: TaskScope,
        context_id: str,
        data: Mapping[str, object],
        skill: str = "",
        hidden_skills: Collection[str] = (),
    ) -> None:
        """Replace the data of a conversation."""
        where = {"scope": scope.to_text(), "context_id": context_id, "hidden": [*hidden_skills]}
        changes.check_context_data(data)
        body = fragments.encode_object(data)
        skills = [skill] if skill else []
        changes.check_context_written(
            await self._execute(
                "put_context", **where, data=body, skills=skills, now=self._clock.millis()
            )
        )

    async def delete_context(self, scope: TaskScope, context_id: str) -> int:
        """Delete a conversation with all its tasks."""
        return await self._delete(scope, context_id)

    async def load_conversation(
        self,
        scope: TaskScope,
        context_id: str,
        limit: int = 100,
        hidden_skills: Collection[str] = (),
    ) -> Sequence[Message]:
        """Read the newest messages of a conversation."""
        where = {"scope": scope.to_text(), "context_id": context_id, "hidden": [*hidden_skills]}
        rows = await self._fetch(
            "newest_messages", **where, cutoff=self._conversation_cutoff(), limit=limit
        )
        return [Message.model_validate_json(row["body"]) for row in reversed(rows)]

    async def list_scopes(self) -> Sequence[TaskScope]:
        """List the scopes of all tasks and conversations."""
        rows = await self._fetch("list_scopes")
        return [TaskScope.from_text(row["scope"]) for row in rows]

    async def delete_scope(self, scope: TaskScope) -> int:
        """Delete all tasks and conversations of a scope, and its totals, whose rows have its
        name.
        """
        return await self._delete(scope, None)

    async def _delete(self, scope: TaskScope, context_id: str | None) -> int:
        """Delete a conversation, or every one of the scope."""
        where = {"scope": scope.to_text(), "context_id": context_id}

        async def delete(transaction: SqlTransaction) -> int:
            if context_id is None:
                await transaction.fetch("await_cleanup")  # which moves totals from row to row
            rows = await transaction.fetch("lock_tasks", **where)
            keys = [row["key"] for row in rows]
            await _delete_tasks(transaction, keys)
            await transaction.fetch("delete_messages", **where)
            await transaction.fetch("delete_contexts", **where)
            if context_id is None:
                await transaction.fetch("delete_totals", scope=where["scope"])
            return len(keys)

        return await self._transact(delete)

    async def delete_expired(self, limit: int = 100) -> int:
        """Delete a batch of tasks, else of messages and contexts, with all leases and counters;
        nothing while another process does.
        """
        ended_by = self._options.cutoff_millis(self._options.retention_seconds)
        cutoff = self._conversation_cutoff()
        swept = dict[str, int]()

        async def delete(transaction: SqlTransaction) -> int:
            if not await transaction.fetch("lock_cleanup"):
                return 0
            rows = await transaction.fetch("lock_ended", ended_by=ended_by, limit=limit)
            keys = [row["key"] for row in rows]
            keys = keys or await self._lock_ended_of_dialects(transaction, limit, swept)
            if keys:
                await transaction.fetch("keep_messages", keys=keys, cutoff=cutoff)
                await transaction.fetch(
                    "trim_messages", keys=keys, keep=self._options.max_conversation_messages
                )
                await _delete_tasks(transaction, keys)
                return len(keys)
            messages = await transaction.fetch("delete_old_messages", cutoff=cutoff, limit=limit)
            contexts = await transaction.fetch("delete_old_contexts", cutoff=cutoff, limit=limit)
            await transaction.fetch("delete_old_leases", now=self._shared_millis())
            await transaction.fetch("delete_old_counts", now=self._shared_millis())
            await transaction.fetch("delete_empty_totals")
            return len(messages) + len(contexts)

        deleted = await self._transact(delete)
        self._swept_until |= swept
        return deleted

    async def _lock_ended_of_dialects(
        self, transaction: SqlTransaction, limit: int, swept: dict[str, int]
    ) -> list[str]:
        """Lock the tasks of a dialect that is kept for a shorter time, and report how far they have
        been read.

        The last minute is read again: a task of another process, or one that was locked, may be
        committed late.
        """
        for dialect, seconds in self._options.dialect_retention_seconds.items():
            until = self._options.cutoff_millis(seconds)
            after = self._swept_until.get(dialect, -1)
            rows = await transaction.fetch(
                "lock_ended_of", dialect=dialect, after=after, ended_by=until, limit=limit
            )
            seen_until = rows[-1]["ended_at"] if len(rows) == limit else until
            swept[dialect] = max(after, seen_until - _LATE_COMMIT_MILLIS)
            if rows:
                return [row["key"] for row in rows]
        return []

    async def correct_totals(self) -> int:
        """Count all tasks, correct the kept totals of lists, and return how many were wrong.

        Writes go on meanwhile.
        """
        return len(await self._execute("correct_totals", active=_ACTIVE_STATES))

    # Runs

    async def register(self, process: str) -> None:
        """Begin the lease of a process."""
        await self._execute("renew_lease", process=process, until=self._lease_until())

    def _lease_until(self) -> int:
        return self._shared_millis() + round(self._options.lease_seconds * 1000)

    async def renew_lease(self, process: str) -> RenewedLease:
        """Renew the lease, and return the claims of this process."""
        await self.register(process)
        claims = await self._fetch("load_claims", process=process)
        progress = {str(row["key"]): RunProgress(row["epoch"], row["writes"]) for row in claims}
        return RenewedLease(
            progress, [str(row["key"]) for row in claims if row["cancel_requested"]]
        )

    async def release_claims(self, process: str, keys: Collection[str]) -> None:
        """End claims of this process."""
        if keys:
            await self._execute("release_claims", process=process, keys=[*keys])

    async def unregister(self, process: str) -> None:
        """End the lease."""
        await self._execute("end_lease", process=process)

    async def mark_suspect(self, process: str, key: str) -> None:
        """Note in which task the event loop of a process stands still."""
        await self._execute("mark_suspect", process=process, key=key)

    async def find_orphans(
        self, limit: int = 64, surfaces: Collection[str] | None = None
    ) -> Sequence[str]:
        """Find active tasks that no live process runs."""
        rows = await self._fetch(
            "find_orphans", now=self._shared_millis(), limit=limit, surfaces=to_list(surfaces)
        )
        return [str(row["key"]) for row in rows]

    async def request_cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Ask for the end of a task."""
        where = {"scope": scope.to_text(), "wire_id": wire_id}
        updated = await self._execute("request_cancel", **where, states=_CANCELABLE_STATES)
        tasks = await self._load_tasks([str(row["key"]) for row in updated])
        if tasks:
            return next(iter(tasks.values()))
        if await self.get_version(scope, wire_id) is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        raise TaskNotCancelableError(details={"task_id": wire_id})

    # Counters

    async def count(self, key: str, seconds: float) -> WindowCount:
        """Increment a counter."""
        now = self._shared_millis()
        (row,) = await self._execute("count", key=key, now=now, until=now + round(seconds * 1000))
        return WindowCount(row["number"], (row["until"] - now) / 1000)


async def _delete_tasks(transaction: SqlTransaction, keys: Sequence[object]) -> None:
    """Delete tasks whose rows are locked."""
    await transaction.fetch("remove_from_totals", keys=keys, active=_ACTIVE_STATES)
    await transaction.fetch("delete_tasks", keys=keys)
