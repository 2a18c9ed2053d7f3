"""Every task in memory, and the ways to find them: no call looks through all.

A scope has a room of its own, so that a question in one never meets the tasks of another.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from secrets import randbits
from typing import TypeAlias

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Artifact, Task
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import Clock, to_datetime
from a2a_runtime.stores import fragments
from a2a_runtime.stores.changes import ChunkRow
from a2a_runtime.stores.fragments import EMPTY_OBJECT, Chunk, TaskFragments
from a2a_runtime.stores.models import LoggedEvent, NewTask, StoredTask

# A task in memory.
#
# While a task lives, its artifacts are cheap to add to: lists of chunks. When it ends, they are packed: one byte string for each. What is left of the
# many tasks that are over are tuples of plain values, at which the garbage collector soon stops to look.
#

TimedMessage: TypeAlias = tuple[int, bytes]
"""A message, and before it when it came."""


class MemoryTask:
    """One task. ``older`` and ``newer`` are its neighbours in its conversation.

    ``moved`` is the number of its last change of state among those of all tasks: negative when a newer task has its wire id, 0 when the task is gone.
    """

    __slots__ = (
        "artifacts",
        "cancel_requested",
        "context_id",
        "dialect",
        "epoch",
        "events",
        "history",
        "key",
        "last_seq",
        "metadata",
        "newer",
        "older",
        "position",
        "process",
        "scope",
        "skill",
        "state",
        "status",
        "status_at",
        "version",
        "wire_id",
    )

    def __init__(self, scope: TaskScope, key: str, wire_id: str, new: NewTask) -> None:
        self.scope, self.key, self.wire_id = scope, key, wire_id
        self.context_id, self.skill, self.dialect = new.context_id, new.skill, new.dialect
        self.state: State = INITIAL
        self.status_at = self.position = 0
        self.older: MemoryTask | None = None
        self.newer: MemoryTask | None = None
        self.version = self.last_seq = 1
        self.process = new.process
        self.epoch = 0 if new.process is None else 1
        self.cancel_requested = False
        self.events: list[LoggedEvent] | None = []  # None: no longer kept
        self.status, self.metadata = b"", EMPTY_OBJECT
        self.history: tuple[TimedMessage, ...] = ()
        self.artifacts: dict[str, list[Chunk]] | tuple[bytes, ...] = {}  # packed: each of them whole

    def write_chunk(self, chunk: ChunkRow) -> None:
        """Put a chunk where it belongs; an artifact that is replaced keeps its place."""
        artifacts = self.artifacts
        if isinstance(artifacts, tuple):
            artifacts = self.artifacts = dict(map(_unpack_artifact, artifacts))
        if chunk.replaces:
            artifacts[chunk.artifact_id] = [chunk.chunk]
        else:
            artifacts.setdefault(chunk.artifact_id, []).append(chunk.chunk)

    def pack_artifacts(self) -> None:
        """Make the content small: it will hardly change any more."""
        self.artifacts = tuple(self._encode_artifacts())

    def clear(self) -> None:
        """Let go of the content."""
        self.history, self.artifacts, self.events = (), (), None

    def to_stored_task(self, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
        """Show the task as it is now."""
        return StoredTask(
            key=self.key,
            wire_id=self.wire_id,
            context_id=self.context_id,
            scope=self.scope,
            skill=self.skill,
            dialect=self.dialect,
            state=self.state,
            version=self.version,
            last_seq=self.last_seq,
            epoch=self.epoch,
            process=self.process,
            cancel_requested=self.cancel_requested,
            updated_at=to_datetime(self.status_at),
            task=Encoded.raw(Task, self._encode_task(history_length, include_artifacts=include_artifacts)),
        )

    def _encode_task(self, history_length: int | None, *, include_artifacts: bool) -> bytes:
        history = fragments.select_newest([body for _, body in self.history], history_length)
        artifacts = self._encode_artifacts() if include_artifacts else ()
        return fragments.encode_task(
            fragments.encode_ids(self.wire_id, self.context_id), TaskFragments(self.status, artifacts, history, self.metadata)
        )

    def _encode_artifacts(self) -> Sequence[bytes]:
        artifacts = self.artifacts
        return artifacts if isinstance(artifacts, tuple) else [fragments.encode_artifact(name, chunks) for name, chunks in artifacts.items()]


def _unpack_artifact(whole: bytes) -> tuple[str, list[Chunk]]:
    artifact = Artifact.model_validate_json(whole)
    return artifact.artifact_id, [fragments.encode_chunk(artifact)]


# Tasks in the order of their last change of state, for lists that begin with the newest.
#
# A task that changes goes to the end and leaves its old entry behind, which is recognised by its number and thrown out when there are too many of
# them.
# So a change costs one append, a page costs its own length, and an entry costs sixteen bytes.
#

_MAX_STALE_SLACK = 64


class Timeline:
    """Rows by the numbers of their last moves."""

    __slots__ = ("_positions", "_stale_count", "_tasks", "size")

    def __init__(self) -> None:
        self._positions = array("q")
        self._tasks: list[MemoryTask] = []
        self._stale_count = 0
        self.size = 0

    def add(self, row: MemoryTask) -> None:
        """Put a row to the end."""
        if self._stale_count > self.size + _MAX_STALE_SLACK:
            self._compact()
        self._positions.append(row.position)
        self._tasks.append(row)
        self.size += 1

    def mark_stale(self) -> None:
        """Note that a row has got another number, and its entry here counts no more."""
        self.size -= 1
        self._stale_count += 1

    def iter_newest_first(self, before: int | None = None) -> Iterator[MemoryTask]:
        """Go through the rows, from the end or from before a number."""
        at = len(self._positions) if before is None else bisect_left(self._positions, before)
        for index in range(at - 1, -1, -1):
            row = self._tasks[index]
            if row.position == self._positions[index]:
                yield row

    def _compact(self) -> None:
        rows = [row for moved, row in zip(self._positions, self._tasks, strict=True) if row.position == moved]
        self._tasks, self._stale_count = rows, 0
        self._positions = array("q", [row.position for row in rows])


_KEY_BITS = 60  # four less than a key has room for, which no process counts through


class ScopeIndex:
    """The tasks of one scope."""

    __slots__ = ("by_context", "by_state", "by_wire_id", "scope", "timeline")

    def __init__(self, scope: TaskScope) -> None:
        self.scope = scope
        self.by_wire_id: dict[str, MemoryTask] = {}
        self.by_context: dict[str, MemoryTask] = {}  # the newest task; the others follow from it
        self.by_state: dict[State, Timeline] = {}
        self.timeline = Timeline()

    def get_timeline(self, state: State) -> Timeline:
        """Find the tasks in one state."""
        timeline = self.by_state.get(state)
        if timeline is None:
            timeline = self.by_state[state] = Timeline()
        return timeline


class TaskIndex:
    """The tasks of all scopes."""

    def __init__(self, clock: Clock, *, finished_logs: int) -> None:
        self.tasks: dict[str, MemoryTask] = {}
        self.scopes: dict[TaskScope, ScopeIndex] = {}
        self.active: dict[str, MemoryTask] = {}
        self._ended: deque[MemoryTask] = deque()
        self._logs: deque[MemoryTask] = deque()
        self._max_finished_logs = finished_logs
        self._clock = clock
        self._now = 0
        self._positions, self._keys = count(1), count(randbits(_KEY_BITS))

    def now_millis(self) -> int:
        """Say what time it is, and never an earlier one than before: the order of moves is the order of times."""
        self._now = max(self._now, self._clock.millis())
        return self._now

    def new_key(self) -> str:
        """Make the key of a new task: it sorts by age, and is not one of an earlier life of this process."""
        return f"{next(self._keys):016x}"

    def find(self, scope: TaskScope, wire_id: str) -> MemoryTask | None:
        """Find a task by what its client calls it."""
        room = self.scopes.get(scope)
        return None if room is None else room.by_wire_id.get(wire_id)

    def find_in_context(self, scope: TaskScope, context_id: str) -> list[MemoryTask]:
        """Find the tasks of a conversation, oldest first."""
        room = self.scopes.get(scope)
        row = None if room is None else room.by_context.get(context_id)
        found: list[MemoryTask] = []
        while row is not None:
            found.append(row)
            row = row.older
        found.reverse()
        return found

    def add(self, row: MemoryTask, at: int) -> None:
        """Put a new task on the shelf; one that had its wire id before is found by its key only."""
        room = self.scopes.get(row.scope)
        if room is None:
            room = self.scopes[row.scope] = ScopeIndex(row.scope)
        row.scope = room.scope  # one object for all of its tasks
        before = room.by_wire_id.get(row.wire_id)
        if before is not None:
            self._mark_stale(room, before)
            before.position = -before.position
        self.tasks[row.key] = row
        room.by_wire_id[row.wire_id] = row
        row.older = room.by_context.get(row.context_id)
        if row.older is not None:
            row.older.newer = row
        room.by_context[row.context_id] = row
        self.active[row.key] = row
        row.position, row.status_at = next(self._positions), at
        room.timeline.add(row)
        room.get_timeline(row.state).add(row)

    def change_state(self, row: MemoryTask, state: State, at: int) -> None:
        """Take note that a task has come into a state."""
        room = self.scopes[row.scope]
        self._mark_stale(room, row)
        row.position, row.status_at, row.state = next(self._positions), at, state
        room.timeline.add(row)
        room.get_timeline(state).add(row)
        if state in lifecycle.ACTIVE:
            self.active[row.key] = row
        else:
            self.active.pop(row.key, None)
        if state in lifecycle.TERMINAL:
            self._ended.append(row)
            self._retain_log(row)

    def _retain_log(self, row: MemoryTask) -> None:
        self._logs.append(row)
        if len(self._logs) > self._max_finished_logs:
            self._logs.popleft().events = None

    def remove(self, row: MemoryTask) -> None:
        """Take a task off the shelf."""
        room = self.scopes[row.scope]
        del self.tasks[row.key]
        self.active.pop(row.key, None)
        if room.by_wire_id.get(row.wire_id) is row:
            del room.by_wire_id[row.wire_id]
        self._unlink_from_context(room, row)
        if row.position > 0:
            self._mark_stale(room, row)
        row.position = 0
        row.clear()
        if not room.by_context:
            del self.scopes[row.scope]

    @staticmethod
    def _unlink_from_context(room: ScopeIndex, row: MemoryTask) -> None:
        older, newer = row.older, row.newer
        row.older = row.newer = None
        if older is not None:
            older.newer = newer
        if newer is not None:
            newer.older = older
        elif older is not None:
            room.by_context[row.context_id] = older
        else:
            del room.by_context[row.context_id]

    @staticmethod
    def _mark_stale(room: ScopeIndex, row: MemoryTask) -> None:
        room.timeline.mark_stale()
        room.by_state[row.state].mark_stale()

    def pop_ended(self, ended_by_millis: int | None, can_delete: Callable[[MemoryTask], bool]) -> MemoryTask | None:
        """Find the task that ended longest ago, of those that ended by then and may go; it stays on the shelf, but is not found here again."""
        stays: list[MemoryTask] = []
        found = None
        while self._ended and found is None:
            row = self._ended.popleft()
            if not row.position:
                continue
            if ended_by_millis is not None and row.status_at > ended_by_millis:
                stays.append(row)
                break
            if can_delete(row):
                found = row
            else:
                stays.append(row)
        self._ended.extendleft(reversed(stays))
        return found
