"""Tasks and their events in SQLite: the hot path, one transaction for each call."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_contract.lifecycle import INITIAL, State
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_millis
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
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
from a2a_runtime.stores.sqlite.base import SqliteBase, load_by_key, load_stored_task
from a2a_runtime.stores.sqlite.connection import SQL

_PLACES_PER_VERSION = 1 << 20  # more than the artifacts of one call
_FIRST_PAGE = pagination.TaskPosition(1 << 62, "~")  # after all keys


@dataclass(frozen=True, slots=True)
class TaskWriting:
    """The tools of writes of tasks besides the connection; only the thread of the writer uses
    it.
    """

    ids: IdGenerator
    options: StoreOptions
    recent_tasks: changes.RecentTasks = field(default_factory=changes.RecentTasks)


def insert_task(
    db: sqlite3.Connection, scope: TaskScope, new: NewTask, writing: TaskWriting
) -> CreateResult:
    """Create a task, or find the one of its idempotency key."""
    ids = writing.ids
    options = writing.options
    if new.idempotency_key is not None:
        existing = _find_idempotent_task(db, scope, new.idempotency_key)
        if existing is not None:
            return CreateResult(load_by_key(db, existing), is_new=False)
    if new.max_open is not None:
        changes.check_open_limit(_count_open(db, scope), new.max_open)
    now = options.clock.millis()
    if new.wire_id is not None:
        _release_wire_id(
            db, scope, new.wire_id, options.cutoff_millis(options.wire_id_reuse_seconds)
        )
    rows = changes.build_new_rows(new, ids.new(), ids, now)
    key = rows.key
    mark = ids.new_mark()
    db.execute(
        SQL["add_task"],
        (
            key,
            scope.to_text(),
            rows.wire_id,
            new.context_id,
            new.skill,
            new.dialect,
            INITIAL,
            now,
            rows.status,
            rows.metadata,
            0 if new.process is None else 1,
            new.process,
            fragments.encode_names(new.hidden_skills),
            mark,
        ),
    )
    db.execute(SQL["add_message"], (key, 1, 0, now, rows.message))
    db.execute(
        SQL["add_event"], (key, 1, INITIAL, fragments.encode_task_event(rows.encode_task()), mark)
    )
    if new.idempotency_key is not None:
        _insert_idempotency_key(db, scope, new.idempotency_key, key)
    if new.record is not None:
        db.execute(
            SQL["put_record"],
            (key, 1, 0, new.record.kind, new.record.key, new.record.fingerprint, new.record.body),
        )
    if rows.push_config is not None:
        config = {"config_id": rows.push_config.id, "body": rows.push_config.to_json()}
        db.execute(SQL["put_config"], {"key": key, "dialect": new.dialect, **config})
        db.execute(SQL["post_event"], (1, key))
    created = rows.build_result(scope, new, mark)
    writing.recent_tasks.add(created.stored, rows)
    return created


def _count_open(db: sqlite3.Connection, scope: TaskScope) -> int:
    """Count the tasks of a scope that have not ended."""
    counted = 0
    for state in lifecycle.OPEN:
        where = {"scope": scope.to_text(), "state": state, "oldest": 0}
        counted += db.execute(SQL["count_of_state"], where).fetchone()[0]
    return counted


def apply_change(
    db: sqlite3.Connection, scope: TaskScope, key: str, change: TaskChange, writing: TaskWriting
) -> ChangeResult:
    """Apply a change to a task, or raise; the caller rolls back."""
    task = db.execute(SQL["load_head"], (key, scope.to_text())).fetchone()
    if task is None:
        raise TaskNotFoundError
    head = fragments.to_task_head(task)
    if (
        change.idempotency_key is not None
        and _find_idempotent_task(db, scope, change.idempotency_key) is not None
    ):
        return ChangeResult(head.version, head.state, task["last_seq"], is_new=False)
    if (repeated := changes.find_repeated(head, change)) is not None:
        return repeated
    changes.check_change(head, change)
    at = max(writing.options.clock.millis(), head.status_at)
    rows = changes.build_change_rows(
        change, fragments.join_ids(task["wire_id"], task["context_id"]), at
    )
    mark = writing.ids.new_mark()
    events = changes.number_events(rows.encode_events(), task["last_seq"], head.state, mark)
    last_seq = task["last_seq"] + len(events)
    _update_task(db, task, rows, events, at)
    if change.state is not None and change.state is not head.state:
        moved = ((change.state, 1), (head.state, -1))
        db.executemany(
            SQL["add_to_total"],
            [
                (scope.to_text(), state, number)
                for state, number in moved
                if not lifecycle.is_active(state)
            ],
        )
    _insert_rows(db, task, change, rows, at)
    db.executemany(
        SQL["add_event"], [(key, event.seq, event.state, event.body, mark) for event in events]
    )
    if change.idempotency_key is not None:
        _insert_idempotency_key(db, scope, change.idempotency_key, key)
    if task["has_pushes"]:
        db.executemany(SQL["post_event"], [(event.seq, key) for event in events])
    result = ChangeResult(head.version + 1, change.state or head.state, last_seq, events)
    return writing.recent_tasks.attach_task(key, result, rows, at)


def _update_task(
    db: sqlite3.Connection,
    task: sqlite3.Row,
    rows: changes.ChangeRows,
    events: Sequence[LoggedEvent],
    at: int,
) -> None:
    change = rows.change
    metadata = task["metadata"]
    if change.metadata:
        metadata = fragments.merge_object(metadata, change.metadata)
    writes = task["writes"] if change.number is None else change.number
    last_seq = task["last_seq"]
    mark = task["mark"]
    if events:
        last_seq = events[-1].seq
        mark = events[-1].mark
    content = (metadata, task["version"] + 1, last_seq, writes, mark, task["key"])
    if change.state is None:
        db.execute(SQL["change_content"], content)
        if change.release_claim:
            db.execute(SQL["release"], {"key": task["key"]})
        return
    has_ended = lifecycle.is_terminal(change.state)
    process = None if has_ended or change.release_claim else task["process"]
    is_active = lifecycle.is_active(change.state) or (
        bool(task["cancel_requested"]) and not has_ended
    )
    ended_at = at if has_ended else None
    db.execute(
        SQL["change_state"],
        (change.state, is_active, at, ended_at, rows.status, process, *content),
    )


def _insert_rows(
    db: sqlite3.Connection, task: sqlite3.Row, change: TaskChange, rows: changes.ChangeRows, at: int
) -> None:
    key = task["key"]
    version = task["version"] + 1
    for n, row in enumerate(rows.chunks):
        chunk = (key, row.artifact_id, version)
        place = version * _PLACES_PER_VERSION + n
        db.execute(
            SQL["add_chunk"],
            (*chunk, key, row.artifact_id, place, row.chunk.facts, row.chunk.parts),
        )
        # The first change of a task finds no chunks.
        if row.replaces and version > changes.FIRST_CHANGE_VERSION:
            db.execute(SQL["drop_older_chunks"], chunk)
    if rows.messages:
        db.executemany(
            SQL["add_message"],
            [(key, version, n, at, body) for n, body in enumerate(rows.messages)],
        )
    if change.records:
        records = [
            (key, version, n, each.kind, each.key, each.fingerprint, each.body)
            for n, each in enumerate(change.records)
        ]
        db.executemany(SQL["put_record"], records)


def _find_idempotent_task(
    db: sqlite3.Connection, scope: TaskScope, key: IdempotencyKey
) -> str | None:
    """Return the key of the task that an idempotency key belongs to."""
    row = db.execute(
        SQL["find_promise"],
        {"scope": scope.to_text(), "context_id": key.context_id, "name": key.key},
    ).fetchone()
    if row is None:
        return None
    changes.check_same_request(key, row["request_hash"])
    return str(row["task_key"])


def _insert_idempotency_key(
    db: sqlite3.Connection, scope: TaskScope, key: IdempotencyKey, task_key: str
) -> None:
    name = {"scope": scope.to_text(), "context_id": key.context_id, "name": key.key}
    db.execute(SQL["add_promise"], {**name, "key": task_key, "request_hash": key.request_hash})


def _release_wire_id(db: sqlite3.Connection, scope: TaskScope, wire_id: str, ended_by: int) -> None:
    """Take a wire id from a task that ended before ``ended_by``; raise ``TaskIdInUseError`` for any
    other task that has it.
    """
    holder = db.execute(
        SQL["holder_of_wire_id"], {"scope": scope.to_text(), "wire_id": wire_id}
    ).fetchone()
    if holder is None:
        return
    if holder["ended_at"] is None or holder["ended_at"] > ended_by:
        raise TaskIdInUseError(details={"task_id": wire_id})
    db.execute(SQL["retire"], {"key": holder["key"]})
    db.execute(SQL["add_to_total"], (scope.to_text(), holder["state"], -1))


class SqliteTasks(SqliteBase):
    """Create, load, update and list tasks; read events."""

    def __init__(self, path: str | Path, options: StoreOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(path, options)
        self._writing = TaskWriting(self._ids, options)

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one of its idempotency key."""
        return await self._write(lambda db: insert_task(db, scope, new, self._writing))

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change to a task."""
        return await self._write(lambda db: apply_change(db, scope, key, change, self._writing))

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Load a task."""

        def load(db: sqlite3.Connection) -> StoredTask | None:
            row = db.execute(
                SQL["load_by_wire_id"], {"scope": scope.to_text(), "wire_id": wire_id}
            ).fetchone()
            if row is None:
                return None
            return load_stored_task(db, row, history_length, include_artifacts=include_artifacts)

        return await self._find_readable(await self._read(load))

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        at, key, total_size = pagination.parse_task_token(query) or _FIRST_PAGE
        oldest = 0 if query.changed_after is None else to_millis(query.changed_after)
        states = [*State] if query.state is None else [query.state]
        where = {
            "scope": scope.to_text(),
            "context_id": query.context_id,
            "oldest": oldest,
            "at": at,
            "key": key,
            "hidden": json.dumps(sorted(query.hidden_skills)),
        }
        if not query.is_plain and total_size is None:
            total_size = await self._require_open(self._counter).run(
                partial(_count_tasks, query=query, where=where, states=states)
            )

        def page(db: sqlite3.Connection) -> TaskPage:
            section = _find_page_section(query)
            each = states if query.context_id is None else [query.state]
            limit = query.page_size + 1
            rows: list[sqlite3.Row] = []
            for state in each:
                rows += db.execute(SQL[section], {**where, "state": state, "limit": limit})
            order = itemgetter("key") if query.by_creation else _GET_POSITION
            found = sorted(rows, key=order, reverse=True)[:limit]
            total = _sum_totals(db, where, states) if total_size is None else total_size
            return pagination.build_task_page(
                query, found, total, partial(_load_listed, db, query=query), _GET_POSITION
            )

        return await self._require_open(self._lister).run(page)


