"""Rules and rows of a call, computed before anything is written: pure, and the same for every store.

``check_change`` holds every rule about changes; ``build_new_rows`` and ``build_change_rows`` turn the arguments of a call into rows. A store numbers
them under the lock of the task's row and writes them. A store that checks the rules in the condition of a statement gets them from
``allowed_source_states``, and calls ``check_change`` afterwards to find the reason why the statement changed nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from a2a_contract.base import Encoded
from a2a_contract.errors import IdempotencyConflictError, InvalidParamsError, PermissionDeniedError, RateLimitedError
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Task, TaskPushNotificationConfig
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.errors import ConcurrencyError, FencedError, TaskStateError, TaskTerminalError
from a2a_runtime.ids import IdGenerator
from a2a_runtime.stores import fragments
from a2a_runtime.stores.models import (
    ChangeResult,
    Chunk,
    ChunkWrite,
    CreateResult,
    IdempotencyKey,
    LoggedEvent,
    NewTask,
    StoredTask,
    TaskChange,
    TaskHead,
)

_MAX_RECENT_TASKS = 1_000
_FIRST_CHANGE_VERSION = 2


class ChunkRow(Struct, frozen=True):
    """A chunk that continues an artifact or replaces it."""

    chunk: Chunk
    replaces: bool
    artifact: bytes  # of this chunk alone

    @property
    def artifact_id(self) -> str:
        """The id of the artifact."""
        return self.chunk.artifact_id


class NewTaskRows(Struct, frozen=True):
    """The first rows of a task in its initial state."""

    key: str
    wire_id: str
    created_millis: int
    ids: bytes
    status: bytes
    message: bytes
    metadata: bytes
    task: bytes
    event: bytes
    push_config: TaskPushNotificationConfig | None

    def build_result(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Build the task from these rows, without reading it back."""
        stored = build_first_version(scope, new, key=self.key, wire_id=self.wire_id, task=self.task, millis=self.created_millis)
        return CreateResult(stored, is_new=True, events=(LoggedEvent(1, self.event, INITIAL),))


def build_first_version(scope: TaskScope, new: NewTask, *, key: str, wire_id: str, task: bytes, millis: int) -> StoredTask:
    """Build the task as it is when it is created."""
    return StoredTask(
        key=key,
        wire_id=wire_id,
        context_id=new.context_id,
        scope=scope,
        skill=new.skill,
        dialect=new.dialect,
        state=INITIAL,
        version=1,
        last_seq=1,
        epoch=0 if new.process is None else 1,
        process=new.process,
        cancel_requested=False,
        status_at=millis,
        task=Encoded(Task, task),
        hidden_skills=tuple(new.hidden_skills),
    )


class ChangeRows(Struct, frozen=True):
    """The rows of a change. An event without a state keeps that of the task."""

    status: bytes | None
    chunks: Sequence[ChunkRow]
    messages: Sequence[bytes]
    events: Sequence[tuple[bytes, State | None]]

    def number_events(self, last_seq: int, previous_state: State) -> list[LoggedEvent]:
        """Number the events after the last one of the task; none after its end."""
        if previous_state in lifecycle.TERMINAL:
            return []
        return [LoggedEvent(seq, body, state or previous_state) for seq, (body, state) in enumerate(self.events, last_seq + 1)]


def allowed_source_states(change: TaskChange) -> frozenset[State] | None:
    """Return the states of a task in which this change is allowed; ``None`` for any."""
    if change.state is None:
        return change.expected_states
    allowed = lifecycle.predecessors(change.state)
    return allowed if change.expected_states is None else allowed & change.expected_states


def check_change(head: TaskHead, change: TaskChange) -> None:
    """Raise the error of the first rule that forbids a change."""
    if change.state is not None and head.state in lifecycle.TERMINAL:
        raise TaskTerminalError(f"The task has ended ({head.state.name}) and cannot become {change.state.name}")
    if change.epoch is not None and (change.epoch != head.epoch or head.process is None):
        raise FencedError(f"Run {change.epoch} of the task is over; the latest is {head.epoch}")
    if change.expected_version not in {None, head.version}:
        raise ConcurrencyError(f"The task is at version {head.version}, not {change.expected_version}")
    if change.expected_states is not None and head.state not in change.expected_states:
        raise ConcurrencyError(f"The task is {head.state.name}, not {' or '.join(sorted(state.name for state in change.expected_states))}")
    if change.state is not None and not lifecycle.can_follow(change.state, head.state):
        raise TaskStateError(f"A task that is {head.state.name} cannot become {change.state.name}")


def check_same_request(idempotency_key: IdempotencyKey, request_hash: bytes) -> None:
    """Raise ``IdempotencyConflictError`` if the key was used before for another request."""
    if idempotency_key.request_hash != request_hash:
        raise IdempotencyConflictError


def check_context_written(is_written: object) -> None:
    """Raise ``PermissionDeniedError`` if the data of a conversation was not written because its writer may not read it."""
    if not is_written:
        raise PermissionDeniedError("The state of this conversation was written by a skill that the caller may not use; begin another conversation")


def check_webhook_limit(other_count: int, max_webhooks: int | None) -> None:
    """Raise ``InvalidParamsError`` if a task would get more webhooks than allowed."""
    if max_webhooks is not None and other_count >= max_webhooks:
        raise InvalidParamsError(f"A task has at most {max_webhooks} webhooks; delete one first", details={"limit": str(max_webhooks)})


