"""The engine: tasks as a request sees them, without HTTP. One per process, for all agents and surfaces that share a store.

    async with Engine(store, Skills(Skill("echo", echo))) as engine:
        accepted = await engine.start(scope, NewTask(…), caller)      committed; the handler runs
        await engine.wait(accepted.stored.key, accepted.cursor)       until it has ended, or asks for something

Every call is scoped; a task of another scope is one that does not exist.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from a2a_contract.base import Encoded
from a2a_contract.errors import InvalidAgentResponseError, InvalidParamsError, TaskNotFoundError, UnavailableError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import Message, StreamResponse
from a2a_runtime.caller import Caller, Scope
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.errors import EventsGoneError, TaskTerminalError
from a2a_runtime.execution.background import Loops
from a2a_runtime.execution.context import Context, Dialler, NoDialler, World
from a2a_runtime.execution.follow_ups import Accepted, FollowUps
from a2a_runtime.execution.replay import PLAIN, Request
from a2a_runtime.execution.run import call
from a2a_runtime.execution.runner import EmbeddedRunner, Runner, Skills
from a2a_runtime.execution.signals import Ended
from a2a_runtime.execution.writer import Teller, cancel_parked
from a2a_runtime.ids import Ids
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Idempotency, LoggedEvent, NewTask, Run, Store, StoredTask, TaskPage, TaskQuery
from a2a_runtime.streams.hub import Hub
from a2a_runtime.streams.notifier import Doorbell

# Following tasks and waiting for them: what a reader gets, in which order, and when it ends.
#
#     no cursor     the task as it is, then every later event
#     a cursor      every event after it, also of a task that has ended; where the log has forgotten them, the task as it is in their place
#
# A reader gets the event that ends the task exactly once and nothing after it, or an error. These are async generators: whoever stops early closes
# them (``contextlib.aclosing``), and the reader is gone at once.
#

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


log = logging.getLogger(__name__)

_BELL_RETRY = 1.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What an engine can be given in place of its own."""

    settings: Settings = Settings()  # noqa: RUF009  # frozen, all of it
    clock: Clock = SystemClock()  # noqa: RUF009  # without state
    bell: Doorbell | None = None  # None: nobody else works on this store
    dialler: Dialler = NoDialler()  # noqa: RUF009  # as the clock


