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
from a2a_runtime.caller import Scope
from a2a_runtime.clock import millis_of
from a2a_runtime.errors import ConcurrencyError, EventsGoneError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.changes import ChangeRows, NewRows
from a2a_runtime.stores.models import Change, Created, Idempotency, LoggedEvent, NewTask, StoredTask, TaskPage, TaskQuery, Written
from a2a_runtime.stores.postgres import base
from a2a_runtime.stores.postgres.base import SQL, Names, PostgresBase, uuid_of

# The arguments of the two statements that write tasks, in the order of their numbers.

Arguments = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Birth:
    """A task that is to be created: its request and everything that was worked out from it."""

    key: str
    names: Names
    at: int
    new: NewTask
    rows: NewRows
    push: TaskPushNotificationConfig | None
    reusable_since: int | None  # for a wire id that the client chose: when the task that had it must have ended


def of_birth(birth: Birth) -> Arguments:
    """Arrange the arguments of ``create_task``."""
    new, names, rows, push, record = birth.new, birth.names, birth.rows, birth.push, birth.new.record
    return (
        UUID(birth.key),
        names.scope,
        names.wire_id,
        names.context_id,
        new.skill,
        new.dialect,
        INITIAL,
        rows.status,
        birth.at,
        rows.metadata,
        new.process,
        rows.message,
        rows.event,
        birth.reusable_since,
        *_of_promise(new.idempotency),
        *((None, None) if push is None else (push.id, push.to_json())),
        *((None,) * 4 if record is None else (record.kind, record.key, record.fingerprint, record.body)),
    )


def of_change(key: UUID, scope: str, change: Change, rows: ChangeRows, *, at: int, metadata: bytes | None) -> Arguments:
    """Arrange the arguments of ``update_task``."""
    before = changes.states_before(change)
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
        change.release,
        metadata,
        *_columns(4, [(row.artifact_id, row.replaces, row.chunk.facts, row.chunk.parts) for row in rows.chunks]),
        rows.messages or None,
        *_columns(2, rows.events),
        *_columns(4, [(record.kind, record.key, record.fingerprint, record.body) for record in change.records]),
        *_of_promise(change.idempotency),
    )


def _columns(width: int, lines: Sequence[tuple[object, ...]]) -> Arguments:
    """Turn rows into arrays, one for each column; none is cheaper than an empty one, and most writes have none of most kinds."""
    return tuple(map(list, zip(*lines, strict=True))) if lines else (None,) * width


def _of_promise(promise: Idempotency | None) -> Arguments:
    return (None, None, None) if promise is None else (promise.context_id, promise.key, promise.request_hash)


_TRIES = 16  # of a write that nothing speaks against, but that saw less than it has to when it began


