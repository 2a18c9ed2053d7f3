"""Tasks and their events in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter

from msgspec import Struct

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_runtime.base import lifecycle
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import to_millis
from a2a_runtime.errors import EventsGoneError, StoreFullError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.memory.content import TaskContent
from a2a_runtime.stores.memory.index import MemoryTask
from a2a_runtime.stores.memory.state import MemoryBase
from a2a_runtime.stores.models import (
    ChangeResult,
    CreateResult,
    LateEvents,
    LoggedEvent,
    NewTask,
    StoredTask,
    TaskChange,
    TaskHead,
    TaskPage,
    TaskQuery,
)


class PlannedChange(Struct, frozen=True, gc=False):
    """A change that was checked, with what it writes."""

    task: MemoryTask
    content: TaskContent
    rows: changes.ChangeRows
    events: Sequence[LoggedEvent] | None  # None: the log stays plain
    metadata: bytes  # of the task, after the change
    at: int

    @property
    def event_count(self) -> int:
        """Number of the events that the change appends."""
        if self.events is None:
            return self.rows.event_count
        return len(self.events)


class MemoryTasks(MemoryBase):
    """Create, load, update, list and delete tasks; read events."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one of its idempotency key."""
        if (
            new.idempotency_key is not None
            and (existing := self._find_idempotent_task(scope, new.idempotency_key)) is not None
        ):
            return CreateResult(existing.to_stored_task(), is_new=False)
        if new.max_open is not None and (index := self._index.scopes.get(scope)) is not None:
            changes.check_open_limit(sum(map(index.count, lifecycle.OPEN)), new.max_open)
        limit_key = new.limit_key or scope.limit_key
        holdings = self._index.holdings
        holdings.check_task(limit_key)
        at = self._index.now_millis()
        if new.wire_id is not None:
            self._check_wire_id(scope, new.wire_id, at)
        rows = changes.build_new_rows(new, self._index.new_key(), self._ids, at)
        created = rows.build_result(scope, new)
        if len(self._index.tasks) >= self._options.max_tasks and not self._evict_task():
            raise self._to_full_error(f"all {self._options.max_tasks} tasks are", "max_tasks")
        if (
            holdings.size_bytes + self._conversation_bytes > self._options.max_bytes
            and not self._evict_bytes()
        ):
            raise self._to_full_error(
                f"the content of {self._options.max_bytes} bytes is of tasks that are", "max_bytes"
            )
        if self._outages.is_open:
            self._outages.on_success()
        size_bytes = len(rows.ids) + len(rows.status) + len(rows.message) + len(rows.metadata)
        task = MemoryTask(
            scope,
            rows.key,
            rows.wire_id,
            new.context_id,
            new.skill,
            new.dialect,
            new.process,
            epoch=created.stored.epoch,
            content=TaskContent(
                rows.ids, rows.status, rows.metadata, (rows.message,), {}, size_bytes
            ),
            created_at=at,
            hidden_skills=created.stored.hidden_skills,
            limit_key=limit_key,
        )
        self._index.add(task, at, size_bytes)
        if new.idempotency_key is not None:
            self._add_idempotency_key(task, new.idempotency_key)
        if new.record is not None:
            self._add_records(task, (new.record,))
        if rows.push_config is not None:
            self._put_config(task, rows.push_config, new.dialect)
            self._enqueue_events(task, created.events)
        return created

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Load a task."""
        task = self._find_readable(scope, wire_id)
        if task is None:
            return None
        return task.to_stored_task(history_length, include_artifacts=include_artifacts)

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Return the version of a task."""
        task = self._find_readable(scope, wire_id)
        if task is None:
            return None
        return task.version

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change to a task."""
        planned = self._plan_change(scope, key, change)
        if isinstance(planned, ChangeResult):
            return planned
        return self._apply_change(planned)

    def _plan_change(
        self, scope: TaskScope, key: str, change: TaskChange
    ) -> PlannedChange | ChangeResult:
        """Check a change and build its rows; the result if it was applied before."""
        task = self._index.tasks.get(key)
        if task is None or task.scope != scope:
            raise TaskNotFoundError
        if (
            change.idempotency_key is not None
            and self._find_idempotent_task(scope, change.idempotency_key) is not None
        ):
            return ChangeResult(task.version, task.state, task.last_seq, is_new=False)
        head = TaskHead(
            task.state,
            task.version,
            task.epoch,
            task.process,
            task.status_at,
            task.writes,
            task.last_seq,
        )
        if (
            change.number == task.writes
            and (repeated := changes.find_repeated(head, change)) is not None
        ):
            return repeated
        changes.check_change(head, change)
        if change.messages and change.epoch is None:
            self._index.holdings.check_message(task.limit_key)
        at = self._index.now_millis()
        content = task.read_content()
        rows = changes.build_change_rows(change, content.ids, at)
        metadata = content.metadata
        if change.metadata:
            metadata = fragments.merge_object(metadata, change.metadata)
        events = None
        if not _is_plain_end(task, change):
            events = changes.number_events(rows.encode_events(), task.last_seq, task.state)
        return PlannedChange(task, content, rows, events, metadata, at)

    def _apply_change(self, planned: PlannedChange) -> ChangeResult:
        """Write the rows; nothing may fail from here on."""
        task = planned.task
        at = planned.at
        change = planned.rows.change
        growth = self._write_content(planned)
        task.version += 1
        task.last_seq += planned.event_count
        if change.number is not None:
            task.writes = change.number
        if change.release_claim:
            task.process = None
        if change.state is not None:
            self._index.change_state(task, change.state, at)
        stored = None
        if change.state in lifecycle.TERMINAL:
            stored = self._end(task, growth)
        else:
            self._index.holdings.resize(task, growth)
        if change.records and task.state not in lifecycle.TERMINAL:
            self._add_records(task, change.records)
        if change.idempotency_key is not None:
            self._add_idempotency_key(task, change.idempotency_key)
        events = LateEvents(task.encode_end) if planned.events is None else planned.events
        if self._push_queues:
            self._enqueue_events(task, events)
        return ChangeResult(task.version, task.state, task.last_seq, events, stored=stored)

    def _end(self, task: MemoryTask, growth: int) -> StoredTask:
        """Release what a task does not need after its end, count its bytes, and return it."""
        task.process = None
        growth += task.pack()
        if not task.has_plain_log:
            self._index.keep_log(task)
        if self._records:
            self._drop_records(task)
        if self._push_queues and self._will_deliver(task):
            self._index.holdings.resize(task, growth)
        else:
            self._index.holdings.release(task, growth)
        return task.to_stored_task()

    def _write_content(self, planned: PlannedChange) -> int:
        """Write status, metadata, chunks and log, and return by how many bytes the task has grown
        or shrunk.
        """
        task = planned.task
        content = planned.content
        rows = planned.rows
        before = content.size_bytes + content.log_bytes
        if task.content is not content:
            before = task.size_bytes
            task.content = content
        is_listed = task.has_plain_log and planned.events is not None
        if is_listed:
            task.list_log(content)
        content.status = rows.status or content.status
        content.metadata = planned.metadata
        for chunk in rows.chunks:
            content.write_chunk(chunk)
        if rows.messages:
            content.history += tuple(rows.messages)
            task.later_times += (planned.at,) * len(rows.messages)
            content.size_bytes += sum(map(len, rows.messages))
        if content.events is None:
            content.log_bytes = 0
        else:
            content.events += planned.events or ()
            if rows.change.status_message is not None:
                content.log_bytes += len(rows.status or b"")
        growth = content.size_bytes + content.log_bytes - before
        if task.state in lifecycle.TERMINAL:
            growth += task.pack()
            # This comes last: it may drop this log at once, and the content with it.
            if is_listed:
                self._index.keep_log(task)
        return growth

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        position = pagination.parse_task_token(query)
        index = self._index.scopes.get(scope)
        if index is None:
            return TaskPage([], "", 0)
        if query.is_plain:
            total_size = index.count(query.state) - self._count_over(scope, query.state)
        elif position is not None and position.total_size is not None:
            total_size = position.total_size
        else:
            total_size = sum(1 for _ in self._iter_matching(scope, query, None))
        found = list(islice(self._iter_matching(scope, query, position), query.page_size + 1))
        load = partial(
            MemoryTask.to_stored_task,
            history_length=query.history_length,
            include_artifacts=query.include_artifacts,
        )
        return pagination.build_task_page(
            query, found, total_size, load, attrgetter("position", "key")
        )

    def _iter_matching(
        self, scope: TaskScope, query: TaskQuery, position: pagination.TaskPosition | None
    ) -> Iterator[MemoryTask]:
        oldest = 0 if query.changed_after is None else to_millis(query.changed_after)
        hidden = query.hidden_skills
        if query.by_creation:
            found = self._sort_by_creation(scope, query, position)
            yield from (
                task
                for task in found
                if task.status_at >= oldest and task.skill not in hidden and not self._is_over(task)
            )
            return
        for task in self._iter_newest_first(scope, query, position.at if position else None):
            if task.status_at < oldest:
                return
            if task.skill not in hidden and not self._is_over(task):
                yield task

    def _sort_by_creation(
        self, scope: TaskScope, query: TaskQuery, position: pagination.TaskPosition | None
    ) -> Sequence[MemoryTask]:
        index = self._index.scopes[scope]
        tasks: Iterable[MemoryTask] = index.by_wire_id.values()
        if query.context_id is not None:
            tasks = self._index.find_in_context(scope, query.context_id)
        found = [
            task
            for task in tasks
            if task.position > 0
            and query.state in {None, task.state}
            and (position is None or task.key < position.key)
        ]
        return sorted(found, key=attrgetter("key"), reverse=True)

    def _iter_newest_first(
        self, scope: TaskScope, query: TaskQuery, before: int | None
    ) -> Iterator[MemoryTask]:
        if query.context_id is None:
            return self._index.scopes[scope].iter_newest_first(query.state, before)
        tasks = (
            task
            for task in self._index.find_in_context(scope, query.context_id)
            if task.position > 0 and query.state in {None, task.state}
        )
        return iter(
            sorted(
                (task for task in tasks if before is None or task.position < before),
                key=lambda task: -task.position,
            )
        )

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with everything that belongs to it."""
        task = self._index.find(scope, wire_id)
        if task is not None:
            self._delete(task)
        return task is not None

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read the events after a cursor.

        Memory never falls back to an earlier state, so its events have no marks.
        """
        task = self._index.tasks.get(key)
        if task is None or self._is_over(task):
            raise TaskNotFoundError
        changes.check_read(after, mark, task.last_seq, None)
        events = task.encode_log() if task.has_plain_log else task.read_content().events
        kept_after = task.last_seq if events is None else task.first_seq - 1
        if after < kept_after:
            raise EventsGoneError
        if events is None:
            return ()
        return tuple(events[after - kept_after : after - kept_after + limit])

    def _check_wire_id(self, scope: TaskScope, wire_id: str, at: int) -> None:
        """Raise ``TaskIdInUseError`` if a task has the id that is active or ended recently."""
        task = self._index.find(scope, wire_id)
        if task is None:
            return
        if (
            not lifecycle.is_terminal(task.state)
            or at < task.status_at + self._options.wire_id_reuse_seconds * 1000
        ):
            raise TaskIdInUseError(details={"task_id": wire_id})

    def _evict_task(self) -> bool:
        """Delete a task that has ended, of the caller who holds most; return false if there is
        none.
        """
        holdings = self._index.holdings
        while (holding := holdings.find_largest(needs_task=True)) is not None:
            oldest = holdings.pop_ended(holding)
            if oldest is not None:
                self._evict(oldest)
                return True
        return False

    def _evict(self, oldest: MemoryTask) -> None:
        """Delete a task, its conversation too if it has no other task."""
        if len(self._index.find_in_context(oldest.scope, oldest.context_id)) > 1:
            self._expire(oldest)
        else:
            self._delete(oldest)
            self._drop_conversation((oldest.scope, oldest.context_id))

    def _evict_bytes(self) -> bool:
        """Delete tasks that have ended, then conversations, of the caller who holds most, until all
        fits; return false if it does not.
        """
        holdings = self._index.holdings
        while self._index.size_bytes + self._conversation_bytes > self._options.max_bytes:
            holding = holdings.find_largest()
            if holding is None:
                return False
            oldest = holdings.pop_ended(holding)
            if oldest is not None:
                self._evict(oldest)
            elif holding.conversations:
                self._drop_conversation(next(iter(holding.conversations)))
        return True

    def _to_full_error(self, what: str, option: str) -> StoreFullError:
        fix = f"raise StoreOptions.{option}, or A2A_MEMORY_{option.upper()}"
        error = StoreFullError(f"MemoryStore: {what} unfinished or have pending deliveries; {fix}")
        self._outages.on_failure(error)
        return error


def _is_plain_end(task: MemoryTask, change: TaskChange) -> bool:
    """Return whether a change is the first one of a task and its end, and its events say nothing
    that the task does not.
    """
    if (
        change.state not in lifecycle.TERMINAL
        or task.version >= changes.FIRST_CHANGE_VERSION
        or not task.has_plain_log
    ):
        return False
    for write in change.chunks:
        if write.append or not write.last_chunk:
            return False
    return not (change.metadata or change.event_metadata or change.is_batch)
