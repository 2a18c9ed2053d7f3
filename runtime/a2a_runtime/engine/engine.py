"""Tasks as requests see them, without HTTP.

One engine per process, for all agents and surfaces that share a store.

    async with Engine(store, Skills(Skill("echo", echo))) as engine:
        accepted = await engine.start(scope, NewTask(…), caller)  committed; the handler runs
        stored = await engine.wait_settled(accepted)              it ended, or waits for the caller

Every call is scoped: a task of another scope does not exist.

    cursor given?   a reader gets
    no              the task as a snapshot, then every later event
    yes             every event after the cursor, also of a task that has ended;
                    the snapshot instead where the log no longer has these events

A reader gets the terminal event exactly once and nothing after it, or an exception. Close a reader
with ``contextlib.aclosing`` to end it early.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Self, TypeAlias

from msgspec.structs import replace

from a2a_contract.base import Encoded
from a2a_contract.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
)
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import Message, StreamResponse
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.base.card_extensions import CURSOR_HEADER
from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.base.lifecycle import INTERRUPTED, SETTLED
from a2a_runtime.engine.background import BackgroundTasks
from a2a_runtime.engine.begun import BegunHandler
from a2a_runtime.engine.dependencies import Fetcher, NoFetcher, RunDependencies
from a2a_runtime.engine.follow_ups import (
    AcceptedMessage,
    FollowUps,
)
from a2a_runtime.engine.handlers.context import Context
from a2a_runtime.engine.handlers.conversation_state import SkillView
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.hub import EventHub
from a2a_runtime.engine.inline import run_inline
from a2a_runtime.engine.readers import TaskReaders
from a2a_runtime.engine.replay import EMPTY_REQUEST_INFO, RequestInfo
from a2a_runtime.engine.runner import InProcessRunner
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.engine.writer import cancel_suspended
from a2a_runtime.errors import (
    TaskTerminalError,
)
from a2a_runtime.ports.observer import UNOBSERVED, Observation
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.factory import require_queue
from a2a_runtime.stores.models import (
    ClaimedRun,
    CreateResult,
    IdempotencyKey,
    LoggedEvent,
    NewTask,
    StoredTask,
)
from a2a_runtime.stores.notifier import Notifier

log = logging.getLogger(__name__)

_NOTIFIER_RETRY_SECONDS = 1.0

Launch: TypeAlias = Callable[[CreateResult], None]
"""Runs the handler of a task that was created."""


def to_stream_response(event: LoggedEvent) -> Encoded[StreamResponse]:
    """Convert an event to its form on the wire, without parsing it."""
    return Encoded(StreamResponse, event.body)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Replaceable parts of an engine."""

    settings: Settings = Settings()  # noqa: RUF009  # frozen, all of it
    clock: Clock = SystemClock()  # noqa: RUF009  # without state
    notifier: Notifier | None = None  # None: no other process uses this store
    fetcher: Fetcher = NoFetcher()  # noqa: RUF009  # without state
    is_worker: bool = False  # runs the jobs of a queue, see ``workers``
    observation: Observation = UNOBSERVED


