"""Tasks and their events in Postgres: the hot path, one statement for each call.

A statement holds every rule about who may change what in its condition. Only if it changes nothing,
a second read finds the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import asyncpg

from a2a_contract.errors import TaskIdInUseError
from a2a_contract.lifecycle import INITIAL, State
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_millis
from a2a_runtime.errors import ConcurrencyError
from a2a_runtime.features.postgres.base import (
    JOB_NAME,
    SQL,
    PostgresBase,
    TaskNames,
    parse_key,
    to_stored_task,
)
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.changes import ChangeRows, NewTaskRows
from a2a_runtime.stores.models import (
    ChangeResult,
    CreateResult,
    IdempotencyKey,
    LoggedEvent,
    NewTask,
    StoredTask,
    TaskChange,
    TaskPage,
    TaskQuery,
)

Arguments = tuple[object, ...]
"""Arguments of a statement, in the order of their numbers."""

_FIRST_PAGE = pagination.TaskPosition(1 << 62, str(UUID(int=(1 << 128) - 1)))  # after all keys
_PLAIN_INSERT = 19
_PLAIN_UPDATE = 21
"""Numbers of the arguments of the statements for what is plain."""
_MAX_ATTEMPTS = 16
"""Attempts of a write that no rule forbids, but that did not see all rows when it began."""


class WriteStamp(NamedTuple):
    """Time and mark of a write."""

    at: int
    mark: int


def to_insert_arguments(
    scope: TaskScope, new: NewTask, rows: NewTaskRows, mark: int, reusable_since: int | None
) -> Arguments:
    """Arrange the arguments of the statement ``create_task``, those of ``create_plain_task`` first.

    An older task that ended before ``reusable_since`` releases the wire id.
    """
    push = rows.push_config
    record = new.record
    return (
        rows.key,
        scope.to_text(),
        rows.wire_id,
        new.context_id,
        new.skill,
        new.dialect,
        INITIAL,
        rows.status,
        rows.created_millis,
        rows.metadata,
        new.process,
        rows.message,
        fragments.encode_task_event(rows.encode_task()),
        fragments.encode_names(new.hidden_skills),
        *(
            (None,) * 4
            if record is None
            else (record.kind, record.key, record.fingerprint, record.body)
        ),
        mark,
        reusable_since,
        *_to_idempotency_arguments(new.idempotency_key),
        *((None, None) if push is None else (push.id, push.to_json())),
        *(
            (None,)
            if new.deferral is None
            else (new.deferral.queue, JOB_NAME, new.deferral.priority)
        ),
    )


def to_update_arguments(
    key: str,
    scope: str,
    rows: ChangeRows,
    events: changes.EncodedEvents,
    stamp: WriteStamp,
    metadata: bytes | None,
) -> Arguments:
    """Arrange the arguments of the statement ``update_task``, those of ``update_plain_task``
    first.
    """
    change = rows.change
    states = changes.allowed_source_states(change)
    state = change.state
    deferral = change.deferral
    return (
        key,
        scope,
        state,
        rows.status,
        stamp.at,
        None if states is None else _join_states(states),
        change.expected_version,
        change.epoch,
        state is not None and lifecycle.is_terminal(state),
        None if state is None else lifecycle.is_active(state),
        change.release_claim,
        metadata,
        *_to_columns(
            4,
            [
                (row.chunk.artifact_id, row.replaces, row.chunk.facts, row.chunk.parts)
                for row in rows.chunks
            ],
        ),
        *_to_columns(2, events),
        change.process,
        change.number,
        stamp.mark,
        rows.messages or None,
        *_to_columns(
            4,
            [
                (record.kind, record.key, record.fingerprint, record.body)
                for record in change.records
            ],
        ),
        *_to_idempotency_arguments(change.idempotency_key),
        *(
            (None,)
            if deferral is None
            else (deferral.queue, JOB_NAME, deferral.priority, deferral.delay_seconds)
        ),
    )


def _to_columns(width: int, rows: Sequence[tuple[object, ...]]) -> Arguments:
    """Turn rows into arrays, one for each column; NULL if there are none, which is the common case
    and cheaper than empty arrays.
    """
    if rows:
        return tuple(map(list, zip(*rows, strict=True)))
    return (None,) * width


@lru_cache(maxsize=64)
def _join_states(states: frozenset[State]) -> str:
    return " ".join(states)


def _to_idempotency_arguments(key: IdempotencyKey | None) -> Arguments:
    if key is None:
        return (None, None, None)
    return (key.context_id, key.key, key.request_hash)


class PostgresTasks(PostgresBase):
    """Create, load, update and list tasks; read events."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one of its idempotency key."""
        reusable_since = None
        if new.wire_id is not None:
            reusable_since = self._options.cutoff_millis(self._options.wire_id_reuse_seconds)
        for _ in range(_MAX_ATTEMPTS):
            rows = changes.build_new_rows(new, self._ids.new(), self._ids, self._clock.millis())
            mark = self._ids.new_mark()
            try:
                row = await self._insert(
                    scope, new, to_insert_arguments(scope, new, rows, mark, reusable_since)
                )
            except asyncpg.UniqueViolationError as error:
                raise TaskIdInUseError(details={"task_id": rows.wire_id}) from error
            if row["tasks"]:
                self._cache_names(
                    rows.key,
                    TaskNames(scope.to_text(), rows.ids, has_webhooks=new.push_config is not None),
                )
                created = rows.build_result(scope, new, mark)
                self._recent_tasks.add(created.stored, rows)
                return created
            known = None
            if new.idempotency_key is not None:
                known = await self._find_idempotent_task(scope, new.idempotency_key)
            if known is not None and (tasks := await self._load_tasks([known["key"]])):
                return CreateResult(tasks[str(known["key"])], is_new=False)
        raise ConcurrencyError(
            f"The task of the idempotency key was deleted {_MAX_ATTEMPTS} times at the same "
            "time; send the request again"
        )

    async def _insert(self, scope: TaskScope, new: NewTask, arguments: Arguments) -> asyncpg.Record:
        """Insert a task; where their number is limited, those of a scope one after the other."""
        statement = SQL["create_task"]
        if new.deferral is not None:
            statement = SQL["create_deferred_task"]
        if new.max_open is None:
            if (new.wire_id, new.idempotency_key, new.push_config, new.deferral) == (None,) * 4:
                return await self._inserts.fetchrow(
                    SQL["create_plain_task"], *arguments[:_PLAIN_INSERT]
                )
            return await self._inserts.fetchrow(statement, *arguments)
        async with self._pool.transaction() as connection:
            await connection.execute(SQL["lock_scope"], scope.to_text())
            others = await connection.fetchval(
                SQL["count_open"], scope.to_text(), sorted(lifecycle.OPEN)
            )
            (row,) = await connection.fetch(statement, *arguments)
            if row["tasks"]:  # else it is a task that an idempotency key stands for
                changes.check_open_limit(others, new.max_open)
            return row

    async def _find_idempotent_task(
        self, scope: TaskScope, idempotency_key: IdempotencyKey
    ) -> asyncpg.Record | None:
        row = await self._pool.fetchrow(
            SQL["find_promise"], scope.to_text(), idempotency_key.context_id, idempotency_key.key
        )
        if row is not None:
            changes.check_same_request(idempotency_key, row["request_hash"])
        return row

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Load a task."""
        row = await self._loads.fetchrow(
            SQL["load_task"], history_length, include_artifacts, scope.to_text(), wire_id
        )
        if row["key"] is None:
            return None
        return await self._find_readable(to_stored_task(row))

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change to a task.

        If no rule forbids a change that the statement did not apply, it was sent too early: the
        clock is behind the last status of the task, or a push configuration was added at the same
        time. Then it is sent again.
        """
        names = await self._get_names(scope, key)
        stamp = WriteStamp(self._clock.millis(), self._ids.new_mark())
        for _ in range(_MAX_ATTEMPTS):
            planned = changes.build_change_rows(change, names.ids, stamp.at)
            events = planned.encode_events()
            row = await self._send_change(key, names, planned, events, stamp)
            if row is not None:
                before = State(row["state_before"])
                last_seq = row["last_seq"]
                numbered: Sequence[LoggedEvent] = ()
                if not row["had_ended"]:
                    before_seq = last_seq - len(events)
                    numbered = changes.number_events(events, before_seq, before, stamp.mark)
                return self._recent_tasks.attach_task(
                    key,
                    ChangeResult(row["version"], State(row["state"]), last_seq, numbered),
                    planned,
                    stamp.at,
                )
            if (
                change.idempotency_key is not None
                and (known := await self._find_idempotent_task(scope, change.idempotency_key))
                is not None
            ):
                return ChangeResult(
                    known["version"], State(known["state"]), known["last_seq"], is_new=False
                )
            head = await self._load_head(scope, key)
            if (repeated := changes.find_repeated(head, change)) is not None:
                return repeated
            changes.check_change(head, change)
            stamp = stamp._replace(at=max(self._clock.millis(), head.status_at))
        raise ConcurrencyError(
            f"The task was changed {_MAX_ATTEMPTS} times by other requests at the same time; "
            "try again"
        )

    async def _send_change(
        self,
        key: str,
        names: TaskNames,
        planned: ChangeRows,
        events: changes.EncodedEvents,
        stamp: WriteStamp,
    ) -> asyncpg.Record | None:
        """Send a change; ``None`` if it was not applied."""
        change = planned.change
        try:
            if not change.metadata:
                values = to_update_arguments(key, names.scope, planned, events, stamp, None)
                # This is rare enough for a round trip of its own.
                if change.deferral is not None:
                    return _row_if_changed(
                        await self._pool.fetchrow(SQL["update_deferred_task"], *values)
                    )
                if not (
                    change.messages
                    or change.records
                    or change.idempotency_key
                    or names.has_webhooks
                ):
                    row = _row_if_changed(
                        await self._updates.fetchrow(
                            SQL["update_plain_task"], *values[:_PLAIN_UPDATE]
                        )
                    )
                    if row is not None:
                        return row
                    # The task has webhooks, or a rule forbids the change.
                    self._cache_names(key, names._replace(has_webhooks=True))
                return _row_if_changed(await self._updates.fetchrow(SQL["update_task"], *values))
            async with self._pool.transaction() as connection:
                before = await connection.fetchval(SQL["lock_metadata"], key, names.scope)
                if before is None:
                    return None
                metadata = fragments.merge_object(before, change.metadata)
                values = to_update_arguments(key, names.scope, planned, events, stamp, metadata)
                statement = SQL["update_task"]
                if change.deferral is not None:
                    statement = SQL["update_deferred_task"]
                return _row_if_changed(await connection.fetchrow(statement, *values))
        except asyncpg.UniqueViolationError:
            # A concurrent change has inserted the same idempotency key, or the job of the task.
            return None

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        position = pagination.parse_task_token(query) or _FIRST_PAGE
        oldest = 0 if query.changed_after is None else to_millis(query.changed_after)
        states = [*State] if query.state is None else [query.state]
        where = (query.history_length, query.include_artifacts, scope.to_text())
        after = (position.at, position.key)
        page = (query.page_size + 1, sorted(query.hidden_skills))
        try:
            if query.context_id is None:
                active = [state for state in states if lifecycle.is_active(state)]
                statement = SQL["list_states"]
                if query.by_creation:
                    statement = SQL["list_states_by_creation"]
                found = await self._pool.fetch(
                    statement, *where, states, oldest, *after, query.is_plain, active, *page
                )
            else:
                statement = SQL["list_context"]
                if query.by_creation:
                    statement = SQL["list_context_by_creation"]
                found = await self._pool.fetch(
                    statement, *where, query.context_id, states, oldest, *after, *page
                )
        except asyncpg.DataError as error:
            if not query.page_token:
                raise
            raise pagination.invalid_token_error() from error
        total_size = found[0]["total"] if query.is_plain else position.total_size
        if total_size is None:
            total_size = await self._count_tasks(scope, query, states, oldest)
        rows = [row for row in found if row["key"] is not None]
        return pagination.build_task_page(
            query, rows, total_size, to_stored_task, lambda row: (row["status_at"], str(row["key"]))
        )

    async def _count_tasks(
        self, scope: TaskScope, query: TaskQuery, states: Sequence[State], oldest: int
    ) -> int:
        """Count the tasks of a list."""
        values: dict[str, object] = {"scope": scope.to_text(), "states": states, "oldest": oldest}
        section = "count_states"
        visible = "count_visible_states"
        if query.context_id is not None:
            section = "count_context"
            visible = "count_visible_context"
            values["context_id"] = query.context_id
        if query.hidden_skills:
            section = visible
            values["hidden"] = sorted(query.hidden_skills)
        (counted,) = await self._fetch(section, **values)
        total: int = counted["total"]
        return total

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        return await super().read_events(str(parse_key(key)), after, limit, mark=mark)


def _row_if_changed(row: asyncpg.Record | None) -> asyncpg.Record | None:
    if row is None or row["version"] is None:
        return None
    return row