class Engine(Reading):
    """Takes messages, runs handlers, and tells how it goes."""

    def __init__(self, store: Store, skills: Skills, parts: Parts | None = None, runner: Runner | None = None) -> None:
        parts = parts or Parts()
        settings = parts.settings
        hub = Hub(store, window=settings.stream_window, patience_seconds=settings.store_patience)
        super().__init__(store, hub)
        self._settings, self._skills, self._bell = settings, skills, parts.bell
        self._teller = Teller(hub, parts.bell)
        self._world = World(store, Ids(parts.clock), parts.dialler)
        self.runner: Runner = runner or EmbeddedRunner(self._world, skills, self._teller, parts.clock, settings)
        self._follow_ups = FollowUps(self, store, self._teller, self.runner)
        self._loops = Loops(parts.clock)
        self._closing = False
        self._clock = parts.clock

    async def open(self) -> None:
        """Open the store, hear of others, and go on with what was left behind."""
        async with AsyncExitStack() as undo:
            await self._store.open()
            undo.push_async_callback(self._store.close)
            undo.push_async_callback(self._loops.stop)
            self._loops.every(self._settings.retention_sweep, self._store.sweep)
            if self._bell is not None:
                self._loops.every(_BELL_RETRY, partial(self._listen, self._bell))
            await self.runner.open()
            undo.pop_all()

    async def close(self, grace: float | None = None) -> None:
        """Take no more work, give running tasks some time, hand over the rest, and close the store."""
        self._closing = True
        async with AsyncExitStack() as last:
            last.push_async_callback(self._store.close)
            last.push_async_callback(self._loops.stop)
            await self.runner.close(self._settings.shutdown_grace if grace is None else grace)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def start(self, scope: Scope, new: NewTask, caller: Caller | None = None) -> Accepted:
        """Create a task and have its handler run; the same task again for an idempotency key that has one."""
        self._refuse_when_closing()
        self._skills.need(scope.surface, new.skill)  # before the task is there and nobody can run it
        if new.process is None and self.runner.process is not None:
            new = replace(new, process=self.runner.process)
        created = await self._store.create_task(scope, new)
        stored = created.stored
        if created.is_new:
            self._teller.tell(stored.key, created.events)
            self.runner.launch(Run(stored, () if new.record is None else (new.record,)), caller or Caller(scope.owner, scope.tenant), new.message)
        return Accepted(stored, stored.last_seq, is_new=created.is_new)

    async def message(self, scope: Scope, wire_id: str, message: Message, idempotency: Idempotency | None = None) -> Accepted:
        """Give a message to an existing task: as the answer to what it asks, or into its history."""
        self._refuse_when_closing()
        return await self._follow_ups.take(scope, wire_id, message, idempotency)

    def wait(self, key: str, cursor: int, until: frozenset[State] = SETTLED) -> Coroutine[object, object, LoggedEvent]:
        """Wait for the first event after the cursor that leaves the task in one of these states, or ends it.

        Await it at once: whether anything has happened since the cursor is looked up by the call itself.
        """
        return self._hub.until(key, cursor, until, fresh=self.runner.last_seq(key) == cursor)

    async def settled(self, accepted: Accepted, history_length: int | None = None) -> StoredTask:
        """Wait until the task of a message has ended, or asks for something, and read it, unless it comes with that event."""
        stored = accepted.stored
        if accepted.is_new or stored.state not in SETTLED:
            with suppress(EventsGoneError):  # only of a task that has ended
                event = await self.wait(stored.key, accepted.cursor)
                if event.stored is not None and history_length is None:
                    return event.stored
        return await self.load(stored.scope, stored.wire_id, history_length)

    async def answer(self, scope: Scope, skill_id: str, message: Message, caller: Caller | None = None, request: Request = PLAIN) -> Message:
        """Have a skill answer with a message: no task, and nothing stored."""
        self._refuse_when_closing()
        skill = self._skills.need(scope.surface, skill_id)
        context = Context(self._world, scope, caller or Caller(scope.owner, scope.tenant), message.context_id or self._world.ids.new(), message)
        context.request = request
        try:
            async with asyncio.timeout(skill.timeout):
                answer = await call(skill, context, _no_stream)
                return answer if isinstance(answer, Message) else context.reply(answer)
        except Ended as ended:
            return ended.message
        except Exception as error:  # the edge of a request: whatever a handler raises
            log.exception("the handler of skill %s failed", skill.id)
            raise InvalidAgentResponseError from error

    async def list(self, scope: Scope, query: TaskQuery) -> TaskPage:
        """Read one page of a caller's tasks."""
        return await self._store.list_tasks(scope, query)

    async def cancel(self, scope: Scope, wire_id: str) -> StoredTask:
        """Ask for the end of a task, and wait a little for it; a task that has ended cannot be canceled (``TaskNotCancelableError``)."""
        stored = await self._store.request_cancel(scope, wire_id)
        with suppress(TimeoutError, TaskNotFoundError):
            async with asyncio.timeout(self._settings.cancel_wait):
                await self._see_to_end(stored)
        return await self.load(scope, wire_id)

    async def _see_to_end(self, stored: StoredTask) -> None:
        cursor, state = stored.last_seq, stored.state
        while state not in TERMINAL:
            if state in INTERRUPTED and await cancel_parked(self._store, self._teller, replace(stored, state=state)):
                return
            if not self.runner.cancel(stored.key):
                if self._bell is not None:
                    self._bell.ring((stored.key,))
                await self.runner.resume(stored.key)
            event = await self.wait(stored.key, cursor)
            cursor, state = event.seq, event.state

    def ring(self, keys: Iterable[str]) -> None:
        """Hear that another process has news of tasks."""
        keys = frozenset(keys)
        self._hub.ring(keys - self.runner.hear(keys))

    def ring_all(self) -> None:
        """Hear that bells may have been lost."""
        self._hub.ring_all()

    async def _listen(self, bell: Doorbell) -> None:
        self.ring_all()  # what was rung before, nobody here has heard
        await bell.listen(self)

    def _refuse_when_closing(self) -> None:
        if self._closing:
            raise UnavailableError


async def _no_stream(_value: object) -> None:
    raise TypeError("a skill that answers with a message has nothing to stream into")
