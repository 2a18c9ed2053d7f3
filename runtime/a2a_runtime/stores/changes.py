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
from a2a_runtime.caller import Scope
from a2a_runtime.clock import moment
from a2a_runtime.errors import ConcurrencyError, FencedError, TaskStateError, TaskTerminalError
from a2a_runtime.stores import fragments
from a2a_runtime.stores.fragments import Chunk, Pieces
from a2a_runtime.stores.models import ArtifactWrite, Change, Created, Idempotency, LoggedEvent, NewTask, StoredTask, Written
from a2a_runtime.structs import value


class Head(Protocol):
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


@value
class ChunkRow:
    """A chunk for one artifact, after what it held or in its place."""

    artifact_id: str
    replaces: bool
    chunk: Chunk


@value
class NewRows:
    """The first rows of a task; its status is the initial one."""

    status: bytes
    message: bytes
    metadata: bytes
    task: bytes
    event: bytes

    def created(self, scope: Scope, new: NewTask, key: str, wire_id: str, at: int) -> Created:
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
            updated_at=moment(at),
            task=Encoded.raw(Task, self.task),
        )
        return Created(stored, is_new=True, events=(LoggedEvent(1, self.event, INITIAL),))


@value
class ChangeRows:
    """The rows of a change. An event without a state of its own keeps the task's."""

    status: bytes | None
    chunks: Sequence[ChunkRow]
    messages: Sequence[bytes]
    events: Sequence[tuple[bytes, State | None]]

    def numbered(self, last_seq: int, before: State) -> list[LoggedEvent]:
        """Give the events their numbers, after the last one of the task; what comes after its end is no event."""
        if before in lifecycle.TERMINAL:
            return []
        return [LoggedEvent(seq, body, state or before) for seq, (body, state) in enumerate(self.events, last_seq + 1)]


def states_before(change: Change) -> frozenset[State] | None:
    """Say in which states a task may be for this change; ``None`` for any."""
    if change.state is None:
        return change.expected_states
    lawful = lifecycle.predecessors(change.state)
    return lawful if change.expected_states is None else lawful & change.expected_states


def refuse(head: Head, change: Change) -> None:
    """Raise what speaks against a change, if anything does."""
    if change.state is not None and head.state in lifecycle.TERMINAL:
        raise TaskTerminalError(f"The task has ended ({head.state.name}) and cannot become {change.state.name}")
    if change.epoch is not None and (change.epoch != head.epoch or head.process is None):
        raise FencedError(f"Run {change.epoch} of the task is over; the latest is {head.epoch}")
    if change.expected_version not in {None, head.version}:
        raise ConcurrencyError(f"The task is at version {head.version}, not {change.expected_version}")
    if change.expected_states is not None and head.state not in change.expected_states:
        raise ConcurrencyError(f"The task is {head.state.name}, not {' or '.join(sorted(state.name for state in change.expected_states))}")
    if change.state is not None and not lifecycle.may_follow(change.state, head.state):
        raise TaskStateError(f"A task that is {head.state.name} cannot become {change.state.name}")


def same_request(promise: Idempotency, request_hash: bytes) -> None:
    """Raise when an idempotency key was used before for another request."""
    if promise.request_hash != request_hash:
        raise IdempotencyConflictError


def check_room(others: int, most: int | None) -> None:
    """Refuse one more webhook of a task than it may have."""
    if most is not None and others >= most:
        raise InvalidParamsError(f"A task has at most {most} webhooks; delete one first", details={"limit": str(most)})


def new_rows(new: NewTask, wire_id: str, at: int) -> NewRows:
    """Work out the first rows of a task."""
    status = fragments.status(INITIAL, at, None)
    message = fragments.message(new.message, wire_id, new.context_id)
    metadata = fragments.object_bytes(new.metadata) if new.metadata else fragments.NO_MEMBERS
    task = fragments.task(fragments.ids(wire_id, new.context_id), Pieces(status, (), (message,), metadata))
    return NewRows(status, message, metadata, task, fragments.task_event(task))


