"""Every task in memory, and the ways to find them: no call looks through all.

A scope has a room of its own, so that a question in one never meets the tasks of another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import count
from secrets import randbits

from a2a_contract.lifecycle import State
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.clock import Clock
from a2a_runtime.stores.memory.row import Row
from a2a_runtime.stores.memory.timeline import Timeline

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
