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
from a2a_runtime.caller import Caller, TaskScope
from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.errors import EventsGoneError, TaskTerminalError
from a2a_runtime.execution.background import BackgroundTasks
from a2a_runtime.execution.context import Context, ContextDependencies, Fetcher, NoFetcher
from a2a_runtime.execution.follow_ups import AcceptedMessage, FollowUpMessages
from a2a_runtime.execution.replay import EMPTY_REQUEST_INFO, RequestInfo
from a2a_runtime.execution.run import call_handler
from a2a_runtime.execution.runner import InProcessRunner, Runner, Skills
from a2a_runtime.execution.signals import TaskEnded
from a2a_runtime.execution.writer import EventPublisher, cancel_suspended
from a2a_runtime.ids import IdGenerator
from a2a_runtime.lifecycle import INTERRUPTED
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import ClaimedRun, IdempotencyKey, LoggedEvent, NewTask, Store, StoredTask, TaskPage, TaskQuery
from a2a_runtime.streams.hub import EventHub
from a2a_runtime.streams.notifier import Notifier

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

CURSOR_HEADER = "Last-Event-ID"
"""What readers of streams call the number of the event that they have seen last."""


class TaskReader:
    """The reading side of the engine."""

    def __init__(self, store: Store, hub: EventHub) -> None:
        self._store, self._hub = store, hub

    async def load(self, scope: TaskScope, wire_id: str, history_length: int | None = None, *, include_artifacts: bool = True) -> StoredTask:
        """Read a task, or raise that there is none."""
        stored = await self._store.load_task(scope, wire_id, history_length, include_artifacts=include_artifacts)
        if stored is None:
            raise TaskNotFoundError(details={"task_id": wire_id})
        return stored

    async def follow(
        self, scope: TaskScope, wire_id: str, cursor: int | None = None, until: frozenset[State] = TERMINAL
    ) -> AsyncGenerator[LoggedEvent, None]:
        """Follow a task up to and with the event that leaves it in one of these states.

        Without a cursor the first event is the task as it is; for a task that has ended that is refused (``TaskTerminalError``).
        """
        stored = await self.load(scope, wire_id, 0 if cursor is not None else None, include_artifacts=cursor is None)
        if cursor is None:
            if stored.state in TERMINAL:
                raise TaskTerminalError(f"The task has ended ({stored.state.name})")
            return self.follow_snapshot(stored, until)
        if cursor > stored.last_seq:
            raise InvalidParamsError(fields=((CURSOR_HEADER, f"The task has {stored.last_seq} events; there is none after number {cursor}"),))
        return self._follow_cursor(stored, cursor, until)

    async def follow_snapshot(self, stored: StoredTask, until: frozenset[State] = TERMINAL) -> AsyncGenerator[LoggedEvent, None]:
        """Yield a task as it was read, and then what has happened since."""
        yield to_snapshot_event(stored)
        if stored.state not in until:
            async with aclosing(self.follow_after(stored.key, stored.last_seq, until)) as events:
                async for event in events:
                    yield event

    async def follow_after(self, key: str, cursor: int, until: frozenset[State] = TERMINAL) -> AsyncGenerator[LoggedEvent, None]:
        """Yield what happens to a task after an event."""
        async with aclosing(self._hub.follow(key, cursor)) as events:
            async for event in events:
                yield event
                if event.state in until:
                    return

    async def _follow_cursor(self, stored: StoredTask, cursor: int, until: frozenset[State]) -> AsyncGenerator[LoggedEvent, None]:
        if cursor == stored.last_seq and stored.state in TERMINAL:
            return
        try:
            async with aclosing(self.follow_after(stored.key, cursor, until)) as events:
                async for event in events:
                    yield event
        except EventsGoneError:
            async with aclosing(self.follow_snapshot(await self.load(stored.scope, stored.wire_id), until)) as events:
                async for event in events:
                    yield event


def to_snapshot_event(stored: StoredTask) -> LoggedEvent:
    """Make an event of a whole task, with the number of the last event that is in it."""
    return LoggedEvent(stored.last_seq, b'{"task":%b}' % stored.task.json, stored.state)


def to_stream_response(event: LoggedEvent) -> Encoded[StreamResponse]:
    """See an event as what it is on the wire."""
    return Encoded.raw(StreamResponse, event.body)


log = logging.getLogger(__name__)

