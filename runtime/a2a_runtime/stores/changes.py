"""What a call makes of a task, worked out before anything is written: the same for every store, and pure.

``refuse`` holds every rule about who may change what; ``new_rows`` and ``change_rows`` turn what goes in into rows. A store then only numbers them,
under the row's lock, and writes. A store whose database checks the rules in the condition of a statement takes the same rules from ``states_before``
and asks ``refuse`` afterwards, to say why nothing was changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from a2a_contract.base import Encoded
from a2a_contract.errors import IdempotencyConflictError, InvalidParamsError
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Task
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_datetime
from a2a_runtime.errors import ConcurrencyError, FencedError, TaskStateError, TaskTerminalError
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import Chunk, TaskFragments
from a2a_runtime.stores.models import ArtifactWrite, ChangeResult, CreateResult, IdempotencyKey, LoggedEvent, NewTask, StoredTask, TaskChange
from a2a_runtime.structs import struct


class TaskHead(Protocol):
    """What the rules ask of a task."""

    @property
    def state(self) -> State:
        """The state it is in."""
        ...

    @property
    def version(self) -> int:
        """How often it has changed."""
        ...

    @property
    def epoch(self) -> int:
        """The number of its latest run."""
        ...

    @property
    def process(self) -> str | None:
        """Who runs it, if that run is still under way."""
        ...


@struct
class ChunkRow:
    """A chunk for one artifact, after what it held or in its place."""

    artifact_id: str
    replaces: bool
    chunk: Chunk


@struct
class NewTaskRows:
    """The first rows of a task; its status is the initial one."""

    status: bytes
    message: bytes
    metadata: bytes
    task: bytes
    event: bytes

    def build_result(self, scope: TaskScope, new: NewTask, key: str, wire_id: str, created_millis: int) -> CreateResult:
        """Show the task as it is after these rows, without reading it back."""
        stored = StoredTask(
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
            updated_at=to_datetime(created_millis),
            task=Encoded.raw(Task, self.task),
        )
        return CreateResult(stored, is_new=True, events=(LoggedEvent(1, self.event, INITIAL),))


@struct
class ChangeRows:
    """The rows of a change. An event without a state of its own keeps the task's."""

    status: bytes | None
    chunks: Sequence[ChunkRow]
    messages: Sequence[bytes]
    events: Sequence[tuple[bytes, State | None]]

    def number_events(self, last_seq: int, previous_state: State) -> list[LoggedEvent]:
        """Give the events their numbers, after the last one of the task; what comes after its end is no event."""
        if previous_state in lifecycle.TERMINAL:
            return []
        return [LoggedEvent(seq, body, state or previous_state) for seq, (body, state) in enumerate(self.events, last_seq + 1)]


def allowed_source_states(change: TaskChange) -> frozenset[State] | None:
    """Say in which states a task may be for this change; ``None`` for any."""
    if change.state is None:
        return change.expected_states
    lawful = lifecycle.predecessors(change.state)
    return lawful if change.expected_states is None else lawful & change.expected_states


def check_change(head: TaskHead, change: TaskChange) -> None:
    """Raise what speaks against a change, if anything does."""
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
    """Raise when an idempotency key was used before for another request."""
    if idempotency_key.request_hash != request_hash:
        raise IdempotencyConflictError


def check_webhook_limit(other_count: int, max_webhooks: int | None) -> None:
    """Refuse one more webhook of a task than it may have."""
    if max_webhooks is not None and other_count >= max_webhooks:
        raise InvalidParamsError(f"A task has at most {max_webhooks} webhooks; delete one first", details={"limit": str(max_webhooks)})


def build_new_rows(new: NewTask, wire_id: str, at: int) -> NewTaskRows:
    """Work out the first rows of a task."""
    status = fragments.encode_status(INITIAL, at, None)
    message = fragments.encode_message(new.message, wire_id, new.context_id)
    metadata = fragments.encode_object(new.metadata) if new.metadata else fragments.EMPTY_OBJECT
    task = fragments.encode_task(fragments.encode_ids(wire_id, new.context_id), TaskFragments(status, (), (message,), metadata))
    return NewTaskRows(status, message, metadata, task, fragments.encode_task_event(task))


