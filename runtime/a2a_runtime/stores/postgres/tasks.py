"""Tasks and their events in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_millis
from a2a_runtime.errors import ConcurrencyError, EventsGoneError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.changes import ChangeRows, NewTaskRows
from a2a_runtime.stores.models import ChangeResult, CreateResult, IdempotencyKey, LoggedEvent, NewTask, StoredTask, TaskChange, TaskPage, TaskQuery
from a2a_runtime.stores.postgres import base
from a2a_runtime.stores.postgres.base import SQL, PostgresBase, TaskNames, parse_key

# The arguments of the two statements that write tasks, in the order of their numbers.

Arguments = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class TaskInsert:
    """A task that is to be created: its request and everything that was worked out from it."""

    key: str
    names: TaskNames
    created_millis: int
    new: NewTask
    rows: NewTaskRows
    push_config: TaskPushNotificationConfig | None
    reusable_since_millis: int | None  # for a wire id that the client chose: when the task that had it must have ended


def to_insert_arguments(insert: TaskInsert) -> Arguments:
    """Arrange the arguments of ``create_task``."""
    new, names, rows, push, record = insert.new, insert.names, insert.rows, insert.push_config, insert.new.record
    return (
        UUID(insert.key),
        names.scope,
        names.wire_id,
        names.context_id,
        new.skill,
        new.dialect,
        INITIAL,
        rows.status,
        insert.created_millis,
        rows.metadata,
        new.process,
        rows.message,
        rows.event,
        insert.reusable_since_millis,
        *_to_idempotency_arguments(new.idempotency_key),
        *((None, None) if push is None else (push.id, push.to_json())),
        *((None,) * 4 if record is None else (record.kind, record.key, record.fingerprint, record.body)),
    )


def to_update_arguments(key: UUID, scope: str, change: TaskChange, rows: ChangeRows, *, at: int, metadata: bytes | None) -> Arguments:
    """Arrange the arguments of ``update_task``."""
    before = changes.allowed_source_states(change)
    state = change.state
    return (
        key,
        scope,
        state,
        rows.status,
        at,
        None if before is None else list(before),
        change.expected_version,
        change.epoch,
        state is not None and lifecycle.is_terminal(state),
        None if state is None else lifecycle.is_active(state),
        change.release_claim,
        metadata,
        *_to_columns(4, [(row.artifact_id, row.replaces, row.chunk.facts, row.chunk.parts) for row in rows.chunks]),
        rows.messages or None,
        *_to_columns(2, rows.events),
        *_to_columns(4, [(record.kind, record.key, record.fingerprint, record.body) for record in change.records]),
        *_to_idempotency_arguments(change.idempotency_key),
    )


def _to_columns(width: int, lines: Sequence[tuple[object, ...]]) -> Arguments:
    """Turn rows into arrays, one for each column; none is cheaper than an empty one, and most writes have none of most kinds."""
    return tuple(map(list, zip(*lines, strict=True))) if lines else (None,) * width


def _to_idempotency_arguments(promise: IdempotencyKey | None) -> Arguments:
    return (None, None, None) if promise is None else (promise.context_id, promise.key, promise.request_hash)


_MAX_ATTEMPTS = 16  # of a write that nothing speaks against, but that saw less than it has to when it began


class PostgresTasks(PostgresBase):
    """Creates, reads, changes, lists and deletes tasks; reads their events."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one that its idempotency key stands for."""
        for _ in range(_MAX_ATTEMPTS):
            birth = self._plan_insert(scope, new)
            try:
                with self._track_unconfirmed(new.process, UUID(birth.key)):
                    row = await self._inserts.fetchrow(*to_insert_arguments(birth))
            except asyncpg.UniqueViolationError as error:
                raise TaskIdInUseError(details={"task_id": birth.names.wire_id}) from error
            if row["tasks"]:
                self._cache_names(birth.key, birth.names)
                created = birth.rows.build_result(scope, new, birth.key, birth.names.wire_id, birth.created_millis)
                self._recent_tasks.add(created.stored, birth.rows)
                return created
            known = None if new.idempotency_key is None else await self._find_idempotent_task(scope, new.idempotency_key)
            if known is not None and (stored := (await self._load_tasks([known["key"]])).get(str(known["key"]))) is not None:
                return CreateResult(stored, is_new=False)
        raise ConcurrencyError(f"The task of an idempotency key came and went {_MAX_ATTEMPTS} times; send the request again")

    def _plan_insert(self, scope: TaskScope, new: NewTask) -> TaskInsert:
        at = self._clock.millis()
        names = TaskNames(scope.to_text(), new.wire_id or self._ids.new(), new.context_id)
        push = new.push_config and new.push_config.model_copy(update={"id": new.push_config.id or self._ids.new(), "task_id": names.wire_id})
        reusable_since = None if new.wire_id is None else self._options.cutoff_millis(self._options.wire_id_reuse_seconds)
        return TaskInsert(self._ids.new(), names, at, new, changes.build_new_rows(new, names.wire_id, at), push, reusable_since)

    async def _find_idempotent_task(self, scope: TaskScope, promise: IdempotencyKey) -> asyncpg.Record | None:
        """Find the task of an idempotency key."""
        known = await self._pool.fetchrow(SQL["find_promise"], scope.to_text(), promise.context_id, promise.key)
        if known is not None:
            changes.check_same_request(promise, known["request_hash"])
        return known

    async def load_task(
        self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> StoredTask | None:
        """Read a task."""
        row = await self._loads.fetchrow(history_length, include_artifacts, scope.to_text(), wire_id)
        return None if row["key"] is None else base.to_stored_task(row)

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Say at which version a task is."""
        row = await self._pool.fetchrow(SQL["get_version"], scope.to_text(), wire_id)
        return None if row is None else int(row["version"])

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task, or refuse to.

        The statement is sent as if nothing spoke against it; only when it changed nothing, a second look says why. It may also have been too early:
        the clock is behind the last status of the task, or a push configuration has come in between. Then it is sent again.
        """
        names = await self._get_names(scope, key)
        at = self._clock.millis()
        for _ in range(_MAX_ATTEMPTS):
            planned = changes.build_change_rows(change, names.wire_id, names.context_id, at)
            row = await self._send_change(parse_key(key), names, change, planned, at)
            if row is not None:
                before, last_seq = State(row["state_before"]), row["last_seq"]
                events = [] if row["had_ended"] else planned.number_events(last_seq - len(planned.events), before)
                return self._recent_tasks.attach_task(key, ChangeResult(row["version"], State(row["state"]), tuple(events)), change, planned, at)
            if change.idempotency_key is not None and (known := await self._find_idempotent_task(scope, change.idempotency_key)) is not None:
                return ChangeResult(known["version"], State(known["state"]), (), is_new=False)
            head = await self._load_head(scope, key)
            changes.check_change(head, change)
            at = max(self._clock.millis(), head.status_at)
        raise ConcurrencyError(f"Others changed the task {_MAX_ATTEMPTS} times at the same moment; try again")

    async def _send_change(self, key: UUID, names: TaskNames, change: TaskChange, planned: ChangeRows, at: int) -> asyncpg.Record | None:
        """Send a change; ``None`` when it was not made."""
        try:
            if not change.metadata:
                values = to_update_arguments(key, names.scope, change, planned, at=at, metadata=None)
                return _row_if_changed(await self._updates.fetchrow(*values))
            async with self._pool.transaction() as connection:
                before = await connection.fetchval(SQL["lock_metadata"], key, names.scope)
                if before is None:
                    return None
                values = to_update_arguments(key, names.scope, change, planned, at=at, metadata=fragments.merge_object(before, change.metadata))
                return _row_if_changed(await connection.fetchrow(SQL["update_task"], *values))
        except asyncpg.UniqueViolationError:
            return None  # somebody has made the same promise at the same moment

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        at, key = pagination.parse_task_token(query) or (None, None)
        after = None if query.changed_after is None else to_millis(query.changed_after)
        try:
            found = await self._pool.fetch(
                SQL["list_tasks"],
                *(query.history_length, query.include_artifacts),
                *(scope.to_text(), query.context_id, query.state, after),
                *(at, key, query.page_size + 1),
            )
        except asyncpg.DataError as error:
            if at is None:  # nobody has sent a token that could be wrong
                raise
            raise pagination.invalid_param_error("pageToken", "is not one that this agent has given out") from error
        tasks = [base.to_stored_task(row) for row in found[: query.page_size] if row["key"] is not None]
        more = len(found) > query.page_size
        token = pagination.encode_task_token(query, to_millis(tasks[-1].updated_at), tasks[-1].key) if more else ""
        return TaskPage(tasks, token, found[0]["total"])

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with all that hangs on it."""
        async with self._pool.transaction() as connection:
            keys = [row["key"] for row in await connection.fetch(SQL["lock_task"], scope.to_text(), wire_id)]
            await connection.execute(SQL["delete_tasks"], keys)
        return bool(keys)

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        found = await self._pool.fetch(SQL["read_events"], parse_key(key), after, limit)
        if not found:
            raise TaskNotFoundError
        first, last_seq = found[0]["seq"], found[0]["last_seq"]
        if after < last_seq and first != after + 1:
            raise EventsGoneError
        return [] if first is None else [base.to_logged_event(row) for row in found]


def _row_if_changed(row: asyncpg.Record | None) -> asyncpg.Record | None:
    return None if row is None or row["version"] is None else row
