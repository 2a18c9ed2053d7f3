"""Tasks and their events in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_millis
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.ids import IdGenerator
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import ChangeResult, CreateResult, IdempotencyKey, LoggedEvent, NewTask, StoredTask, TaskChange, TaskPage, TaskQuery
from a2a_runtime.stores.sqlite.base import SqliteBase, find_task, load_by_key, load_stored_task
from a2a_runtime.stores.sqlite.connection import SQL

# Creating and changing a task, inside a transaction that somebody else has begun.

_PLACES_PER_VERSION = 1 << 20  # more than the artifacts of one call


class SqliteTaskHead(NamedTuple):
    """What a change has to know of a task."""

    wire_id: str
    context_id: str
    state: State
    status_at: int
    metadata: bytes
    version: int
    last_seq: int
    epoch: int
    process: str | None
    has_pushes: bool


class PlannedChange(NamedTuple):
    """A change of a task, worked out."""

    key: str
    head: SqliteTaskHead
    change: TaskChange
    rows: changes.ChangeRows
    version: int
    now_millis: int


def insert_task(db: sqlite3.Connection, scope: TaskScope, new: NewTask, ids: IdGenerator, options: StoreOptions) -> CreateResult:
    """Create a task, or find the one that its idempotency key stands for."""
    if new.idempotency_key is not None:
        known = _find_idempotent_task(db, scope, new.idempotency_key)
        if known is not None:
            return CreateResult(load_by_key(db, known), is_new=False)
    at = options.clock.millis()
    if new.wire_id is not None:
        _release_wire_id(db, scope, new.wire_id, at - round(options.wire_id_reuse_seconds * 1000))
    key, wire_id = ids.new(), new.wire_id or ids.new()
    rows = changes.build_new_rows(new, wire_id, at)
    row = {"key": key, "scope": scope.to_text(), "wire_id": wire_id, "context_id": new.context_id, "skill": new.skill, "dialect": new.dialect}
    run = {"state": INITIAL, "at": at, "epoch": 0 if new.process is None else 1, "process": new.process}
    db.execute(SQL["add_task"], {**row, **run, "status": rows.status, "metadata": rows.metadata})
    db.execute(SQL["add_message"], (key, 1, 0, at, rows.message))
    db.execute(SQL["add_event"], (key, 1, INITIAL, rows.event))
    if new.idempotency_key is not None:
        _insert_idempotency_key(db, scope, new.idempotency_key, key)
    if new.record is not None:
        db.execute(SQL["put_record"], (key, 1, 0, new.record.kind, new.record.key, new.record.fingerprint, new.record.body))
    if new.push_config is not None:
        put_config(db, key, assign_ids(new.push_config, wire_id, ids), new.dialect)
        db.execute(SQL["post_event"], (1, key))
    return rows.build_result(scope, new, key, wire_id, at)


def apply_change(db: sqlite3.Connection, scope: TaskScope, key: str, change: TaskChange, options: StoreOptions) -> ChangeResult:
    """Change a task, or raise and leave what was written so far to be undone."""
    row = db.execute(SQL["head"], {"key": key, "scope": scope.to_text()}).fetchone()
    if row is None:
        raise TaskNotFoundError
    head = SqliteTaskHead(*row)._replace(state=State(row["state"]))
    if change.idempotency_key is not None and _find_idempotent_task(db, scope, change.idempotency_key) is not None:
        return ChangeResult(head.version, head.state, (), is_new=False)
    changes.check_change(head, change)
    at = options.clock.millis()
    rows = changes.build_change_rows(change, head.wire_id, head.context_id, max(at, head.status_at))
    events = rows.number_events(head.last_seq, head.state)
    step = PlannedChange(key, head, change, rows, head.version + 1, at)
    _update_head(db, step, head.last_seq + len(events))
    _insert_rows(db, step)
    db.executemany(SQL["add_event"], [(key, event.seq, event.state, event.body) for event in events])
    if change.idempotency_key is not None:
        _insert_idempotency_key(db, scope, change.idempotency_key, key)
    if head.has_pushes:
        db.executemany(SQL["post_event"], [(event.seq, key) for event in events])
    return ChangeResult(step.version, change.state or head.state, tuple(events))


def _update_head(db: sqlite3.Connection, step: PlannedChange, last_seq: int) -> None:
    head, wanted = step.head, step.change
    metadata = fragments.merge_object(head.metadata, wanted.metadata) if wanted.metadata else head.metadata
    content = {"key": step.key, "metadata": metadata, "version": step.version, "last_seq": last_seq}
    if wanted.state is None:
        db.execute(SQL["change_content"], content)
        if wanted.release_claim:
            db.execute(SQL["release"], {"key": step.key})
        return
    at = max(step.now_millis, head.status_at)
    is_over = lifecycle.is_terminal(wanted.state)
    state = {
        "state": wanted.state,
        "active": lifecycle.is_active(wanted.state),
        "at": at,
        "ended_at": at if is_over else None,
        "status": step.rows.status,
    }
    db.execute(SQL["change_state"], {**content, **state, "process": None if is_over or wanted.release_claim else head.process})


def _insert_rows(db: sqlite3.Connection, step: PlannedChange) -> None:
    for n, row in enumerate(step.rows.chunks):
        place = {"key": step.key, "artifact_id": row.artifact_id, "version": step.version}
        db.execute(SQL["add_chunk"], {**place, "place": step.version * _PLACES_PER_VERSION + n, "facts": row.chunk.facts, "parts": row.chunk.parts})
        if row.replaces:
            db.execute(SQL["drop_older_chunks"], place)
    if step.rows.messages:
        db.executemany(SQL["add_message"], [(step.key, step.version, n, step.now_millis, body) for n, body in enumerate(step.rows.messages)])
    if step.change.records:
        records = [(step.key, step.version, n, each.kind, each.key, each.fingerprint, each.body) for n, each in enumerate(step.change.records)]
        db.executemany(SQL["put_record"], records)


def assign_ids(config: TaskPushNotificationConfig, wire_id: str, ids: IdGenerator) -> TaskPushNotificationConfig:
    """Give a push configuration the id of its task, and one of its own if it has none."""
    return config.model_copy(update={"id": config.id or ids.new(), "task_id": wire_id})


def put_config(db: sqlite3.Connection, key: str, config: TaskPushNotificationConfig, dialect: str) -> TaskPushNotificationConfig:
    """Add a push configuration to a task, or change the one of that id."""
    db.execute(SQL["put_config"], {"key": key, "config_id": config.id, "dialect": dialect, "body": config.to_json()})
    return config


def _find_idempotent_task(db: sqlite3.Connection, scope: TaskScope, promise: IdempotencyKey) -> str | None:
    """Find the task that an idempotency key stands for."""
    name = {"scope": scope.to_text(), "context_id": promise.context_id, "name": promise.key}
    row = db.execute(SQL["find_promise"], name).fetchone()
    if row is None:
        return None
    changes.check_same_request(promise, row["request_hash"])
    return str(row["task_key"])


def _insert_idempotency_key(db: sqlite3.Connection, scope: TaskScope, promise: IdempotencyKey, key: str) -> None:
    name = {"scope": scope.to_text(), "context_id": promise.context_id, "name": promise.key}
    db.execute(SQL["add_promise"], {**name, "key": key, "request_hash": promise.request_hash})


def _release_wire_id(db: sqlite3.Connection, scope: TaskScope, wire_id: str, ended_by: int) -> None:
    """Refuse an id that a living task has, or one that ended a short while ago; take it from one that ended before."""
    holder = db.execute(SQL["holder_of_wire_id"], {"scope": scope.to_text(), "wire_id": wire_id}).fetchone()
    if holder is None:
        return
    if holder["ended_at"] is None or holder["ended_at"] > ended_by:
        raise TaskIdInUseError(details={"task_id": wire_id})
    db.execute(SQL["retire"], {"key": holder["key"]})


_FIRST_PAGE = (1 << 62, "")


class SqliteTasks(SqliteBase):
    """Creates, reads, changes, lists and deletes tasks; reads their events."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one that its idempotency key stands for."""
        return await self._write(lambda db: insert_task(db, scope, new, self._ids, self._options))

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task, or refuse to."""
        return await self._write(lambda db: apply_change(db, scope, key, change, self._options))

    async def load_task(
        self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> StoredTask | None:
        """Read a task."""

        def load(db: sqlite3.Connection) -> StoredTask | None:
            row = find_task(db, scope, wire_id)
            return None if row is None else load_stored_task(db, row, history_length, include_artifacts=include_artifacts)

        return await self._read(load)

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Say at which version a task is."""

        def version(db: sqlite3.Connection) -> int | None:
            row = db.execute(SQL["version_of"], {"scope": scope.to_text(), "wire_id": wire_id}).fetchone()
            return None if row is None else int(row["version"])

        return await self._read(version)

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        at, key = pagination.parse_task_token(query) or _FIRST_PAGE
        oldest = 0 if query.changed_after is None else to_millis(query.changed_after)
        where = {"scope": scope.to_text(), "context_id": query.context_id, "state": query.state, "oldest": oldest, "at": at, "key": key}
        kind = "context" if query.context_id is not None else "state" if query.state is not None else "all"

        def page(db: sqlite3.Connection) -> TaskPage:
            rows = db.execute(SQL[f"page_of_{kind}"], {**where, "limit": query.page_size + 1}).fetchall()
            shown = rows[: query.page_size]
            return TaskPage(
                tasks=[load_stored_task(db, row, query.history_length, include_artifacts=query.include_artifacts) for row in shown],
                next_page_token=pagination.encode_task_token(query, shown[-1]["status_at"], shown[-1]["key"]) if len(rows) > len(shown) else "",
                total_size=db.execute(SQL[f"count_of_{kind}"], where).fetchone()[0],
            )

        return await self._read(page)

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
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