def check_open_limit(open_count: int, max_open: int | None) -> None:
    """Raise ``RateLimitedError`` if a scope has as many open tasks as it may have."""
    if max_open is not None and open_count >= max_open:
        raise RateLimitedError(f"There are {max_open} open tasks of this caller; wait until one ends, or cancel one")


def bind_config(config: TaskPushNotificationConfig, wire_id: str, ids: IdGenerator) -> TaskPushNotificationConfig:
    """Return the configuration with the id of its task, and an id of its own."""
    return config.model_copy(update={"id": config.id or ids.new(), "task_id": wire_id})


def build_new_rows(new: NewTask, key: str, generator: IdGenerator, at: int) -> NewTaskRows:
    """Build the first rows of a task."""
    wire_id = new.wire_id or generator.new(at)
    ids = fragments.encode_ids(wire_id, new.context_id)
    status = fragments.encode_status(INITIAL, at, None)
    message = fragments.encode_message(new.message, ids)
    metadata = fragments.encode_object(new.metadata) if new.metadata else fragments.EMPTY_OBJECT
    task = fragments.encode_task(ids.joined, status, (), (message,), metadata)
    push_config = new.push_config and bind_config(new.push_config, wire_id, generator)
    return NewTaskRows(key, wire_id, at, ids.joined, status, message, metadata, task, fragments.encode_task_event(task), push_config)


def build_change_rows(change: TaskChange, ids: bytes, at: int) -> ChangeRows:
    """Build the rows of a change; ``ids`` are those of the task, joined."""
    writes = change.chunks if change.is_batch or len(change.chunks) < 2 else _merge_writes(change.chunks)  # noqa: PLR2004 - nothing to merge
    chunks: list[ChunkRow] = []
    events: list[tuple[bytes, State | None]] = []
    for write in writes:
        body = fragments.encode_artifact((write.chunk,))
        chunks.append(ChunkRow(write.chunk, not write.append, body))
        events.append((fragments.encode_artifact_event(ids, body, append=write.append, last_chunk=write.last_chunk), None))
    if change.is_batch:
        chunks = _join_by_artifact(chunks)
    status = None
    if change.state is not None:
        message = None if change.status_message is None else change.status_message.to_json()
        status = fragments.encode_status(change.state, at, message)
        metadata = None if change.event_metadata is None else fragments.encode_object(change.event_metadata)
        events.append((fragments.encode_status_event(ids, status, metadata), change.state))
    messages = [message.to_json() for message in change.messages] if change.messages else ()
    if messages and change.state is None:
        events += [(fragments.encode_message_event(message), None) for message in messages]
    return ChangeRows(status, chunks, messages, events)


def _join_by_artifact(rows: Sequence[ChunkRow]) -> list[ChunkRow]:
    """Join the chunks of each artifact into one row; a chunk that replaces its artifact replaces those before it too."""
    by_artifact: dict[str, list[ChunkRow]] = {}
    for row in rows:
        if row.replaces:
            by_artifact[row.artifact_id] = [row]
        else:
            by_artifact.setdefault(row.artifact_id, []).append(row)
    return [own[0] if len(own) == 1 else join_rows(own) for own in by_artifact.values()]


def join_rows(rows: Sequence[ChunkRow]) -> ChunkRow:
    """Join chunks of one artifact into one."""
    joined = fragments.join_chunks([row.chunk for row in rows])
    return ChunkRow(joined, rows[0].replaces, fragments.encode_artifact((joined,)))


def _merge_writes(writes: Sequence[ChunkWrite]) -> Sequence[ChunkWrite]:
    """Merge the chunks of each artifact into one, in the order of their first ones."""
    merged: dict[str, ChunkWrite] = {}
    for write in writes:
        before = merged.get(write.chunk.artifact_id)
        if before is None or not write.append:
            merged[write.chunk.artifact_id] = write
        else:
            both = fragments.join_chunks((before.chunk, write.chunk))
            merged[write.chunk.artifact_id] = ChunkWrite(both, append=before.append, last_chunk=write.last_chunk or before.last_chunk)
    return tuple(merged.values())


class RecentTasks:
    """The newest tasks of this process, each until its first change.

    The result of that change needs no read: that is the whole life of a task whose handler finishes at once, and its waiting caller gets it from the
    writer. After a second change, only the database knows the changes of other processes.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[StoredTask, NewTaskRows]] = {}

    def add(self, stored: StoredTask, rows: NewTaskRows) -> None:
        """Remember a task."""
        if len(self._tasks) >= _MAX_RECENT_TASKS:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[stored.key] = stored, rows

    def attach_task(self, key: str, result: ChangeResult, change: TaskChange, rows: ChangeRows, at: int) -> ChangeResult:
        """Attach the task to the result of its first change, if that change ends the run."""
        recent = self._tasks.pop(key, None)
        if recent is None or result.version != _FIRST_CHANGE_VERSION or not result.events or lifecycle.is_active(result.state) or change.metadata:
            return result
        stored, new_rows = recent
        last = result.events[-1]
        history = (new_rows.message, *rows.messages)
        artifacts = [row.artifact for row in rows.chunks]
        task = fragments.encode_task(new_rows.ids, rows.status or new_rows.status, artifacts, history, new_rows.metadata)
        ended = replace(
            stored,
            state=last.state,
            version=_FIRST_CHANGE_VERSION,
            last_seq=last.seq,
            process=None if change.release_claim or lifecycle.is_terminal(last.state) else stored.process,
            status_at=at,
            task=Encoded(Task, task),
        )
        return replace(result, stored=ended)
