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
from a2a_runtime.caller import Scope
from a2a_runtime.clock import Clock, moment
from a2a_runtime.stores import fragments
from a2a_runtime.stores.changes import ChunkRow
from a2a_runtime.stores.fragments import NO_MEMBERS, Chunk, Pieces
from a2a_runtime.stores.models import LoggedEvent, NewTask, StoredTask

# A task in memory.
#
# While a task lives, its artifacts are cheap to add to: lists of chunks. When it ends, they are packed: one byte string for each. What is left of the
# many tasks that are over are tuples of plain values, at which the garbage collector soon stops to look.
#

Said: TypeAlias = tuple[int, bytes]
"""A message, and before it when it came."""


class Row:
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
        "moved",
        "newer",
        "older",
        "process",
        "scope",
        "skill",
        "state",
        "status",
        "status_at",
        "version",
        "wire_id",
    )

    def __init__(self, scope: Scope, key: str, wire_id: str, new: NewTask) -> None:
        self.scope, self.key, self.wire_id = scope, key, wire_id
        self.context_id, self.skill, self.dialect = new.context_id, new.skill, new.dialect
        self.state: State = INITIAL
        self.status_at = self.moved = 0
        self.older: Row | None = None
        self.newer: Row | None = None
        self.version = self.last_seq = 1
        self.process = new.process
        self.epoch = 0 if new.process is None else 1
        self.cancel_requested = False
        self.events: list[LoggedEvent] | None = []  # None: no longer kept
        self.status, self.metadata = b"", NO_MEMBERS
        self.history: tuple[Said, ...] = ()
        self.artifacts: dict[str, list[Chunk]] | tuple[bytes, ...] = {}  # packed: each of them whole

    def write(self, chunk: ChunkRow) -> None:
        """Put a chunk where it belongs; an artifact that is replaced keeps its place."""
        artifacts = self.artifacts
        if isinstance(artifacts, tuple):
            artifacts = self.artifacts = dict(map(_unpacked, artifacts))
        if chunk.replaces:
            artifacts[chunk.artifact_id] = [chunk.chunk]
        else:
            artifacts.setdefault(chunk.artifact_id, []).append(chunk.chunk)

    def pack(self) -> None:
        """Make the content small: it will hardly change any more."""
        self.artifacts = tuple(self._whole_artifacts())

    def forget(self) -> None:
        """Let go of the content."""
        self.history, self.artifacts, self.events = (), (), None

    def view(self, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
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
            updated_at=moment(self.status_at),
            task=Encoded.raw(Task, self._body(history_length, include_artifacts=include_artifacts)),
        )

    def _body(self, history_length: int | None, *, include_artifacts: bool) -> bytes:
        history = fragments.newest([body for _, body in self.history], history_length)
        artifacts = self._whole_artifacts() if include_artifacts else ()
        return fragments.task(fragments.ids(self.wire_id, self.context_id), Pieces(self.status, artifacts, history, self.metadata))

    def _whole_artifacts(self) -> Sequence[bytes]:
        artifacts = self.artifacts
        return artifacts if isinstance(artifacts, tuple) else [fragments.artifact(name, chunks) for name, chunks in artifacts.items()]


def _unpacked(whole: bytes) -> tuple[str, list[Chunk]]:
    artifact = Artifact.model_validate_json(whole)
    return artifact.artifact_id, [fragments.chunk(artifact)]


# Tasks in the order of their last change of state, for lists that begin with the newest.
#
# A task that changes goes to the end and leaves its old entry behind, which is recognised by its number and thrown out when there are too many of
# them.
# So a change costs one append, a page costs its own length, and an entry costs sixteen bytes.
#

_SLACK = 64


class Timeline:
    """Rows by the numbers of their last moves."""

    __slots__ = ("_left", "_moves", "_rows", "size")

    def __init__(self) -> None:
        self._moves = array("q")
        self._rows: list[Row] = []
        self._left = 0
        self.size = 0

    def add(self, row: Row) -> None:
        """Put a row to the end."""
        if self._left > self.size + _SLACK:
            self._throw_out()
        self._moves.append(row.moved)
        self._rows.append(row)
        self.size += 1

    def leave(self) -> None:
        """Note that a row has got another number, and its entry here counts no more."""
        self.size -= 1
        self._left += 1

    def newest_first(self, before: int | None = None) -> Iterator[Row]:
        """Go through the rows, from the end or from before a number."""
        at = len(self._moves) if before is None else bisect_left(self._moves, before)
        for index in range(at - 1, -1, -1):
            row = self._rows[index]
            if row.moved == self._moves[index]:
                yield row

    def _throw_out(self) -> None:
        rows = [row for moved, row in zip(self._moves, self._rows, strict=True) if row.moved == moved]
        self._rows, self._left = rows, 0
        self._moves = array("q", [row.moved for row in rows])


