"""The arguments of the two statements that write tasks, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from a2a_contract.lifecycle import INITIAL
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.stores import plan
from a2a_runtime.stores.plan import ChangeRows, NewRows
from a2a_runtime.stores.postgres.rows import Names
from a2a_runtime.stores.values import Change, Idempotency, NewTask

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
    before = plan.states_before(change)
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