def build_change_rows(change: TaskChange, wire_id: str, context_id: str, at: int) -> ChangeRows:
    """Work out the rows of a change."""
    own = fragments.encode_ids(wire_id, context_id)
    chunks: list[ChunkRow] = []
    events: list[tuple[bytes, State | None]] = []
    for write in change.artifacts if len(change.artifacts) < 2 else _merge_writes(change.artifacts):  # noqa: PLR2004 - one needs no folding
        piece = fragments.encode_chunk(write.artifact)
        chunks.append(ChunkRow(write.artifact.artifact_id, not write.append, piece))
        body = fragments.encode_artifact(write.artifact.artifact_id, (piece,))
        events.append((fragments.encode_artifact_event(own, body, append=write.append, last_chunk=write.last_chunk), None))
    status = None
    if change.state is not None:
        said = None if change.status_message is None else change.status_message.to_json()
        status = fragments.encode_status(change.state, at, said)
        metadata = None if change.event_metadata is None else fragments.encode_object(change.event_metadata)
        events.append((fragments.encode_status_event(own, status, metadata), change.state))
    return ChangeRows(status, chunks, [message.to_json() for message in change.messages], events)


def _merge_writes(writes: Sequence[ArtifactWrite]) -> Sequence[ArtifactWrite]:
    """Make one write of all that go to one artifact, in the order in which the artifacts come first."""
    folded: dict[str, ArtifactWrite] = {}
    for write in writes:
        before = folded.get(write.artifact.artifact_id)
        if before is None or not write.append:
            folded[write.artifact.artifact_id] = write
        else:
            both = fragments.merge_artifacts(before.artifact, write.artifact)
            folded[write.artifact.artifact_id] = ArtifactWrite(both, append=before.append, last_chunk=write.last_chunk or before.last_chunk)
    return tuple(folded.values())


# Tasks that this process has created and nobody has changed since: what their first change makes of them need not be read.
#
# That is all there is to a task whose handler is done at once, and whoever waits for it gets it with the event that ends it. Of a task that has
# changed
# more than once, only the database knows what others have added.
#

_MAX_RECENT_TASKS = 1_000
_FIRST_CHANGE_VERSION = 2  # the version of such a task


class RecentTasks:
    """What the newest tasks of this process were created with, up to a number of them, each until its first change."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[StoredTask, NewTaskRows]] = {}

    def add(self, stored: StoredTask, rows: NewTaskRows) -> None:
        """Take note of a task."""
        if len(self._tasks) >= _MAX_RECENT_TASKS:
            del self._tasks[next(iter(self._tasks))]
        self._tasks[stored.key] = stored, rows

    def attach_task(self, key: str, result: ChangeResult, change: TaskChange, rows: ChangeRows, at: int) -> ChangeResult:
        """Let the last event of a first change bring the task with it, if the run is over with it."""
        born = self._tasks.pop(key, None)
        if born is None or result.version != _FIRST_CHANGE_VERSION or not result.events or lifecycle.is_active(result.state) or change.metadata:
            return result
        return replace(result, events=_attach_to_last_event(result.events, *born, change, rows, at))


def _attach_to_last_event(
    events: Sequence[LoggedEvent], stored: StoredTask, new_rows: NewTaskRows, change: TaskChange, rows: ChangeRows, at: int
) -> Sequence[LoggedEvent]:
    last = events[-1]
    artifacts = [fragments.encode_artifact(row.artifact_id, (row.chunk,)) for row in rows.chunks]
    pieces = TaskFragments(rows.status or new_rows.status, artifacts, (new_rows.message, *rows.messages), new_rows.metadata)
    changed = replace(
        stored,
        state=last.state,
        version=_FIRST_CHANGE_VERSION,
        last_seq=last.seq,
        process=None if change.release_claim or lifecycle.is_terminal(last.state) else stored.process,
        updated_at=to_datetime(at),
        task=Encoded.raw(Task, fragments.encode_task(fragments.encode_ids(stored.wire_id, stored.context_id), pieces)),
    )
    return (*events[:-1], replace(last, stored=changed))
