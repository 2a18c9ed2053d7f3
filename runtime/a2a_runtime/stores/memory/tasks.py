"""Tasks and their events in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter

from msgspec import Struct

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_millis
from a2a_runtime.errors import EventsGoneError, StoreFullError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.memory.index import MemoryTask
from a2a_runtime.stores.memory.state import MemoryBase
from a2a_runtime.stores.models import ChangeResult, CreateResult, LoggedEvent, NewTask, StoredTask, TaskChange, TaskHead, TaskPage, TaskQuery


class PlannedChange(Struct, frozen=True):
    """A change that was checked, with what it writes."""

    task: MemoryTask
    change: TaskChange
    rows: changes.ChangeRows
    metadata: bytes  # of the task, after the change
    at: int


class MemoryTasks(MemoryBase):
    """Create, load, update, list and delete tasks; read events."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one of its idempotency key."""
        if new.idempotency_key is not None and (existing := self._find_idempotent_task(scope, new.idempotency_key)) is not None:
            return CreateResult(existing.to_stored_task(), is_new=False)
        if new.max_open is not None and (index := self._index.scopes.get(scope)) is not None:
            changes.check_open_limit(sum(map(index.count, lifecycle.OPEN)), new.max_open)
        at = self._index.now_millis()
        if new.wire_id is not None:
            self._check_wire_id(scope, new.wire_id, at)
        rows = changes.build_new_rows(new, self._index.new_key(), self._ids, at)
        created = rows.build_result(scope, new)
        if len(self._index.tasks) >= self._options.max_tasks and not self._evict_oldest():
            raise self._to_full_error(f"all {self._options.max_tasks} tasks are", "max_tasks")
        if self._index.size_bytes + self._conversation_bytes > self._options.max_bytes and not self._evict_bytes():
            raise self._to_full_error(f"the content of {self._options.max_bytes} bytes is of tasks that are", "max_bytes")
        if self._outages.is_open:
            self._outages.on_success()
        task = MemoryTask(
            *(scope, rows.key, rows.wire_id, new.context_id, rows.ids, new.skill, new.dialect, new.process),
            epoch=created.stored.epoch,
            status=rows.status,
            metadata=rows.metadata,
            history=(rows.message,),
            created_at=at,
            events=[*created.events],
            hidden_skills=tuple(new.hidden_skills),
        )
        self._index.add(task, at)
        task.content_bytes = task.log_bytes = size_bytes = len(rows.task)
        self._index.size_bytes += 2 * size_bytes
        if new.idempotency_key is not None:
            self._add_idempotency_key(task, new.idempotency_key)
        if new.record is not None:
            self._records[rows.key] = {(new.record.kind, new.record.key): new.record}
        if rows.push_config is not None:
            self._put_config(task, rows.push_config, new.dialect)
            self._enqueue_events(task, created.events)
        return created

    async def load_task(
        self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> StoredTask | None:
        """Load a task."""
        task = self._index.find(scope, wire_id)
        return None if task is None else task.to_stored_task(history_length, include_artifacts=include_artifacts)

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Return the version of a task."""
        task = self._index.find(scope, wire_id)
        return None if task is None else task.version

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change to a task."""
        planned = self._plan_change(scope, key, change)
        return planned if isinstance(planned, ChangeResult) else self._apply_change(planned)

    def _plan_change(self, scope: TaskScope, key: str, change: TaskChange) -> PlannedChange | ChangeResult:
        """Check a change and build its rows; the result if it was applied before."""
        task = self._index.tasks.get(key)
        if task is None or task.scope != scope:
            raise TaskNotFoundError
        if change.idempotency_key is not None and self._find_idempotent_task(scope, change.idempotency_key) is not None:
            return ChangeResult(task.version, task.state, (), is_new=False)
        changes.check_change(TaskHead(task.state, task.version, task.epoch, task.process, task.status_at), change)
        at = self._index.now_millis()
        rows = changes.build_change_rows(change, task.ids or task.encode_ids(), at)
        metadata = fragments.merge_object(task.metadata, change.metadata) if change.metadata else task.metadata
        return PlannedChange(task, change, rows, metadata, at)

    def _apply_change(self, planned: PlannedChange) -> ChangeResult:
        """Write the rows; nothing may fail from here on."""
        task, change, rows, at = planned.task, planned.change, planned.rows, planned.at
        events = rows.number_events(task.last_seq, task.state)
        task.status = rows.status or task.status
        task.metadata = planned.metadata
        self._write_content(task, change, rows)
        if rows.messages:
            task.history += tuple(rows.messages)
            task.later_times += (at,) * len(rows.messages)
        task.version += 1
        task.last_seq += len(events)
        if task.events is not None:
            task.events += events
        if change.release_claim:
            task.process = None
        if change.state is not None:
            self._index.change_state(task, change.state, at)
        if task.state in lifecycle.TERMINAL:
            task.pack_artifacts()
            task.process = None
            if self._records:
                self._records.pop(task.key, None)
        elif change.records:
            self._records.setdefault(task.key, {}).update({(record.kind, record.key): record for record in change.records})
        if change.idempotency_key is not None:
            self._add_idempotency_key(task, change.idempotency_key)
        if self._push_queues:
            self._enqueue_events(task, events)
        return ChangeResult(task.version, task.state, tuple(events))

    def _write_content(self, task: MemoryTask, change: TaskChange, rows: changes.ChangeRows) -> None:
        """Write the chunks, and count the bytes of the change."""
        before = task.content_bytes + task.log_bytes
        for chunk in rows.chunks:
            task.write_chunk(chunk)
        if rows.messages:
            task.content_bytes += sum(map(len, rows.messages))
        if change.status_message is not None:
            task.log_bytes += len(rows.status or b"")
        if task.events is None:
            task.log_bytes = 0
        self._index.size_bytes += task.content_bytes + task.log_bytes - before

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        position = pagination.parse_task_token(query)
        index = self._index.scopes.get(scope)
        if index is None:
            return TaskPage([], "", 0)
        if query.is_plain:
            total_size = index.count(query.state)
        elif position is not None and position.total_size is not None:
            total_size = position.total_size
        else:
            total_size = sum(1 for _ in self._iter_matching(scope, query, None))
        found = list(islice(self._iter_matching(scope, query, position), query.page_size + 1))
        load = partial(MemoryTask.to_stored_task, history_length=query.history_length, include_artifacts=query.include_artifacts)
        return pagination.build_task_page(query, found, total_size, load, attrgetter("position", "key"))

    def _iter_matching(self, scope: TaskScope, query: TaskQuery, position: pagination.TaskPosition | None) -> Iterator[MemoryTask]:
        oldest = 0 if query.changed_after is None else to_millis(query.changed_after)
        if query.by_creation:
            yield from (task for task in self._sort_by_creation(scope, query, position) if task.status_at >= oldest)
            return
        for task in self._iter_newest_first(scope, query, position.at if position else None):
            if task.status_at < oldest:
                return
            yield task

    def _sort_by_creation(self, scope: TaskScope, query: TaskQuery, position: pagination.TaskPosition | None) -> Sequence[MemoryTask]:
        index = self._index.scopes[scope]
        tasks = index.by_wire_id.values() if query.context_id is None else self._index.find_in_context(scope, query.context_id)
        found = [task for task in tasks if task.position > 0 and query.state in {None, task.state} and (position is None or task.key < position.key)]
        return sorted(found, key=attrgetter("key"), reverse=True)

    def _iter_newest_first(self, scope: TaskScope, query: TaskQuery, before: int | None) -> Iterator[MemoryTask]:
        if query.context_id is None:
            return self._index.scopes[scope].iter_newest_first(query.state, before)
        tasks = (task for task in self._index.find_in_context(scope, query.context_id) if task.position > 0 and query.state in {None, task.state})
        return iter(sorted((task for task in tasks if before is None or task.position < before), key=lambda task: -task.position))

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with everything that belongs to it."""
        task = self._index.find(scope, wire_id)
        if task is not None:
            self._delete(task)
        return task is not None

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        task = self._index.tasks.get(key)
        if task is None:
            raise TaskNotFoundError
        kept_after = task.last_seq if task.events is None else task.first_seq - 1
        if after < kept_after:
            raise EventsGoneError
        return () if task.events is None else tuple(task.events[after - kept_after : after - kept_after + limit])

    def _check_wire_id(self, scope: TaskScope, wire_id: str, at: int) -> None:
        """Raise ``TaskIdInUseError`` if a task has the id that is active or ended recently."""
        task = self._index.find(scope, wire_id)
        if task is None:
            return
        if not lifecycle.is_terminal(task.state) or at < task.status_at + self._options.wire_id_reuse_seconds * 1000:
            raise TaskIdInUseError(details={"task_id": wire_id})

    def _evict_oldest(self) -> bool:
        """Delete the task that ended first, its conversation too if it has no other task; return false if there is none."""
        oldest = self._index.pop_ended(None, self._is_delivered)
        if oldest is None:
            return False
        if len(self._index.find_in_context(oldest.scope, oldest.context_id)) > 1:
            self._expire(oldest)
        else:
            self._delete(oldest)
            self._drop_conversation((oldest.scope, oldest.context_id))
        return True

    def _evict_bytes(self) -> bool:
        """Delete tasks that have ended, then conversations, until the content is small enough; return false if it stays too large."""
        while self._index.size_bytes + self._conversation_bytes > self._options.max_bytes:
            if not self._evict_oldest():
                if not self._conversations:
                    return False
                self._drop_conversation(next(iter(self._conversations)))
        return True

    def _to_full_error(self, what: str, option: str) -> StoreFullError:
        fix = f"raise StoreOptions.{option}, or A2A_MEMORY_{option.upper()}"
        error = StoreFullError(f"MemoryStore: {what} unfinished or have pending deliveries; {fix}")
        self._outages.on_failure(error)
        return error
