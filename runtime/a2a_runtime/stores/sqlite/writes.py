"""Creating and changing a task, inside a transaction that somebody else has begun."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.ids import Ids
from a2a_runtime.stores import fragments, plan
from a2a_runtime.stores.options import StoreOptions
from a2a_runtime.stores.sqlite.base import load_by_key
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.values import Change, Created, Idempotency, NewTask, Written

_PLACES = 1 << 20  # more than the artifacts of one call


class Head(NamedTuple):
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


class Step(NamedTuple):
    """A change of a task, worked out."""

    key: str
    head: Head
    wanted: Change
    rows: plan.ChangeRows
    version: int
    at: int


def create(db: sqlite3.Connection, scope: Scope, new: NewTask, ids: Ids, options: StoreOptions) -> Created:
    """Create a task, or find the one that its idempotency key stands for."""
    if new.idempotency is not None:
        known = _promised(db, scope, new.idempotency)
        if known is not None:
            return Created(load_by_key(db, known), is_new=False)
    at = options.clock.millis()
    if new.wire_id is not None:
        _free_wire_id(db, scope, new.wire_id, at - round(options.wire_id_reuse * 1000))
    key, wire_id = ids.new(), new.wire_id or ids.new()
    rows = plan.new_rows(new, wire_id, at)
    row = {"key": key, "scope": scope.to_text(), "wire_id": wire_id, "context_id": new.context_id, "skill": new.skill, "dialect": new.dialect}
    run = {"state": INITIAL, "at": at, "epoch": 0 if new.process is None else 1, "process": new.process}
    db.execute(SQL["add_task"], {**row, **run, "status": rows.status, "metadata": rows.metadata})
    db.execute(SQL["add_message"], (key, 1, 0, at, rows.message))
    db.execute(SQL["add_event"], (key, 1, INITIAL, rows.event))
    if new.idempotency is not None:
        _promise(db, scope, new.idempotency, key)
    if new.record is not None:
        db.execute(SQL["put_record"], (key, 1, 0, new.record.kind, new.record.key, new.record.fingerprint, new.record.body))
    if new.push is not None:
        put_config(db, key, named(new.push, wire_id, ids), new.dialect)
        db.execute(SQL["post_event"], (1, key))
    return rows.created(scope, new, key, wire_id, at)


def change(db: sqlite3.Connection, scope: Scope, key: str, wanted: Change, options: StoreOptions) -> Written:
    """Change a task, or raise and leave what was written so far to be undone."""
    row = db.execute(SQL["head"], {"key": key, "scope": scope.to_text()}).fetchone()
    if row is None:
        raise TaskNotFoundError
    head = Head(*row)._replace(state=State(row["state"]))
    if wanted.idempotency is not None and _promised(db, scope, wanted.idempotency) is not None:
        return Written(head.version, head.state, (), is_new=False)
    plan.refuse(head, wanted)
    at = options.clock.millis()
    rows = plan.change_rows(wanted, head.wire_id, head.context_id, max(at, head.status_at))
    events = rows.numbered(head.last_seq, head.state)
    step = Step(key, head, wanted, rows, head.version + 1, at)
    _write_head(db, step, head.last_seq + len(events))
    _write_rows(db, step)
    db.executemany(SQL["add_event"], [(key, event.seq, event.state, event.body) for event in events])
    if wanted.idempotency is not None:
        _promise(db, scope, wanted.idempotency, key)
    if head.has_pushes:
        db.executemany(SQL["post_event"], [(event.seq, key) for event in events])
    return Written(step.version, wanted.state or head.state, tuple(events))


def _write_head(db: sqlite3.Connection, step: Step, last_seq: int) -> None:
    head, wanted = step.head, step.wanted
    metadata = fragments.merged(head.metadata, wanted.metadata) if wanted.metadata else head.metadata
    content = {"key": step.key, "metadata": metadata, "version": step.version, "last_seq": last_seq}
    if wanted.state is None:
        db.execute(SQL["change_content"], content)
        if wanted.release:
            db.execute(SQL["release"], {"key": step.key})
        return
    at = max(step.at, head.status_at)
    is_over = lifecycle.is_terminal(wanted.state)
    state = {
        "state": wanted.state,
        "active": lifecycle.is_active(wanted.state),
        "at": at,
        "ended_at": at if is_over else None,
        "status": step.rows.status,
    }
    db.execute(SQL["change_state"], {**content, **state, "process": None if is_over or wanted.release else head.process})


def _write_rows(db: sqlite3.Connection, step: Step) -> None:
    for n, row in enumerate(step.rows.chunks):
        place = {"key": step.key, "artifact_id": row.artifact_id, "version": step.version}
        db.execute(SQL["add_chunk"], {**place, "place": step.version * _PLACES + n, "facts": row.chunk.facts, "parts": row.chunk.parts})
        if row.replaces:
            db.execute(SQL["drop_older_chunks"], place)
    if step.rows.messages:
        db.executemany(SQL["add_message"], [(step.key, step.version, n, step.at, body) for n, body in enumerate(step.rows.messages)])
    if step.wanted.records:
        records = [(step.key, step.version, n, each.kind, each.key, each.fingerprint, each.body) for n, each in enumerate(step.wanted.records)]
        db.executemany(SQL["put_record"], records)


def named(config: TaskPushNotificationConfig, wire_id: str, ids: Ids) -> TaskPushNotificationConfig:
    """Give a push configuration the id of its task, and one of its own if it has none."""
    return config.model_copy(update={"id": config.id or ids.new(), "task_id": wire_id})


def put_config(db: sqlite3.Connection, key: str, config: TaskPushNotificationConfig, dialect: str) -> TaskPushNotificationConfig:
    """Add a push configuration to a task, or change the one of that id."""
    db.execute(SQL["put_config"], {"key": key, "config_id": config.id, "dialect": dialect, "body": config.to_json()})
    return config


def _promised(db: sqlite3.Connection, scope: Scope, promise: Idempotency) -> str | None:
    """Find the task that an idempotency key stands for."""
    name = {"scope": scope.to_text(), "context_id": promise.context_id, "name": promise.key}
    row = db.execute(SQL["find_promise"], name).fetchone()
    if row is None:
        return None
    plan.same_request(promise, row["request_hash"])
    return str(row["task_key"])


def _promise(db: sqlite3.Connection, scope: Scope, promise: Idempotency, key: str) -> None:
    name = {"scope": scope.to_text(), "context_id": promise.context_id, "name": promise.key}
    db.execute(SQL["add_promise"], {**name, "key": key, "request_hash": promise.request_hash})


def _free_wire_id(db: sqlite3.Connection, scope: Scope, wire_id: str, ended_by: int) -> None:
    """Refuse an id that a living task has, or one that ended a short while ago; take it from one that ended before."""
    holder = db.execute(SQL["holder_of_wire_id"], {"scope": scope.to_text(), "wire_id": wire_id}).fetchone()
    if holder is None:
        return
    if holder["ended_at"] is None or holder["ended_at"] > ended_by:
        raise TaskIdInUseError(details={"task_id": wire_id})
    db.execute(SQL["retire"], {"key": holder["key"]})
