"""Following tasks and waiting for them: what a reader gets, in which order, and when it ends.

    no cursor     the task as it is, then every later event
    a cursor      every event after it, also of a task that has ended; where the log has forgotten them, the task as it is in their place

A reader gets the event that ends the task exactly once and nothing after it, or an error. These are async generators: whoever stops early closes
them (``contextlib.aclosing``), and the reader is gone at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from a2a_contract.base import Encoded
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import StreamResponse
from a2a_runtime.caller import Scope
from a2a_runtime.errors import EventsGoneError, TaskTerminalError
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.stores.port import LoggedEvent, Store, StoredTask
from a2a_runtime.streams.hub import Hub

SETTLED: frozenset[State] = TERMINAL | INTERRUPTED
"""States in which a caller's turn has come, or never comes again."""

CURSOR = "Last-Event-ID"
"""What readers of streams call the number of the event that they have seen last."""


class Reading:
    """The reading side of the engine."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self._store, self._hub = store, hub

    async def load(self, scope: Scope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
        """Read a task, or raise that there is none."""
        stored = await self._store.load_task(scope, wire_id, history_length, include_artifacts=include_artifacts)
        if stored is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return stored

    async def follow(
        self, scope: Scope, wire_id: str, cursor: int | None = None, until: frozenset[State] = TERMINAL
    ) -> AsyncGenerator[LoggedEvent, None]:
        """Follow a task up to and with the event that leaves it in one of these states.

        Without a cursor the first event is the task as it is; for a task that has ended that is refused (``TaskTerminalError``).
        """
        stored = await self.load(scope, wire_id, 0 if cursor is not None else None, include_artifacts=cursor is None)
        if cursor is None:
            if stored.state in TERMINAL:
                raise TaskTerminalError(f"The task has ended ({stored.state.name})")
            return self.from_snapshot(stored, until)
        if cursor > stored.last_seq:
            raise InvalidParamsError(fields=((CURSOR, f"The task has {stored.last_seq} events; there is none after number {cursor}"),))
        return self._from_cursor(stored, cursor, until)

    async def from_snapshot(self, stored: StoredTask, until: frozenset[State] = TERMINAL) -> AsyncGenerator[LoggedEvent, None]:
        """Yield a task as it was read, and then what has happened since."""
        yield snapshot(stored)
        if stored.state not in until:
            async with aclosing(self.after(stored.key, stored.last_seq, until)) as events:
                async for event in events:
                    yield event

    async def after(self, key: str, cursor: int, until: frozenset[State] = TERMINAL) -> AsyncGenerator[LoggedEvent, None]:
        """Yield what happens to a task after an event."""
        async with aclosing(self._hub.follow(key, cursor)) as events:
            async for event in events:
                yield event
                if event.state in until:
                    return

    async def _from_cursor(self, stored: StoredTask, cursor: int, until: frozenset[State]) -> AsyncGenerator[LoggedEvent, None]:
        if cursor == stored.last_seq and stored.state in TERMINAL:
            return
        try:
            async with aclosing(self.after(stored.key, cursor, until)) as events:
                async for event in events:
                    yield event
        except EventsGoneError:
            async with aclosing(self.from_snapshot(await self.load(stored.scope, stored.wire_id), until)) as events:
                async for event in events:
                    yield event


def snapshot(stored: StoredTask) -> LoggedEvent:
    """Make an event of a whole task, with the number of the last event that is in it."""
    return LoggedEvent(stored.last_seq, b'{"task":%b}' % stored.task.json, stored.state)


def response(event: LoggedEvent) -> Encoded[StreamResponse]:
    """See an event as what it is on the wire."""
    return Encoded.raw(StreamResponse, event.body)