def change_rows(change: Change, wire_id: str, context_id: str, at: int) -> ChangeRows:
    """Work out the rows of a change."""
    own = fragments.ids(wire_id, context_id)
    chunks: list[ChunkRow] = []
    events: list[tuple[bytes, State | None]] = []
    for write in change.artifacts if len(change.artifacts) < 2 else _folded(change.artifacts):  # noqa: PLR2004 - one needs no folding
        piece = fragments.chunk(write.artifact)
        chunks.append(ChunkRow(write.artifact.artifact_id, not write.append, piece))
        body = fragments.artifact(write.artifact.artifact_id, (piece,))
        events.append((fragments.artifact_event(own, body, append=write.append, last_chunk=write.last_chunk), None))
    status = None
    if change.state is not None:
        said = None if change.status_message is None else change.status_message.to_json()
        status = fragments.status(change.state, at, said)
        metadata = None if change.event_metadata is None else fragments.object_bytes(change.event_metadata)
        events.append((fragments.status_event(own, status, metadata), change.state))
    return ChangeRows(status, chunks, [message.to_json() for message in change.messages], events)


def _folded(writes: Sequence[ArtifactWrite]) -> Sequence[ArtifactWrite]:
    """Make one write of all that go to one artifact, in the order in which the artifacts come first."""
    folded: dict[str, ArtifactWrite] = {}
    for write in writes:
        before = folded.get(write.artifact.artifact_id)
        if before is None or not write.append:
            folded[write.artifact.artifact_id] = write
        else:
            both = fragments.told_over(before.artifact, write.artifact)
            folded[write.artifact.artifact_id] = ArtifactWrite(both, append=before.append, last_chunk=write.last_chunk or before.last_chunk)
    return tuple(folded.values())


# Tasks that this process has created and nobody has changed since: what their first change makes of them need not be read.
#
# That is all there is to a task whose handler is done at once, and whoever waits for it gets it with the event that ends it. Of a task that has
# changed
# more than once, only the database knows what others have added.
#

_MOST = 1_000
_CHANGED_ONCE = 2  # the version of such a task


class Newborns:
    """What the newest tasks of this process were created with, up to a number of them, each until its first change."""

    def __init__(self) -> None:
        self._born: dict[str, tuple[StoredTask, NewRows]] = {}

    def add(self, stored: StoredTask, rows: NewRows) -> None:
        """Take note of a task."""
        if len(self._born) >= _MOST:
            del self._born[next(iter(self._born))]
        self._born[stored.key] = stored, rows

    def told(self, key: str, written: Written, change: Change, rows: ChangeRows, at: int) -> Written:
        """Let the last event of a first change bring the task with it, if the run is over with it."""
        born = self._born.pop(key, None)
        if born is None or written.version != _CHANGED_ONCE or not written.events or lifecycle.is_active(written.state) or change.metadata:
            return written
        return replace(written, events=_with_task(written.events, *born, change, rows, at))


def _with_task(events: Sequence[LoggedEvent], stored: StoredTask, born: NewRows, change: Change, rows: ChangeRows, at: int) -> Sequence[LoggedEvent]:
    last = events[-1]
    artifacts = [fragments.artifact(row.artifact_id, (row.chunk,)) for row in rows.chunks]
    pieces = Pieces(rows.status or born.status, artifacts, (born.message, *rows.messages), born.metadata)
    changed = replace(
        stored,
        state=last.state,
        version=_CHANGED_ONCE,
        last_seq=last.seq,
        process=None if change.release or lifecycle.is_terminal(last.state) else stored.process,
        updated_at=moment(at),
        task=Encoded.raw(Task, fragments.task(fragments.ids(stored.wire_id, stored.context_id), pieces)),
    )
    return (*events[:-1], replace(last, stored=changed))