class PostgresTasks(PostgresBase):
    """Creates, reads, changes, lists and deletes tasks; reads their events."""

    async def create_task(self, scope: Scope, new: NewTask) -> Created:
        """Create a task, or find the one that its idempotency key stands for."""
        for _ in range(_TRIES):
            birth = self._birth(scope, new)
            try:
                with self._in_doubt(new.process, UUID(birth.key)):
                    row = await self._births.row(*of_birth(birth))
            except asyncpg.UniqueViolationError as error:
                raise TaskIdInUseError(details={"task_id": birth.names.wire_id}) from error
            if row["tasks"]:
                self._remember(birth.key, birth.names)
                created = birth.rows.created(scope, new, birth.key, birth.names.wire_id, birth.at)
                self._newborns.add(created.stored, birth.rows)
                return created
            known = None if new.idempotency is None else await self._promised(scope, new.idempotency)
            if known is not None and (stored := (await self._load([known["key"]])).get(str(known["key"]))) is not None:
                return Created(stored, is_new=False)
        raise ConcurrencyError(f"The task of an idempotency key came and went {_TRIES} times; send the request again")

    def _birth(self, scope: Scope, new: NewTask) -> Birth:
        at = self._clock.millis()
        names = Names(scope.to_text(), new.wire_id or self._ids.new(), new.context_id)
        push = new.push and new.push.model_copy(update={"id": new.push.id or self._ids.new(), "task_id": names.wire_id})
        reusable_since = None if new.wire_id is None else self._options.expired(self._options.wire_id_reuse)
        return Birth(self._ids.new(), names, at, new, changes.new_rows(new, names.wire_id, at), push, reusable_since)

    async def _promised(self, scope: Scope, promise: Idempotency) -> asyncpg.Record | None:
        """Find the task of an idempotency key."""
        known = await self._pool.row(SQL["find_promise"], scope.to_text(), promise.context_id, promise.key)
        if known is not None:
            changes.same_request(promise, known["request_hash"])
        return known

    async def load_task(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask | None:
        """Read a task."""
        row = await self._looks.row(history_length, include_artifacts, scope.to_text(), wire_id)
        return None if row["key"] is None else base.stored(row)

    async def get_version(self, scope: Scope, wire_id: str) -> int | None:
        """Say at which version a task is."""
        row = await self._pool.row(SQL["get_version"], scope.to_text(), wire_id)
        return None if row is None else int(row["version"])

    async def update_task(self, scope: Scope, key: str, change: Change) -> Written:
        """Change a task, or refuse to.

        The statement is sent as if nothing spoke against it; only when it changed nothing, a second look says why. It may also have been too early:
        the clock is behind the last status of the task, or a push configuration has come in between. Then it is sent again.
        """
        names = await self._names_of(scope, key)
        at = self._clock.millis()
        for _ in range(_TRIES):
            planned = changes.change_rows(change, names.wire_id, names.context_id, at)
            row = await self._write(uuid_of(key), names, change, planned, at)
            if row is not None:
                before, last_seq = State(row["state_before"]), row["last_seq"]
                events = [] if row["had_ended"] else planned.numbered(last_seq - len(planned.events), before)
                return self._newborns.told(key, Written(row["version"], State(row["state"]), tuple(events)), change, planned, at)
            if change.idempotency is not None and (known := await self._promised(scope, change.idempotency)) is not None:
                return Written(known["version"], State(known["state"]), (), is_new=False)
            head = await self._head(scope, key)
            changes.refuse(head, change)
            at = max(self._clock.millis(), head.status_at)
        raise ConcurrencyError(f"Others changed the task {_TRIES} times at the same moment; try again")

    async def _write(self, key: UUID, names: Names, change: Change, planned: ChangeRows, at: int) -> asyncpg.Record | None:
        """Send a change; ``None`` when it was not made."""
        try:
            if not change.metadata:
                values = of_change(key, names.scope, change, planned, at=at, metadata=None)
                return _made(await self._changes.row(*values))
            async with self._pool.transaction() as connection:
                before = await connection.fetchval(SQL["lock_metadata"], key, names.scope)
                if before is None:
                    return None
                values = of_change(key, names.scope, change, planned, at=at, metadata=fragments.merged(before, change.metadata))
                return _made(await connection.fetchrow(SQL["update_task"], *values))
        except asyncpg.UniqueViolationError:
            return None  # somebody has made the same promise at the same moment

    async def list_tasks(self, scope: Scope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        at, key = pagination.task_place(query) or (None, None)
        after = None if query.changed_after is None else millis_of(query.changed_after)
        try:
            found = await self._pool.rows(
                SQL["list_tasks"],
                *(query.history_length, query.include_artifacts),
                *(scope.to_text(), query.context_id, query.state, after),
                *(at, key, query.page_size + 1),
            )
        except asyncpg.DataError as error:
            if at is None:  # nobody has sent a token that could be wrong
                raise
            raise pagination.invalid("pageToken", "is not one that this agent has given out") from error
        tasks = [base.stored(row) for row in found[: query.page_size] if row["key"] is not None]
        more = len(found) > query.page_size
        token = pagination.task_token(query, millis_of(tasks[-1].updated_at), tasks[-1].key) if more else ""
        return TaskPage(tasks, token, found[0]["total"])

    async def delete_task(self, scope: Scope, wire_id: str) -> bool:
        """Delete a task with all that hangs on it."""
        async with self._pool.transaction() as connection:
            keys = [row["key"] for row in await connection.fetch(SQL["lock_task"], scope.to_text(), wire_id)]
            await connection.execute(SQL["delete_tasks"], keys)
        return bool(keys)

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        found = await self._pool.rows(SQL["read_events"], uuid_of(key), after, limit)
        if not found:
            raise TaskNotFoundError
        first, last_seq = found[0]["seq"], found[0]["last_seq"]
        if after < last_seq and first != after + 1:
            raise EventsGoneError
        return [] if first is None else [base.event(row) for row in found]


def _made(row: asyncpg.Record | None) -> asyncpg.Record | None:
    return None if row is None or row["version"] is None else row