_NOTIFIER_RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine can be given in place of its own."""

    settings: Settings = Settings()  # noqa: RUF009  # frozen, all of it
    clock: Clock = SystemClock()  # noqa: RUF009  # without state
    notifier: Notifier | None = None  # None: nobody else works on this store
    fetcher: Fetcher = NoFetcher()  # noqa: RUF009  # as the clock


class Engine(TaskReader):
    """Takes messages, runs handlers, and tells how it goes."""

    def __init__(self, store: Store, skills: Skills, options: EngineOptions | None = None, runner: Runner | None = None) -> None:
        options = options or EngineOptions()
        settings = options.settings
        hub = EventHub(store, buffer_events=settings.stream_buffer_events, retry_timeout_seconds=settings.store_retry_timeout)
        super().__init__(store, hub)
        self._settings, self._skills, self._notifier = settings, skills, options.notifier
        self._publisher = EventPublisher(hub, options.notifier)
        self._dependencies = ContextDependencies(store, IdGenerator(options.clock), options.fetcher)
        self.runner: Runner = runner or InProcessRunner(self._dependencies, skills, self._publisher, options.clock, settings)
        self._follow_ups = FollowUpMessages(self, store, self._publisher, self.runner)
        self._background = BackgroundTasks(options.clock)
        self._is_closing = False
        self._clock = options.clock

    async def open(self) -> None:
        """Open the store, hear of others, and go on with what was left behind."""
        async with AsyncExitStack() as undo:
            await self._store.open()
            undo.push_async_callback(self._store.close)
            undo.push_async_callback(self._background.stop)
            self._background.run_every(self._settings.cleanup_interval, self._store.delete_expired)
            if self._notifier is not None:
                self._background.run_every(_NOTIFIER_RETRY_SECONDS, partial(self._listen, self._notifier))
            await self.runner.open()
            undo.pop_all()

    async def close(self, grace: float | None = None) -> None:
        """Take no more work, give running tasks some time, hand over the rest, and close the store."""
        self._is_closing = True
        async with AsyncExitStack() as last:
            last.push_async_callback(self._store.close)
            last.push_async_callback(self._background.stop)
            await self.runner.close(self._settings.shutdown_grace if grace is None else grace)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def start(self, scope: TaskScope, new: NewTask, caller: Caller | None = None) -> AcceptedMessage:
        """Create a task and have its handler run; the same task again for an idempotency key that has one."""
        self._require_open()
        self._skills.require(scope.surface, new.skill)  # before the task is there and nobody can run it
        if new.process is None and self.runner.process is not None:
            new = replace(new, process=self.runner.process)
        created = await self._store.create_task(scope, new)
        stored = created.stored
        if created.is_new:
            self._publisher.publish(stored.key, created.events)
            self.runner.launch(
                ClaimedRun(stored, () if new.record is None else (new.record,)), caller or Caller(scope.owner, scope.tenant), new.message
            )
        return AcceptedMessage(stored, stored.last_seq, is_new=created.is_new)

    async def send_message(self, scope: TaskScope, wire_id: str, message: Message, idempotency: IdempotencyKey | None = None) -> AcceptedMessage:
        """Give a message to an existing task: as the answer to what it asks, or into its history."""
        self._require_open()
        return await self._follow_ups.accept(scope, wire_id, message, idempotency)

    def wait(self, key: str, cursor: int, until: frozenset[State] = SETTLED) -> Coroutine[object, object, LoggedEvent]:
        """Wait for the first event after the cursor that leaves the task in one of these states, or ends it.

        Await it at once: whether anything has happened since the cursor is looked up by the call itself.
        """
        return self._hub.wait_for(key, cursor, until, is_current=self.runner.last_seq(key) == cursor)

    async def wait_settled(self, accepted: AcceptedMessage, history_length: int | None = None) -> StoredTask:
        """Wait until the task of a message has ended, or asks for something, and read it, unless it comes with that event."""
        stored = accepted.stored
        if accepted.is_new or stored.state not in SETTLED:
            with suppress(EventsGoneError):  # only of a task that has ended
                event = await self.wait(stored.key, accepted.cursor)
                if event.stored is not None and history_length is None:
                    return event.stored
        return await self.load(stored.scope, stored.wire_id, history_length)

    async def run_inline(
        self, scope: TaskScope, skill_id: str, message: Message, caller: Caller | None = None, request: RequestInfo = EMPTY_REQUEST_INFO
    ) -> Message:
        """Have a skill answer with a message: no task, and nothing stored."""
        self._require_open()
        skill = self._skills.require(scope.surface, skill_id)
        context = Context(
            self._dependencies, scope, caller or Caller(scope.owner, scope.tenant), message.context_id or self._dependencies.ids.new(), message
        )
        context.request = request
        try:
            async with asyncio.timeout(skill.timeout):
                answer = await call_handler(skill, context, _reject_chunk)
                return answer if isinstance(answer, Message) else context.reply(answer)
        except TaskEnded as ended:
            return ended.message
        except Exception as error:  # the edge of a request: whatever a handler raises
            log.exception("the handler of skill %s failed", skill.id)
            raise InvalidAgentResponseError from error

    async def list(self, scope: TaskScope, query: TaskQuery) -> TaskPage:
        """Read one page of a caller's tasks."""
        return await self._store.list_tasks(scope, query)

    async def cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Ask for the end of a task, and wait a little for it; a task that has ended cannot be canceled (``TaskNotCancelableError``)."""
        stored = await self._store.request_cancel(scope, wire_id)
        with suppress(TimeoutError, TaskNotFoundError):
            async with asyncio.timeout(self._settings.cancel_timeout):
                await self._cancel_until_terminal(stored)
        return await self.load(scope, wire_id)

    async def _cancel_until_terminal(self, stored: StoredTask) -> None:
        cursor, state = stored.last_seq, stored.state
        while state not in TERMINAL:
            if state in INTERRUPTED and await cancel_suspended(self._store, self._publisher, replace(stored, state=state)):
                return
            if not self.runner.cancel(stored.key):
                if self._notifier is not None:
                    self._notifier.notify((stored.key,))
                await self.runner.resume(stored.key)
            event = await self.wait(stored.key, cursor)
            cursor, state = event.seq, event.state

    def on_notification(self, keys: Iterable[str]) -> None:
        """Hear that another process has news of tasks."""
        keys = frozenset(keys)
        self._hub.on_notification(keys - self.runner.on_notification(keys))

    def on_reconnect(self) -> None:
        """Hear that bells may have been lost."""
        self._hub.on_reconnect()

    async def _listen(self, notifier: Notifier) -> None:
        self.on_reconnect()  # what was rung before, nobody here has heard
        await notifier.listen(self)

    def _require_open(self) -> None:
        if self._is_closing:
            raise UnavailableError


async def _reject_chunk(_value: object) -> None:
    raise TypeError("a skill that answers with a message has nothing to stream into")