class Engine:
    """Accepts messages, runs handlers and publishes their events."""

    def __init__(self, store: Store, skills: Skills, options: EngineOptions | None = None) -> None:
        options = options or EngineOptions()
        self._store = store
        self._skills = skills
        self._settings = options.settings
        self.hub = EventHub(store, options.notifier, options.settings)
        self.readers = TaskReaders(store, self.hub)
        self._dependencies = RunDependencies(
            store,
            self.hub,
            IdGenerator(options.clock),
            options.clock,
            options.settings,
            options.fetcher,
            options.observation,
        )
        self.runner = InProcessRunner(self._dependencies, skills, is_worker=options.is_worker)
        self._background = BackgroundTasks(options.clock)
        self._follow_ups = FollowUps(
            self._dependencies, skills, self.readers, self.runner, self._background
        )
        self._is_closing = False

    @property
    def store(self) -> Store:
        """The store of all tasks."""
        return self._store

    @property
    def settings(self) -> Settings:
        """The settings of the process."""
        return self._settings

    @property
    def clock(self) -> Clock:
        """The clock of the process."""
        return self._dependencies.clock

    async def open(self) -> None:
        """Open the store, listen to notifications and resume the tasks of dead processes."""
        self.hub.loop = asyncio.get_running_loop()
        async with AsyncExitStack() as undo:
            await self._store.open()
            undo.push_async_callback(self._store.close)
            await self.check_queue()
            undo.push_async_callback(self._background.stop)
            self._background.run_every(self._settings.cleanup_interval, self._clean_up)
            if self.hub.notifier is not None:
                self._background.run_every(
                    _NOTIFIER_RETRY_SECONDS, partial(self._listen, self.hub.notifier)
                )
            await self.runner.open()
            undo.pop_all()

    async def check_queue(self) -> None:
        """Check the queue of workers, if a skill needs it."""
        if any(
            skill.build_deferral(self._settings.runs_on, surface or "")
            for surface, skill in self._skills.list_all()
        ):
            await require_queue(self._store).check_queue()

    async def close(self, grace: float | None = None) -> None:
        """Refuse new messages, wait for running tasks up to the grace period, release the rest, and
        close the store.
        """
        self._is_closing = True
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._store.close)
            stack.push_async_callback(self._background.stop)
            if grace is None:
                grace = self._settings.shutdown_grace
            await self.runner.close(grace)

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def load(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask:
        """Read a task; ``TaskNotFoundError`` if it does not exist."""
        return await self.readers.load(
            scope, wire_id, history_length, include_artifacts=include_artifacts
        )

    async def follow(
        self,
        scope: TaskScope,
        wire_id: str,
        cursor: int | None = None,
        until: frozenset[State] = TERMINAL,
        *,
        mark: int = 0,
        shows_messages: bool = False,
    ) -> AsyncGenerator[LoggedEvent, None]:
        """Follow a task up to and with the event that brings it into one of these states, with
        messages of clients if wanted.

        ``mark`` is the mark of the event at the cursor. Without a cursor, a task that has ended is
        refused (``TaskTerminalError``).
        """
        stored = await self.load(
            scope, wire_id, 0 if cursor is not None else None, include_artifacts=cursor is None
        )
        if cursor is None:
            if stored.state in TERMINAL:
                raise TaskTerminalError(f"The task has ended ({stored.state.name})")
        # With a mark the cursor was an event of the task, before the store fell back.
        elif cursor > stored.last_seq and not mark:
            raise InvalidParamsError(
                fields=(
                    (
                        CURSOR_HEADER,
                        (
                            f"The task has {stored.last_seq} events; there is none after number "
                            f"{cursor}"
                        ),
                    ),
                )
            )
        return self.readers.follow(stored, cursor, until, mark=mark, shows_messages=shows_messages)

    async def begin(
        self, scope: TaskScope, new: NewTask, caller: Caller | None = None
    ) -> AcceptedMessage | Message:
        """Run a handler, and create its task if it needs one; otherwise return its message."""
        self._require_open()
        skill = self._skills.require(scope.surface, new.skill)
        begun = BegunHandler(
            self._dependencies, skill, scope, new, caller or Caller(scope.owner, scope.tenant)
        )
        return await begun.run(
            lambda: self.start(scope, replace(new, wire_id=begun.wire_id), caller, begun)
        )

    async def start(
        self,
        scope: TaskScope,
        new: NewTask,
        caller: Caller | None = None,
        begun: BegunHandler | None = None,
    ) -> AcceptedMessage:
        """Create a task and run its handler; return the existing task if the idempotency key has
        one.

        Commit and start of the handler belong together. A commit that takes time runs in the
        background, so that no disconnect comes in between.
        """
        self._require_open()
        # An unknown skill is refused before there is a task that no handler can run.
        skill = self._skills.require(scope.surface, new.skill)
        caller = caller or Caller(scope.owner, scope.tenant)
        if (deferral := skill.build_deferral(self._settings.runs_on, scope.surface)) is not None:
            require_queue(self._store)
            new = replace(new, process=None, deferral=deferral)
        elif new.process is None:
            new = replace(new, process=self.runner.process)
        if self._store.is_durable:
            created = self.hub.loop.create_future()
            launch = partial(self._launch, skill, new, caller, begun)
            self._background.start(self._create(scope, new, launch, created, begun))
            result: CreateResult = await created
        else:
            result = await self._store.create_task(scope, new)
            self._launch(skill, new, caller, begun, result)
        if result.is_new and self._is_closing and deferral is None:
            raise UnavailableError
        return AcceptedMessage(
            result.stored, result.stored.last_seq, result.stored.mark, is_new=result.is_new
        )

    async def _create(
        self,
        scope: TaskScope,
        new: NewTask,
        launch: Launch,
        created: asyncio.Future[CreateResult],
        begun: BegunHandler | None,
    ) -> None:
        """Create a task and run its handler.

        The future is done first, so that the caller follows the task before the handler begins.
        """
        number = self.runner.claims.begin_creation()
        try:
            result = await self._store.create_task(scope, new)
            if not created.done():
                created.set_result(result)
            launch(result)
        # The edge of a background task: the caller gets the error, unless it has gone.
        except Exception as error:  # noqa: BLE001  # as said above
            if begun is not None:
                begun.abort(error)
            if created.done():
                log.info("task not created after its client disconnected: %s", error)
            else:
                created.set_exception(error)
        finally:
            self.runner.claims.end_creation(number)
            # Mostly a no-op; if the engine is closed meanwhile, it ends the wait of the caller.
            created.cancel()

    def _launch(
        self,
        skill: Skill,
        new: NewTask,
        caller: Caller,
        begun: BegunHandler | None,
        created: CreateResult,
    ) -> None:
        """Run a task that was created just now; one that comes while the engine closes is left to
        other processes.
        """
        # No reader here knows it yet.
        if created.is_new and not self._is_closing and self.hub.notifier is not None:
            self.hub.notify_others((created.stored.key,))
        if created.is_new and not self._is_closing and new.deferral is None:
            call = None if begun is None else begun.attach(created.stored)
            records = () if new.record is None else (new.record,)
            claimed = ClaimedRun(created.stored, records)
            self.runner.launch(skill, claimed, caller, new.message, call)
        elif begun is not None:
            begun.abort()

    async def send_message(
        self,
        scope: TaskScope,
        wire_id: str,
        message: Message,
        idempotency_key: IdempotencyKey | None = None,
        authorization: str | None = None,
        if_last_seq: int | None = None,
    ) -> AcceptedMessage:
        """Add a message to a task in its present state; retry if the state changes.

        With ``authorization`` only if the task waits for that key, with ``if_last_seq`` only if
        that is its last event.
        """
        self._require_open()
        return await self._follow_ups.send(
            scope, wire_id, message, idempotency_key, authorization, if_last_seq
        )

    async def wait(
        self, stored: StoredTask, cursor: int, until: frozenset[State] = SETTLED, *, mark: int = 0
    ) -> LoggedEvent:
        """Wait for the first event after the cursor that brings the task into one of these states,
        or ends it.
        """
        is_current = self.runner.last_seq(stored.key) == cursor
        return await self.readers.wait(stored, cursor, until, mark=mark, is_current=is_current)

    async def wait_settled(
        self,
        accepted: AcceptedMessage,
        history_length: int | None = None,
        *,
        cancel_on_disconnect: bool = False,
    ) -> StoredTask:
        """Wait until the task of a message has ended or waits for its caller; read it only if the
        store has not returned it with its end.
        """
        stored = accepted.stored
        cursor = accepted.cursor
        if accepted.is_new or stored.state not in SETTLED:
            is_current = self.runner.last_seq(stored.key) == cursor
            try:
                settled = await self.hub.wait_for_run(stored.key) if is_current else None
                if settled is None:
                    await self.wait(stored, cursor, mark=accepted.mark)
                elif history_length is None and (found := settled[0]) is not None:
                    return found
            except asyncio.CancelledError:
                if cancel_on_disconnect:
                    await self.cancel_if_active(stored)
                raise
        return await self.load(stored.scope, stored.wire_id, history_length)

    async def run_inline(
        self,
        scope: TaskScope,
        skill_id: str,
        message: Message,
        caller: Caller | None = None,
        request_info: RequestInfo = EMPTY_REQUEST_INFO,
        hidden_skills: Sequence[str] = (),
    ) -> Message:
        """Run a skill that replies with a message: no task, nothing stored."""
        self._require_open()
        skill = self._skills.require(scope.surface, skill_id)
        view = SkillView(skill_id, hidden_skills)
        context_id = message.context_id or self._dependencies.ids.new()
        context = Context(
            self._dependencies,
            scope,
            caller or Caller(scope.owner, scope.tenant),
            context_id,
            message,
            view,
        )
        context.request = request_info
        return await run_inline(skill, context, self._dependencies.clock)

    async def cancel(self, scope: TaskScope, wire_id: str) -> StoredTask:
        """Cancel a task and wait for its end up to the cancel timeout; ``TaskNotCancelableError``
        if it has ended.
        """
        stored = await self._store.request_cancel(scope, wire_id)
        with suppress(TimeoutError, TaskNotFoundError):
            async with asyncio.timeout(self._settings.cancel_timeout):
                await self._cancel_until_terminal(stored)
        return await self.load(scope, wire_id)

    async def cancel_if_active(self, stored: StoredTask) -> None:
        """Cancel a task, unless it has ended or been deleted."""
        with suppress(TaskNotCancelableError, TaskNotFoundError):
            await self.cancel(stored.scope, stored.wire_id)

    async def _cancel_until_terminal(self, stored: StoredTask) -> None:
        cursor = stored.last_seq
        mark = stored.mark
        state = stored.state
        while state not in TERMINAL:
            if state in INTERRUPTED and await cancel_suspended(
                self._store, self.hub, replace(stored, state=state)
            ):
                return
            if not self.runner.cancel(stored.key):
                self.hub.notify_others((stored.key,))
                await self.runner.resume(stored.key)
            event = await self.wait(stored, cursor, mark=mark)
            cursor = event.seq
            mark = event.mark
            state = event.state

    def on_notification(self, keys: Iterable[str]) -> None:
        """Wake the readers of tasks that another process has changed."""
        keys = frozenset(keys)
        self.runner.on_notification(keys)
        self.hub.on_notification(keys)

    def on_reconnect(self) -> None:
        """Wake all readers: notifications may have been lost."""
        self.hub.on_reconnect()

    async def _listen(self, notifier: Notifier) -> None:
        self.on_reconnect()  # earlier notifications did not arrive
        await notifier.listen(self)

    async def _clean_up(self) -> None:
        """Delete what has expired, batch by batch; a pause as long as each batch leaves the store
        to requests.
        """
        clock = self._dependencies.clock
        began = clock.monotonic()
        while await self._store.delete_expired():
            await clock.sleep(clock.monotonic() - began)
            began = clock.monotonic()

    def _require_open(self) -> None:
        if self._is_closing:
            raise UnavailableError