_KEY_BITS = 60  # four less than a key has room for, which no process counts through


class Room:
    """The tasks of one scope."""

    __slots__ = ("by_context", "by_state", "by_wire_id", "scope", "timeline")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.by_wire_id: dict[str, Row] = {}
        self.by_context: dict[str, Row] = {}  # the newest task; the others follow from it
        self.by_state: dict[State, Timeline] = {}
        self.timeline = Timeline()

    def of_state(self, state: State) -> Timeline:
        """Find the tasks in one state."""
        timeline = self.by_state.get(state)
        if timeline is None:
            timeline = self.by_state[state] = Timeline()
        return timeline


class Shelf:
    """The tasks of all scopes."""

    def __init__(self, clock: Clock, *, finished_logs: int) -> None:
        self.rows: dict[str, Row] = {}
        self.rooms: dict[Scope, Room] = {}
        self.active: dict[str, Row] = {}
        self._ended: deque[Row] = deque()
        self._logs: deque[Row] = deque()
        self._finished_logs = finished_logs
        self._clock = clock
        self._now = 0
        self._moves, self._keys = count(1), count(randbits(_KEY_BITS))

    def now(self) -> int:
        """Say what time it is, and never an earlier one than before: the order of moves is the order of times."""
        self._now = max(self._now, self._clock.millis())
        return self._now

    def new_key(self) -> str:
        """Make the key of a new task: it sorts by age, and is not one of an earlier life of this process."""
        return f"{next(self._keys):016x}"

    def find(self, scope: Scope, wire_id: str) -> Row | None:
        """Find a task by what its client calls it."""
        room = self.rooms.get(scope)
        return None if room is None else room.by_wire_id.get(wire_id)

    def in_context(self, scope: Scope, context_id: str) -> list[Row]:
        """Find the tasks of a conversation, oldest first."""
        room = self.rooms.get(scope)
        row = None if room is None else room.by_context.get(context_id)
        found: list[Row] = []
        while row is not None:
            found.append(row)
            row = row.older
        found.reverse()
        return found

    def add(self, row: Row, at: int) -> None:
        """Put a new task on the shelf; one that had its wire id before is found by its key only."""
        room = self.rooms.get(row.scope)
        if room is None:
            room = self.rooms[row.scope] = Room(row.scope)
        row.scope = room.scope  # one object for all of its tasks
        before = room.by_wire_id.get(row.wire_id)
        if before is not None:
            self._leave_lists(room, before)
            before.moved = -before.moved
        self.rows[row.key] = row
        room.by_wire_id[row.wire_id] = row
        row.older = room.by_context.get(row.context_id)
        if row.older is not None:
            row.older.newer = row
        room.by_context[row.context_id] = row
        self.active[row.key] = row
        row.moved, row.status_at = next(self._moves), at
        room.timeline.add(row)
        room.of_state(row.state).add(row)

    def move(self, row: Row, state: State, at: int) -> None:
        """Take note that a task has come into a state."""
        room = self.rooms[row.scope]
        self._leave_lists(room, row)
        row.moved, row.status_at, row.state = next(self._moves), at, state
        room.timeline.add(row)
        room.of_state(state).add(row)
        if state in lifecycle.ACTIVE:
            self.active[row.key] = row
        else:
            self.active.pop(row.key, None)
        if state in lifecycle.TERMINAL:
            self._ended.append(row)
            self._keep_log(row)

    def _keep_log(self, row: Row) -> None:
        self._logs.append(row)
        if len(self._logs) > self._finished_logs:
            self._logs.popleft().events = None

    def remove(self, row: Row) -> None:
        """Take a task off the shelf."""
        room = self.rooms[row.scope]
        del self.rows[row.key]
        self.active.pop(row.key, None)
        if room.by_wire_id.get(row.wire_id) is row:
            del room.by_wire_id[row.wire_id]
        self._leave_context(room, row)
        if row.moved > 0:
            self._leave_lists(room, row)
        row.moved = 0
        row.forget()
        if not room.by_context:
            del self.rooms[row.scope]

    @staticmethod
    def _leave_context(room: Room, row: Row) -> None:
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
    def _leave_lists(room: Room, row: Row) -> None:
        room.timeline.leave()
        room.by_state[row.state].leave()

    def take_ended(self, latest: int | None, may_go: Callable[[Row], bool]) -> Row | None:
        """Find the task that ended longest ago, of those that ended by then and may go; it stays on the shelf, but is not found here again."""
        stays: list[Row] = []
        found = None
        while self._ended and found is None:
            row = self._ended.popleft()
            if not row.moved:
                continue
            if latest is not None and row.status_at > latest:
                stays.append(row)
                break
            if may_go(row):
                found = row
            else:
                stays.append(row)
        self._ended.extendleft(reversed(stays))
        return found