_GET_POSITION = itemgetter("status_at", "key")


def _find_page_section(query: TaskQuery) -> str:
    """Find the statement for a page of a list."""
    if query.context_id is not None:
        if query.by_creation:
            return "page_of_context_by_creation"
        return "page_of_context"
    if query.by_creation:
        return "page_of_state_by_creation"
    if query.hidden_skills:
        return "page_of_visible_state"
    return "page_of_state"


def _load_listed(db: sqlite3.Connection, position: sqlite3.Row, query: TaskQuery) -> StoredTask:
    row = db.execute(SQL["load_by_key"], {"key": position["key"]}).fetchone()
    return load_stored_task(
        db, row, query.history_length, include_artifacts=query.include_artifacts
    )


def _sum_totals(
    db: sqlite3.Connection, where: Mapping[str, object], states: Sequence[State]
) -> int:
    """Sum the kept totals, and count the active tasks."""
    total = 0
    for state in states:
        section = "count_of_state" if lifecycle.is_active(state) else "total_of_state"
        total += db.execute(SQL[section], {**where, "state": state}).fetchone()[0]
    return total


def _count_tasks(
    db: sqlite3.Connection, query: TaskQuery, where: Mapping[str, object], states: Sequence[State]
) -> int:
    """Count tasks by their index, which takes as long as they are many."""
    if query.context_id is not None:
        return int(
            db.execute(SQL["count_of_context"], {**where, "state": query.state}).fetchone()[0]
        )
    section = "count_of_visible_state" if query.hidden_skills else "count_of_state"
    return sum(
        [db.execute(SQL[section], {**where, "state": state}).fetchone()[0] for state in states]
    )
