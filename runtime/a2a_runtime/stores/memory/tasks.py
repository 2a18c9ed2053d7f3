"""Tasks and their events in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_runtime import lifecycle
from a2a_runtime.caller import TaskScope
from a2a_runtime.clock import to_millis
from a2a_runtime.errors import EventsGoneError, StoreFullError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.memory.index import MemoryTask, Timeline
from a2a_runtime.stores.memory.state import MemoryBase
from a2a_runtime.stores.models import ChangeResult, CreateResult, LoggedEvent, NewTask, StoredTask, TaskChange, TaskPage, TaskQuery


class MemoryTasks(MemoryBase):
    """Creates, reads, changes, lists and deletes tasks; reads their events."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, or find the one that its idempotency key stands for."""
        known = None if new.idempotency_key is None else self._find_idempotency_key(scope, new.idempotency_key)
        if known is not None and new.idempotency_key is not None:
            row, request_hash = known
            changes.check_same_request(new.idempotency_key, request_hash)
            return CreateResult(row.to_stored_task(), is_new=False)
        at = self._index.now_millis()
        if new.wire_id is not None:
            self._check_wire_id(scope, new.wire_id, at)
        key, wire_id = self._index.new_key(), new.wire_id or self._ids.new()
        rows = changes.build_new_rows(new, wire_id, at)
        created = rows.build_result(scope, new, key, wire_id, at)
        self._evict_if_full()
        row = MemoryTask(scope, key, wire_id, new)
        row.status, row.metadata, row.history = rows.status, rows.metadata, ((at, rows.message),)
        row.events = [*created.events]
        self._index.add(row, at)
        if new.idempotency_key is not None:
            self._add_idempotency_key(row, new.idempotency_key)
        if new.record is not None:
            self._records[key] = {(new.record.kind, new.record.key): new.record}
        if new.push_config is not None:
            self._put_config(row, new.push_config, new.dialect)
            self._enqueue_events(row, created.events)
        return created

    async def load_task(
        self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True
    ) -> StoredTask | None:
        """Read a task."""
        row = self._index.find(scope, wire_id)
        return None if row is None else row.to_stored_task(history_length, include_artifacts=include_artifacts)

    async def get_version(self, scope: TaskScope, wire_id: str) -> int | None:
        """Say at which version a task is."""
        row = self._index.find(scope, wire_id)
        return None if row is None else row.version

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task, or refuse to."""
        row = self._index.tasks.get(key)
        if row is None or row.scope != scope:
            raise TaskNotFoundError
        if change.idempotency_key is not None:
            known = self._find_idempotency_key(scope, change.idempotency_key)
            if known is not None:
                changes.check_same_request(change.idempotency_key, known[1])
                return ChangeResult(row.version, row.state, (), is_new=False)
        changes.check_change(row, change)
        at = self._index.now_millis()
        rows = changes.build_change_rows(change, row.wire_id, row.context_id, at)
        metadata = fragments.merge_object(row.metadata, change.metadata) if change.metadata else None
        return self._apply_change(row, change, rows, metadata, at)

    def _apply_change(self, row: MemoryTask, change: TaskChange, rows: changes.ChangeRows, metadata: bytes | None, at: int) -> ChangeResult:
        """Write what was worked out: from here on nothing may fail."""
        events = rows.number_events(row.last_seq, row.state)
        row.status = rows.status or row.status
        row.metadata = metadata or row.metadata
        for chunk in rows.chunks:
            row.write_chunk(chunk)
        if rows.messages:
            row.history = (*row.history, *((at, body) for body in rows.messages))
        row.version += 1
        row.last_seq += len(events)
        if row.events is not None:
            row.events += events
        if change.release_claim:
            row.process = None
        if change.state is not None:
            self._index.change_state(row, change.state, at)
        if row.state in lifecycle.TERMINAL:
            self._finish(row)
        elif change.records:
            self._records.setdefault(row.key, {}).update({(record.kind, record.key): record for record in change.records})
        if change.idempotency_key is not None:
            self._add_idempotency_key(row, change.idempotency_key)
        if self._push_queues:
            self._enqueue_events(row, events)
        return ChangeResult(row.version, row.state, tuple(events))

    def _finish(self, row: MemoryTask) -> None:
        row.pack_artifacts()
        row.process = None
        self._records.pop(row.key, None)
        self._cancels.pop(row.key, None)

    async def list_tasks(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        place = pagination.parse_task_token(query)
        matching = list(self._iter_matching(scope, query, None)) if query.changed_after or query.context_id else None
        rest = self._iter_matching(scope, query, place[0] if place else None)
        page = list(islice(rest, query.page_size + 1))
        shown = page[: query.page_size]
        return TaskPage(
            tasks=[row.to_stored_task(query.history_length, include_artifacts=query.include_artifacts) for row in shown],
            next_page_token=pagination.encode_task_token(query, shown[-1].position, shown[-1].key) if len(page) > len(shown) else "",
            total_size=len(matching) if matching is not None else self._count_tasks(scope, query),
        )

    def _iter_matching(self, scope: TaskScope, query: TaskQuery, before: int | None) -> Iterator[MemoryTask]:
        oldest = 0 if query.changed_after is None else to_millis(query.changed_after)
        for row in self._iter_newest_first(scope, query, before):
            if row.status_at < oldest:
                return
            yield row

    def _iter_newest_first(self, scope: TaskScope, query: TaskQuery, before: int | None) -> Iterator[MemoryTask]:
        if query.context_id is None:
            timeline = self._find_timeline(scope, query)
            return iter(()) if timeline is None else timeline.iter_newest_first(before)
        rows = (row for row in self._index.find_in_context(scope, query.context_id) if row.position > 0 and query.state in {None, row.state})
        return iter(sorted((row for row in rows if before is None or row.position < before), key=lambda row: -row.position))

    def _find_timeline(self, scope: TaskScope, query: TaskQuery) -> Timeline | None:
        room = self._index.scopes.get(scope)
        if room is None:
            return None
        return room.timeline if query.state is None else room.get_timeline(query.state)

    def _count_tasks(self, scope: TaskScope, query: TaskQuery) -> int:
        timeline = self._find_timeline(scope, query)
        return 0 if timeline is None else timeline.size

    async def delete_task(self, scope: TaskScope, wire_id: str) -> bool:
        """Delete a task with all that hangs on it."""
        row = self._index.find(scope, wire_id)
        if row is not None:
            self._delete(row)
        return row is not None

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        row = self._index.tasks.get(key)
        if row is None:
            raise TaskNotFoundError
        if row.events is None:
            if after < row.last_seq:
                raise EventsGoneError
            return ()
        return tuple(row.events[after : after + limit])

    def _check_wire_id(self, scope: TaskScope, wire_id: str, at: int) -> None:
        """Refuse an id that a living task has, or one that ended a short while ago."""
        row = self._index.find(scope, wire_id)
        if row is None:
            return
        if not lifecycle.is_terminal(row.state) or at < row.status_at + self._options.wire_id_reuse_seconds * 1000:
            raise TaskIdInUseError(details={"task_id": wire_id})

    def _evict_if_full(self) -> None:
        """Let the task go that ended longest ago, if the store is full."""
        if len(self._index.tasks) < self._options.max_tasks:
            return
        victim = self._index.pop_ended(None, self._is_delivered)
        if victim is None:
            raise StoreFullError(f"All {self._options.max_tasks} tasks in memory are unfinished or have deliveries left; raise the store's capacity")
        self._expire(victim)
