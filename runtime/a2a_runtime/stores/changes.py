"""Rules and rows of a call, computed before anything is written: pure, and the same for every
store.

``check_change`` holds every rule about changes; ``build_new_rows`` and ``build_change_rows`` turn
the arguments of a call into rows. A store numbers them under the lock of the task's row and writes
them. A store that checks the rules in the condition of a statement gets them from
``allowed_source_states``, and calls ``check_change`` afterwards to find the reason why the
statement changed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from a2a_contract.base import Encoded
from a2a_contract.errors import (
    IdempotencyConflictError,
    InvalidParamsError,
    PermissionDeniedError,
    RateLimitedError,
)
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Task, TaskPushNotificationConfig
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.errors import (
    ConcurrencyError,
    EventsGoneError,
    FencedError,
    LostWritesError,
    TaskStateError,
    TaskTerminalError,
)
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
FIRST_CHANGE_VERSION = 2
"""Version of a task after its first change."""


EncodedEvents: TypeAlias = Sequence[tuple[bytes, State | None]]
"""Events of a change as JSON, each with its state; one without a state keeps that of the task."""


class ChunkRow(Struct, frozen=True, gc=False):
    """A chunk that continues an artifact or replaces it."""

    chunk: Chunk
    replaces: bool
    artifact: bytes  # of this chunk alone

    @property
    def artifact_id(self) -> str:
        """The id of the artifact."""
        return self.chunk.artifact_id


class NewTaskRows(Struct, frozen=True, gc=False):
    """The first rows of a task in its initial state."""

    key: str
    wire_id: str
    created_millis: int
    ids: bytes
    status: bytes
    message: bytes
    metadata: bytes
    push_config: TaskPushNotificationConfig | None

    def encode_task(self) -> bytes:
        """Encode the task."""
        return fragments.encode_task(self.ids, self.status, (), (self.message,), self.metadata)

    def build_result(self, scope: TaskScope, new: NewTask, mark: int = 0) -> CreateResult:
        """Build the task from these rows, without reading it back."""
        task = Encoded(Task, self.encode_task)
        stored = build_first_version(scope, new, self.key, self.wire_id, task, self.created_millis)
        if mark:
            stored = replace(stored, mark=mark)
        return CreateResult(stored, is_new=True)


def build_first_version(
    scope: TaskScope, new: NewTask, key: str, wire_id: str, task: Encoded[Task], millis: int
) -> StoredTask:
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
        task=task,
        hidden_skills=tuple(new.hidden_skills),
    )


class ChangeRows(Struct, frozen=True, gc=False):
    """The rows of a change, and what its events are made of; ``writes`` has the chunks of the
    change, each with the artifact that it is alone.
    """

    ids: bytes
    change: TaskChange
    status: bytes | None
    writes: Sequence[tuple[ChunkWrite, bytes]]
    chunks: Sequence[ChunkRow]
    messages: Sequence[bytes]

    @property
    def event_count(self) -> int:
        """Number of the events."""
        if self.status is None:
            return len(self.writes) + len(self.messages)
        return len(self.writes) + 1

    def encode_events(self) -> EncodedEvents:
        """Encode the events."""
        events: list[tuple[bytes, State | None]] = []
        for write, body in self.writes:
            events.append(
                (
                    fragments.encode_artifact_event(
                        self.ids, body, append=write.append, last_chunk=write.last_chunk
                    ),
                    None,
                )
            )
        if self.status is not None:
            metadata = None
            if self.change.event_metadata is not None:
                metadata = fragments.encode_object(self.change.event_metadata)
            events.append(
                (fragments.encode_status_event(self.ids, self.status, metadata), self.change.state)
            )
        elif self.messages:
            events += [(fragments.encode_message_event(message), None) for message in self.messages]
        return events


def number_events(
    events: EncodedEvents, last_seq: int, previous_state: State, mark: int = 0
) -> list[LoggedEvent]:
    """Number the events of a change after the last one of the task; none after its end."""
    if previous_state in lifecycle.TERMINAL:
        return []
    return [
        LoggedEvent(seq, body, state or previous_state, mark)
        for seq, (body, state) in enumerate(events, last_seq + 1)
    ]


def check_read(after: int, mark: int, last_seq: int, found_mark: int | None) -> None:
    """Raise ``EventsGoneError`` if the log does not have the event at which a reader is: the
    database fell back to an earlier state.

    ``mark`` is the mark of that event for the reader, ``found_mark`` its mark in the log.
    """
    if after > last_seq or (mark and found_mark and mark != found_mark):
        raise EventsGoneError


def allowed_source_states(change: TaskChange) -> frozenset[State] | None:
    """Return the states of a task in which this change is allowed; ``None`` for any."""
    if change.state is None:
        return change.expected_states
    allowed = lifecycle.predecessors(change.state)
    if change.expected_states is None:
        return allowed
    return allowed & change.expected_states


def find_repeated(head: TaskHead, change: TaskChange) -> ChangeResult | None:
    """Return the result of a write of a run that was applied before: its answer was lost, and the
    run sends it again.
    """
    if change.number is None or change.epoch != head.epoch or change.number != head.writes:
        return None
    return ChangeResult(head.version, head.state, head.last_seq, is_new=False)


def check_change(head: TaskHead, change: TaskChange) -> None:
    """Raise the error of the first rule that forbids a change."""
    if change.state is not None and head.state in lifecycle.TERMINAL:
        raise TaskTerminalError(
            f"The task has ended ({head.state.name}) and cannot become {change.state.name}"
        )
    if change.epoch is not None and (change.epoch != head.epoch or head.process is None):
        raise FencedError(f"Run {change.epoch} of the task is over; the latest is {head.epoch}")
    if change.process not in {None, head.process}:
        raise FencedError(f"Run {change.epoch} of the task is not that of this process any more")
    if change.number is not None and change.number <= head.writes:
        raise FencedError(f"Write {change.number} of the run comes late, after write {head.writes}")
    if change.number is not None and change.number > head.writes + 1:
        raise LostWritesError(
            f"Write {change.number} of the run follows write {head.writes}: the store does "
            "not have what is between them"
        )
    if change.expected_version not in {None, head.version}:
        raise ConcurrencyError(
            f"The task is at version {head.version}, not {change.expected_version}"
        )
    if change.expected_states is not None and head.state not in change.expected_states:
        raise ConcurrencyError(
            f"The task is {head.state.name}, not "
            f"{' or '.join(sorted(state.name for state in change.expected_states))}"
        )
    if change.state is not None and not lifecycle.can_follow(change.state, head.state):
        raise TaskStateError(f"A task that is {head.state.name} cannot become {change.state.name}")


def check_same_request(idempotency_key: IdempotencyKey, request_hash: bytes) -> None:
    """Raise ``IdempotencyConflictError`` if the key was used before for another request."""
    if idempotency_key.request_hash != request_hash:
        raise IdempotencyConflictError


def check_context_data(data: object) -> None:
    """Raise ``TypeError`` if the data of a conversation is no JSON object: it could be stored, and
    never be loaded.
    """
    if not isinstance(data, Mapping):
        raise TypeError(
            f"data of a conversation: {type(data).__qualname__} is no JSON object; pass a mapping"
        )


def check_context_written(is_written: object) -> None:
    """Raise ``PermissionDeniedError`` if the data of a conversation was not written because its
    writer may not read it.
    """
    if not is_written:
        raise PermissionDeniedError(
            "The state of this conversation was written by a skill that the caller may not "
            "use; begin another conversation"
        )


def check_webhook_limit(other_count: int, max_webhooks: int | None) -> None:
    """Raise ``InvalidParamsError`` if a task would get more webhooks than allowed."""
    if max_webhooks is not None and other_count >= max_webhooks:
        raise InvalidParamsError(
            f"A task has at most {max_webhooks} webhooks; delete one first",
            details={"limit": str(max_webhooks)},
        )


def check_open_limit(open_count: int, max_open: int | None) -> None:
    """Raise ``RateLimitedError`` if a scope has as many open tasks as it may have."""
    if max_open is not None and open_count >= max_open:
        raise RateLimitedError(
            f"There are {max_open} open tasks of this caller; wait until one ends, or cancel one"
        )


def bind_config(
    config: TaskPushNotificationConfig, wire_id: str, ids: IdGenerator
) -> TaskPushNotificationConfig:
    """Return the configuration with the id of its task, and an id of its own."""
    return config.model_copy(update={"id": config.id or ids.new(), "task_id": wire_id})


def build_new_rows(new: NewTask, key: str, generator: IdGenerator, at: int) -> NewTaskRows:
    """Build the first rows of a task."""
    wire_id = new.wire_id or generator.new(at)
    ids = fragments.encode_ids(wire_id, new.context_id)
    status = fragments.encode_status(INITIAL, at, None)
    message = fragments.encode_message(new.message, ids)
    metadata = fragments.encode_object(new.metadata) if new.metadata else fragments.EMPTY_OBJECT
    push_config = new.push_config and bind_config(new.push_config, wire_id, generator)
    return NewTaskRows(key, wire_id, at, ids.joined, status, message, metadata, push_config)


def build_change_rows(change: TaskChange, ids: bytes, at: int) -> ChangeRows:
    """Build the rows of a change; ``ids`` are those of the task, joined."""
    writes = change.chunks
    if len(writes) > 1 and not change.is_batch:
        writes = _merge_writes(writes)
    encoded: list[tuple[ChunkWrite, bytes]] = []
    chunks: list[ChunkRow] = []
    for write in writes:
        body = fragments.encode_artifact((write.chunk,))
        encoded.append((write, body))
        chunks.append(ChunkRow(write.chunk, not write.append, body))
    if change.is_batch:
        chunks = _join_by_artifact(chunks)
    status = None
    if change.state is not None:
        message = None if change.status_message is None else change.status_message.to_json()
        status = fragments.encode_status(change.state, at, message)
    messages = [message.to_json() for message in change.messages] if change.messages else ()
    return ChangeRows(ids, change, status, encoded, chunks, messages)


def _join_by_artifact(rows: Sequence[ChunkRow]) -> list[ChunkRow]:
    """Join the chunks of each artifact into one row; a chunk that replaces its artifact replaces
    those before it too.
    """
    by_artifact: dict[str, list[ChunkRow]] = {}
    for row in rows:
        if row.replaces:
            by_artifact[row.artifact_id] = [row]
        else:
            by_artifact.setdefault(row.artifact_id, []).append(row)
    joined: list[ChunkRow] = []
    for own in by_artifact.values():
        row = own[0] if len(own) == 1 else join_rows(own)
        joined.append(row)
    return joined


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
            merged[write.chunk.artifact_id] = ChunkWrite(
                both, append=before.append, last_chunk=write.last_chunk or before.last_chunk
            )
    return tuple(merged.values())


class RecentTasks:
    """The newest tasks of this process, each until its first change.

    The result of that change needs no read: that is the whole life of a task whose handler finishes
    at once, and its waiting caller gets it from the writer. After a second change, only the
    database knows the changes of other processes.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[StoredTask, NewTaskRows]] = {}

    def add(self, stored: StoredTask, rows: NewTaskRows) -> None:
        """Remember a task."""
        if len(self._tasks) >= _MAX_RECENT_TASKS:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[stored.key] = stored, rows

    def attach_task(
        self, key: str, result: ChangeResult, rows: ChangeRows, at: int
    ) -> ChangeResult:
        """Attach the task to the result of its first change, if that change ends the run."""
        recent = self._tasks.pop(key, None)
        change = rows.change
        if (
            recent is None
            or result.version != FIRST_CHANGE_VERSION
            or not result.events
            or lifecycle.is_active(result.state)
            or change.metadata
        ):
            return result
        stored, new_rows = recent
        history = (new_rows.message, *rows.messages)
        artifacts = [row.artifact for row in rows.chunks]
        task = partial(
            fragments.encode_task,
            new_rows.ids,
            rows.status or new_rows.status,
            artifacts,
            history,
            new_rows.metadata,
        )
        is_released = change.release_claim or lifecycle.is_terminal(result.state)
        ended = replace(
            stored,
            state=result.state,
            version=FIRST_CHANGE_VERSION,
            last_seq=result.last_seq,
            process=None if is_released else stored.process,
            status_at=at,
            task=Encoded(Task, task),
            mark=result.events[-1].mark,
        )
        return replace(result, stored=ended)
