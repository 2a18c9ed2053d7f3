"""Tasks and their events in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from a2a_contract.errors import TaskIdInUseError, TaskNotFoundError
from a2a_runtime import lifecycle
from a2a_runtime.caller import Scope
from a2a_runtime.clock import millis_of
from a2a_runtime.errors import EventsGoneError, StoreFullError
from a2a_runtime.stores import changes, fragments, pagination
from a2a_runtime.stores.memory.index import Row, Timeline
from a2a_runtime.stores.memory.state import MemoryBase
from a2a_runtime.stores.models import Change, Created, LoggedEvent, NewTask, StoredTask, TaskPage, TaskQuery, Written


class MemoryTasks(MemoryBase):
    """Creates, reads, changes, lists and deletes tasks; reads their events."""

    async def create_task(self, scope: Scope, new: NewTask) -> Created:
        """Create a task, or find the one that its idempotency key stands for."""
        known = None if new.idempotency is None else self._promised(scope, new.idempotency)
        if known is not None and new.idempotency is not None:
            row, request_hash = known
            changes.same_request(new.idempotency, request_hash)
            return Created(row.view(), is_new=False)
        at = self._shelf.now()
        if new.wire_id is not None:
            self._check_free(scope, new.wire_id, at)
        key, wire_id = self._shelf.new_key(), new.wire_id or self._ids.new()
        rows = changes.new_rows(new, wire_id, at)
        created = rows.created(scope, new, key, wire_id, at)
        self._make_room()
        row = Row(scope, key, wire_id, new)
        row.status, row.metadata, row.history = rows.status, rows.metadata, ((at, rows.message),)
        row.events = [*created.events]
        self._shelf.add(row, at)
        if new.idempotency is not None:
            self._promise(row, new.idempotency)
        if new.record is not None:
            self._records[key] = {(new.record.kind, new.record.key): new.record}
        if new.push is not None:
            self._subscribe(row, new.push, new.dialect)
            self._post(row, created.events)
        return created

    async def load_task(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask | None:
        """Read a task."""
        row = self._shelf.find(scope, wire_id)
        return None if row is None else row.view(history_length, include_artifacts=include_artifacts)

    async def get_version(self, scope: Scope, wire_id: str) -> int | None:
        """Say at which version a task is."""
        row = self._shelf.find(scope, wire_id)
        return None if row is None else row.version

    async def update_task(self, scope: Scope, key: str, change: Change) -> Written:
        """Change a task, or refuse to."""
        row = self._shelf.rows.get(key)
        if row is None or row.scope != scope:
            raise TaskNotFoundError
        if change.idempotency is not None:
            known = self._promised(scope, change.idempotency)
            if known is not None:
                changes.same_request(change.idempotency, known[1])
                return Written(row.version, row.state, (), is_new=False)
        changes.refuse(row, change)
        at = self._shelf.now()
        rows = changes.change_rows(change, row.wire_id, row.context_id, at)
        metadata = fragments.merged(row.metadata, change.metadata) if change.metadata else None
        return self._apply(row, change, rows, metadata, at)

    def _apply(self, row: Row, change: Change, rows: changes.ChangeRows, metadata: bytes | None, at: int) -> Written:
        """Write what was worked out: from here on nothing may fail."""
        events = rows.numbered(row.last_seq, row.state)
        row.status = rows.status or row.status
        row.metadata = metadata or row.metadata
        for chunk in rows.chunks:
            row.write(chunk)
        if rows.messages:
            row.history = (*row.history, *((at, body) for body in rows.messages))
        row.version += 1
        row.last_seq += len(events)
        if row.events is not None:
            row.events += events
        if change.release:
            row.process = None
        if change.state is not None:
            self._shelf.move(row, change.state, at)
        if row.state in lifecycle.TERMINAL:
            self._finish(row)
        elif change.records:
            self._records.setdefault(row.key, {}).update({(record.kind, record.key): record for record in change.records})
        if change.idempotency is not None:
            self._promise(row, change.idempotency)
        if self._mailboxes:
            self._post(row, events)
        return Written(row.version, row.state, tuple(events))

    def _finish(self, row: Row) -> None:
        row.pack()
        row.process = None
        self._records.pop(row.key, None)
        self._cancels.pop(row.key, None)

    async def list_tasks(self, scope: Scope, query: TaskQuery) -> TaskPage:
        """List tasks, newest status first."""
        place = pagination.task_place(query)
        matching = list(self._matching(scope, query, None)) if query.changed_after or query.context_id else None
        rest = self._matching(scope, query, place[0] if place else None)
        page = list(islice(rest, query.page_size + 1))
        shown = page[: query.page_size]
        return TaskPage(
            tasks=[row.view(query.history_length, include_artifacts=query.include_artifacts) for row in shown],
            next_page_token=pagination.task_token(query, shown[-1].moved, shown[-1].key) if len(page) > len(shown) else "",
            total_size=len(matching) if matching is not None else self._count(scope, query),
        )

    def _matching(self, scope: Scope, query: TaskQuery, before: int | None) -> Iterator[Row]:
        oldest = 0 if query.changed_after is None else millis_of(query.changed_after)
        for row in self._newest_first(scope, query, before):
            if row.status_at < oldest:
                return
            yield row

    def _newest_first(self, scope: Scope, query: TaskQuery, before: int | None) -> Iterator[Row]:
        if query.context_id is None:
            timeline = self._timeline(scope, query)
            return iter(()) if timeline is None else timeline.newest_first(before)
        rows = (row for row in self._shelf.in_context(scope, query.context_id) if row.moved > 0 and query.state in {None, row.state})
        return iter(sorted((row for row in rows if before is None or row.moved < before), key=lambda row: -row.moved))

    def _timeline(self, scope: Scope, query: TaskQuery) -> Timeline | None:
        room = self._shelf.rooms.get(scope)
        if room is None:
            return None
        return room.timeline if query.state is None else room.of_state(query.state)

    def _count(self, scope: Scope, query: TaskQuery) -> int:
        timeline = self._timeline(scope, query)
        return 0 if timeline is None else timeline.size

    async def delete_task(self, scope: Scope, wire_id: str) -> bool:
        """Delete a task with all that hangs on it."""
        row = self._shelf.find(scope, wire_id)
        if row is not None:
            self._drop(row)
        return row is not None

    async def read_events(self, key: str, after: int, limit: int = 256) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        row = self._shelf.rows.get(key)
        if row is None:
            raise TaskNotFoundError
        if row.events is None:
            if after < row.last_seq:
                raise EventsGoneError
            return ()
        return tuple(row.events[after : after + limit])

    def _check_free(self, scope: Scope, wire_id: str, at: int) -> None:
        """Refuse an id that a living task has, or one that ended a short while ago."""
        row = self._shelf.find(scope, wire_id)
        if row is None:
            return
        if not lifecycle.is_terminal(row.state) or at < row.status_at + self._options.wire_id_reuse * 1000:
            raise TaskIdInUseError(details={"task_id": wire_id})

    def _make_room(self) -> None:
        """Let the task go that ended longest ago, if the store is full."""
        if len(self._shelf.rows) < self._options.capacity:
            return
        victim = self._shelf.take_ended(None, self._is_delivered)
        if victim is None:
            raise StoreFullError(f"All {self._options.capacity} tasks in memory are unfinished or have deliveries left; raise the store's capacity")
        self._outlive(victim)
