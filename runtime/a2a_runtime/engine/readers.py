"""Readers of tasks that survive a log without the event at their cursor.

the log …                                        a reader gets
has the event at the cursor                      what follows it
is deleted, since the task has ended             the task as a snapshot
fell back, with the database, and is shorter     the task as a snapshot, then what follows
fell back and has grown past the cursor again    the same
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.hub import EventHub
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.stores.base import TaskStore
from a2a_runtime.stores.models import LoggedEvent, StoredTask


class TaskReaders:
    """Reads tasks, and follows them from an event on."""

    def __init__(self, store: TaskStore, hub: EventHub) -> None:
        self._store = store
        self._hub = hub

    async def load(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask:
        """Read a task; ``TaskNotFoundError`` if it does not exist."""
        stored = await self._store.load_task(
            scope, wire_id, history_length, include_artifacts=include_artifacts
        )
        if stored is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return stored

    async def follow(
        self,
        stored: StoredTask,
        cursor: int | None,
        until: frozenset[State] = TERMINAL,
        *,
        mark: int = 0,
        shows_messages: bool = False,
    ) -> AsyncGenerator[LoggedEvent, None]:
        """Follow a task from an event with a mark on, up to the event that brings it into one of
        these states.

        Without a cursor, the task comes first, as a snapshot.
        """
        if cursor is None:
            yield stored.to_event()
            if stored.state in until:
                return
            cursor = stored.last_seq
            mark = stored.mark
        is_at_end = cursor == stored.last_seq and mark in {0, stored.mark}
        if is_at_end and stored.state in TERMINAL:
            return
        while True:
            following = self._hub.follow(
                stored.key, cursor, until, mark=mark, shows_messages=shows_messages
            )
            try:
                async with aclosing(following) as events:
                    async for event in events:
                        yield event
            except EventsGoneError:
                stored = await self.load(stored.scope, stored.wire_id)
            else:
                return
            yield stored.to_event()
            if stored.state in until or stored.state in TERMINAL:
                return
            cursor = stored.last_seq
            mark = stored.mark

    async def wait(
        self,
        stored: StoredTask,
        cursor: int,
        until: frozenset[State],
        *,
        mark: int = 0,
        is_current: bool = False,
    ) -> LoggedEvent:
        """Wait for the first event after the cursor that brings the task into one of these states,
        or ends it.

        ``is_current`` states that the log has no event after the cursor, and that this process
        writes the next one.
        """
        while True:
            try:
                return await self._hub.wait_for(
                    stored.key, cursor, until, mark=mark, is_current=is_current
                )
            except EventsGoneError:
                stored = await self.load(stored.scope, stored.wire_id, 0, include_artifacts=False)
            if stored.state in until or stored.state in TERMINAL:
                return stored.to_event()
            cursor = stored.last_seq
            mark = stored.mark
            is_current = False
