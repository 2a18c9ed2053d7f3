"""All tasks in memory, and the indexes to find them: no call scans all tasks.

Each scope has an index of its own, so a call never iterates over tasks of other scopes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import repeat
from operator import attrgetter
from secrets import randbits
from typing import TypeAlias

from msgspec import Struct

from a2a_contract.base import Encoded
from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Task
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import Clock
from a2a_runtime.stores import fragments
from a2a_runtime.stores.memory.content import TaskContent
from a2a_runtime.stores.memory.holdings import Holdings
from a2a_runtime.stores.models import LoggedEvent, StoredTask

_MAX_STALE_SLACK = 64
_TRIMMED_ENTRIES = 512
_KEY_BITS = 60  # four less than a key has digits for, so that no process counts beyond them

_NO_CONTENT = fragments.encode_task(fragments.join_ids("", ""), fragments.EMPTY_OBJECT)

KeptMessage: TypeAlias = tuple[int, bytes, str]
"""A message with its time and the skill of its task."""


class MemoryTask(Struct, eq=False, gc=False):
    """One task.

    It refers to nothing that leads back to it, so that the garbage collector need not visit a
    hundred thousand of them.

    ``position`` is the number of its last change of state among those of all tasks: negative if a
    newer task has its wire id, 0 if it was deleted.

    Most tasks end with their first change. Their log says nothing that the task does not: it is
    encoded when it is read (``encode_log``), and until then neither joined nor held. Other logs are
    lists of events, of which only the newest are kept after the end (``TaskIndex``).
    """

    scope: TaskScope
    key: str
    wire_id: str
    context_id: str
    skill: str
    dialect: str
    process: str | None
    epoch: int
    content: TaskContent | bytes
    has_plain_log: bool = True  # its first and only change, if there was one, has ended it
    created_at: int = 0  # the time of its first message too
    later_times: tuple[int, ...] = ()  # of its other messages
    state: State = INITIAL
    version: int = 1
    last_seq: int = 1
    status_at: int = 0
    position: int = 0
    cancel_requested: bool = False
    crashes: int = 0
    writes: int = 0  # of the latest run
    first_seq: int = 1  # number of the first event that is kept
    hidden_skills: Sequence[str] = ()
    limit_key: str = ""  # whose it is for the limits of the store
    is_open: bool = True  # it cannot be deleted: it is unfinished, or has pending deliveries

    def read_content(self) -> TaskContent:
        """Return the fragments."""
        content = self.content
        if isinstance(content, TaskContent):
            return content
        return TaskContent.from_json(content)

    @property
    def size_bytes(self) -> int:
        """The bytes of the content and the log."""
        content = self.content
        if isinstance(content, TaskContent):
            return content.size_bytes + content.log_bytes
        return len(content)

    def pack(self) -> int:
        """Keep a task that has ended in its last form, and return by how many bytes it has grown or
        shrunk.
        """
        content = self.content
        if not isinstance(content, TaskContent):
            return 0
        packed = content.pack()
        if packed is None:
            return 0
        self.content = packed
        return len(packed) - content.size_bytes

    def list_log(self, content: TaskContent) -> None:
        """Keep the log as events from now on."""
        content.events = self.encode_log()
        self.has_plain_log = False
        content.log_bytes = content.size_bytes

    def encode_log(self) -> list[LoggedEvent]:
        """Encode a plain log."""
        content = self.read_content()
        ids = content.ids
        status = fragments.encode_plain_status(INITIAL, self.created_at)
        task = fragments.encode_task(ids, status, (), content.history[:1], content.metadata)
        events = [LoggedEvent(1, fragments.encode_task_event(task), INITIAL)]
        if self.state is not INITIAL:
            bodies = [
                fragments.encode_artifact_event(ids, body, append=False, last_chunk=True)
                for body in content.list_artifacts()
            ]
            events += [LoggedEvent(seq, body, INITIAL) for seq, body in enumerate(bodies, 2)]
            events.append(
                LoggedEvent(
                    self.last_seq,
                    fragments.encode_status_event(ids, content.status, None),
                    self.state,
                )
            )
        return events

    def encode_end(self) -> Sequence[LoggedEvent]:
        """Encode the events of a plain log after the first one."""
        return self.encode_log()[1:]

    def iter_messages(self) -> Iterable[KeptMessage]:
        """Iterate over the messages, oldest first."""
        return zip(
            (self.created_at, *self.later_times),
            self.read_content().history,
            repeat(self.skill),
            strict=False,
        )

    def clear(self) -> None:
        """Release the content."""
        self.content = _NO_CONTENT
        self.has_plain_log = False

    def to_stored_task(
        self, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> StoredTask:
        """Return the task as it is now."""
        content = self.content
        is_whole = history_length is None and include_artifacts
        task: bytes | Callable[[], bytes]
        if isinstance(content, bytes) and is_whole:
            task = content
        else:
            task = self.read_content().encode(history_length, include_artifacts=include_artifacts)
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
            status_at=self.status_at,
            task=Encoded(Task, task),
            hidden_skills=self.hidden_skills,
        )


class Timeline:
    """Tasks by the position of their last change of state, newest first.

    A task that changes is appended again and leaves a stale entry behind, recognised by its
    position. The oldest entries are removed when they are stale, which is how tasks expire, and
    others when there are too many. So a change costs one append, a page costs its own length, and
    an entry costs sixteen bytes.
    """

    __slots__ = ("_positions", "_stale_count", "_tasks", "size")

    def __init__(self) -> None:
        self._positions = array("q")
        self._tasks: list[MemoryTask] = []
        self._stale_count = 0
        self.size = 0

    def add(self, task: MemoryTask) -> None:
        """Append a task."""
        if self._stale_count > self.size + _MAX_STALE_SLACK:
            self._compact()
        self._positions.append(task.position)
        self._tasks.append(task)
        self.size += 1

    def mark_stale(self) -> None:
        """Count one more stale entry: a task here gets another position."""
        self.size -= 1
        self._stale_count += 1
        if not self._stale_count % _TRIMMED_ENTRIES:
            self._trim()

    def _trim(self) -> None:
        """Remove the oldest entries that are stale."""
        count = 0
        for position, task in zip(self._positions, self._tasks, strict=True):
            if task.position == position:
                break
            count += 1
        del self._tasks[:count], self._positions[:count]
        self._stale_count -= count

    def iter_newest_first(self, before: int | None = None) -> Iterator[MemoryTask]:
        """Iterate over the tasks, from the newest or from before a position."""
        end = len(self._positions) if before is None else bisect_left(self._positions, before)
        for index in range(end - 1, -1, -1):
            task = self._tasks[index]
            if task.position == self._positions[index]:
                yield task

    def _compact(self) -> None:
        self._tasks = [
            task
            for position, task in zip(self._positions, self._tasks, strict=True)
            if task.position == position
        ]
        self._positions = array("q", [task.position for task in self._tasks])
        self._stale_count = 0


class ScopeIndex:
    """The tasks of one scope."""

    __slots__ = ("by_context", "by_state", "by_wire_id", "scope")

    def __init__(self, scope: TaskScope) -> None:
        self.scope = scope
        self.by_wire_id: dict[str, MemoryTask] = {}
        # Oldest first. Most conversations have one task, and a list takes 88 bytes.
        self.by_context: dict[str, MemoryTask | list[MemoryTask]] = {}
        self.by_state: defaultdict[State, Timeline] = defaultdict(Timeline)

    def count(self, state: State | None) -> int:
        """Count the tasks in one state, or all."""
        return sum(
            timeline.size for each, timeline in self.by_state.items() if state in {None, each}
        )

    def iter_newest_first(self, state: State | None, before: int | None) -> Iterator[MemoryTask]:
        """Iterate over the tasks in one state, or all, from the newest or from before a
        position.
        """
        timelines = [
            timeline.iter_newest_first(before)
            for each, timeline in self.by_state.items()
            if state in {None, each}
        ]
        return merge(*timelines, key=attrgetter("position"), reverse=True)


class TaskIndex:
    """The tasks of all scopes."""

    def __init__(
        self,
        clock: Clock,
        holdings: Holdings,
        *,
        max_finished_logs: int,
        max_finished_log_bytes: int,
        dialects: Iterable[str] = (),
    ) -> None:
        self.holdings = holdings
        self.tasks: dict[str, MemoryTask] = {}
        self.scopes: dict[TaskScope, ScopeIndex] = {}
        self.active: dict[str, MemoryTask] = {}
        self._ended: deque[MemoryTask] = deque()
        self._ended_of_dialects: dict[str, deque[MemoryTask]] = {
            dialect: deque() for dialect in dialects
        }
        """The same tasks again, of dialects that are kept for a shorter time."""
        self._logs: deque[tuple[MemoryTask, int]] = deque()
        """Finished tasks whose events are kept, each with their bytes at its end."""
        self._logs_bytes = 0
        self._max_finished_logs = max_finished_logs
        self._max_finished_log_bytes = max_finished_log_bytes
        self._clock = clock
        self._now = 0
        self._last_position = 0
        self._last_key = randbits(_KEY_BITS)

    def now_millis(self) -> int:
        """Return the time, never earlier than before, so that the order of positions is the order
        of times.
        """
        now = self._clock.millis()
        if now <= self._now:  # one object for all of a millisecond
            return self._now
        self._now = now
        return now

    def new_key(self) -> str:
        """Generate the key of a new task: it sorts by age, and differs from the keys of earlier
        processes.
        """
        self._last_key += 1
        return f"{self._last_key:016x}"

    def find(self, scope: TaskScope, wire_id: str) -> MemoryTask | None:
        """Find a task by its wire id."""
        index = self.scopes.get(scope)
        if index is None:
            return None
        return index.by_wire_id.get(wire_id)

    def find_in_context(self, scope: TaskScope, context_id: str) -> Sequence[MemoryTask]:
        """Find the tasks of a conversation, oldest first."""
        index = self.scopes.get(scope)
        found = None if index is None else index.by_context.get(context_id)
        if found is None:
            return ()
        if isinstance(found, MemoryTask):
            return (found,)
        return tuple(found)

    @property
    def size_bytes(self) -> int:
        """Bytes of all tasks."""
        return self.holdings.size_bytes

    def add(self, task: MemoryTask, at: int, size_bytes: int) -> None:
        """Add a new task; an older one with its wire id is found only by its key from now on."""
        index = self.scopes.get(task.scope)
        if index is None:
            index = self.scopes[task.scope] = ScopeIndex(task.scope)
        task.scope = index.scope  # one object for all its tasks
        self.holdings.add_task(task, size_bytes)
        previous = index.by_wire_id.get(task.wire_id)
        if previous is not None:
            index.by_state[previous.state].mark_stale()
            previous.position = -previous.position
        self.tasks[task.key] = task
        index.by_wire_id[task.wire_id] = task
        others = index.by_context.setdefault(task.context_id, task)
        if others is not task:
            if isinstance(others, list):
                others.append(task)
            else:
                index.by_context[task.context_id] = [others, task]
        self.active[task.key] = task
        self._append(index, task, at)

    def restore(self, task: MemoryTask, at: int) -> None:
        """Add a task of an earlier process in its state."""
        self.add(task, at, task.size_bytes)
        if task.state not in lifecycle.ACTIVE:
            del self.active[task.key]
        if task.state in lifecycle.TERMINAL:
            self._append_ended(task)
            self.holdings.release(task, task.pack())

    def change_state(self, task: MemoryTask, state: State, at: int) -> None:
        """Set the state of a task."""
        index = self.scopes[task.scope]
        index.by_state[task.state].mark_stale()
        task.state = state
        self._append(index, task, at)
        if state in lifecycle.ACTIVE or (task.cancel_requested and state not in lifecycle.TERMINAL):
            self.active[task.key] = task
        else:
            self.active.pop(task.key, None)
        if state in lifecycle.TERMINAL:
            self._append_ended(task)

    def keep_log(self, task: MemoryTask) -> None:
        """Keep the log of a task that has ended, and drop those of others that ended before it."""
        log_bytes = task.read_content().log_bytes
        self._logs.append((task, log_bytes))
        self._logs_bytes += log_bytes
        while len(self._logs) > self._max_finished_logs or (
            self._logs_bytes > self._max_finished_log_bytes and len(self._logs) > 1
        ):
            self._drop_oldest_log()

    def _drop_oldest_log(self) -> None:
        task, log_bytes = self._logs.popleft()
        self._logs_bytes -= log_bytes
        content = task.content
        if isinstance(content, TaskContent):
            change = -content.log_bytes
            content.events = None
            content.log_bytes = 0
            self.holdings.resize(task, change + task.pack())

    def _append(self, index: ScopeIndex, task: MemoryTask, at: int) -> None:
        self._last_position += 1
        task.position = self._last_position
        task.status_at = at
        index.by_state[task.state].add(task)

    def remove(self, task: MemoryTask) -> None:
        """Remove a task."""
        index = self.scopes[task.scope]
        del self.tasks[task.key]
        self.active.pop(task.key, None)
        if index.by_wire_id.get(task.wire_id) is task:
            del index.by_wire_id[task.wire_id]
        others = index.by_context[task.context_id]
        if isinstance(others, list):
            others.remove(task)
        if others is task or not others:
            del index.by_context[task.context_id]
        if task.position > 0:
            index.by_state[task.state].mark_stale()
        task.position = 0
        self.holdings.resize(task, -task.size_bytes)
        self.holdings.remove_task(task)
        task.clear()
        if not index.by_context:
            del self.scopes[task.scope]

    def _append_ended(self, task: MemoryTask) -> None:
        self._ended.append(task)
        if task.dialect in self._ended_of_dialects:
            self._ended_of_dialects[task.dialect].append(task)

    def iter_ended(
        self, after: int, until: int, dialect: str | None = None
    ) -> Iterator[MemoryTask]:
        """Iterate over the listed tasks, of all or of a dialect, that ended after one time and up
        to another.
        """
        for task in self._ended if dialect is None else self._ended_of_dialects[dialect]:
            if task.position > 0 and task.status_at > until:
                return
            if task.position > 0 and task.status_at > after:
                yield task

    def pop_ended(
        self,
        ended_by_millis: int | None,
        can_delete: Callable[[MemoryTask], bool],
        dialect: str | None = None,
    ) -> MemoryTask | None:
        """Find the deletable task that ended first, of all or of a dialect, up to a time; it stays
        in the index, but is not returned again.
        """
        ended = self._ended if dialect is None else self._ended_of_dialects[dialect]
        kept: list[MemoryTask] = []
        found = None
        while ended and found is None:
            task = ended.popleft()
            if not task.position:
                continue
            if ended_by_millis is not None and task.status_at > ended_by_millis:
                kept.append(task)
                break
            if can_delete(task):
                found = task
            else:
                kept.append(task)
        ended.extendleft(reversed(kept))
        return found
