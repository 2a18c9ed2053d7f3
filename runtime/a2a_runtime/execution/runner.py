"""Who runs tasks: the port, and the runner that does it in this process.

The embedded runner has one asyncio task for each task that runs here, and three loops:

    beat    renews the process's lease, and hears of cancellations that other processes have taken; a bell makes it look at once
    sweep   claims active tasks that no live process runs, and runs them again
    watch   tells handlers whose time is up to stop, and ends the tasks of those that do not stop when told

A task is run by whoever claims it in the store. Losing the lease while still alive is no harm: another process claims the task, and what this one
still writes is refused.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Protocol

from a2a_contract.errors import UnavailableError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Role
from a2a_runtime.caller import Caller
from a2a_runtime.clock import Clock
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.execution import run as runs
from a2a_runtime.execution.background import BackgroundTasks, DelayedCalls
from a2a_runtime.execution.context import ContextDependencies, TaskContext
from a2a_runtime.execution.run import RunConfig, RunOutcome, StopReason, TaskRun
from a2a_runtime.execution.skill import Skill
from a2a_runtime.execution.writer import EventPublisher, TaskWriter
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import ClaimedRun, RecordKind, StoredTask

# Leaving without a handler that does not stop: nobody may have to wait for it, and nobody may wake it up again.


def detach_task(task: asyncio.Task[None]) -> None:
    """Have neither the end of the loop nor that of the interpreter wait for a task.

    Whoever closes a loop cancels what is left in it and waits, which may be for ever: so the task is taken off the list. And whoever finalizes the
    interpreter would have its coroutine run on to be closed, which may be for ever too: so a thread that nobody waits for holds on to it.
    """
    done = threading.Event()
    task.add_done_callback(lambda _: done.set())
    asyncio._unregister_task(task)  # noqa: SLF001 - documented for those who keep lists of their own
    threading.Thread(target=_keep_reference, args=(task, done), name="a2a-left-behind", daemon=True).start()


def _keep_reference(_task: asyncio.Task[None], done: threading.Event) -> None:
    done.wait()


log = logging.getLogger(__name__)

_NOTIFICATION_DELAY_SECONDS = 0.05
_MAX_ORPHANS = 64
_MISSING_MESSAGE_ID = ""
"""Id of a message that is no longer stored; every other one has an id."""


class Runner(Protocol):
    """Sees to it that tasks run: here, or by handing them to others."""

    @property
    def process(self) -> str | None:
        """Whom a new task is created as claimed by; ``None`` when that is settled later."""

    async def open(self) -> None:
        """Begin to take work, the left-over work of dead processes first."""

    async def close(self, grace: float) -> None:
        """Take no more work, wait for a while, and give up the rest."""

    def launch(self, run: ClaimedRun, caller: Caller, message: Message) -> None:
        """Run a task that was created as claimed by this runner's process."""

    async def resume(self, key: str) -> None:
        """Have a task run that nobody runs."""

    def cancel(self, key: str) -> bool:
        """Tell a handler to stop; whether it runs here."""
        ...

    def last_seq(self, key: str) -> int | None:
        """Say how far a task has got whose next event will come from here; ``None`` for any other."""

    def job_started(self, key: str) -> asyncio.Future[None] | None:
        """Give what is done as soon as the handler of a task that runs here has handed back a job; ``None`` for any other task."""

    def on_notification(self, keys: Iterable[str]) -> frozenset[str]:
        """Another process has rung for these tasks: give back those that run here."""
        ...


class Skills:
    """The skills that tasks are run with: those of one surface, and those of every surface."""

    def __init__(self, *skills: Skill) -> None:
        self._skills: dict[tuple[str | None, str], Skill] = {}
        self._surfaces: frozenset[str] | None = frozenset()
        self.add(None, *skills)

    def add(self, surface: str | None, *skills: Skill) -> None:
        """Register skills of a surface, or of every one."""
        if skills:
            self._surfaces = None if surface is None or self._surfaces is None else self._surfaces | {surface}
        for skill in skills:
            if self._skills.setdefault((surface, skill.id), skill) is not skill:
                raise ValueError(f"two skills are called {skill.id!r}")

    @property
    def surfaces(self) -> frozenset[str] | None:
        """The surfaces that have skills; ``None`` when every one has."""
        return self._surfaces

    def find(self, surface: str, skill_id: str) -> Skill | None:
        """Find the skill that a surface means by an id."""
        return self._skills.get((surface, skill_id)) or self._skills.get((None, skill_id))

    def require(self, surface: str, skill_id: str) -> Skill:
        """Find a skill that has to be there."""
        skill = self.find(surface, skill_id)
        if skill is None:
            raise LookupError(f"no skill {skill_id!r} on surface {surface!r}")
        return skill


class InProcessRunner:
    """Runs tasks in this process."""

    def __init__(self, dependencies: ContextDependencies, skills: Skills, publisher: EventPublisher, clock: Clock, settings: Settings) -> None:
        self._process = dependencies.ids.new()
        self._dependencies, self._skills, self._publisher, self._clock, self._settings = dependencies, skills, publisher, clock, settings
        self._config = RunConfig(clock, settings.job_poll_interval, can_release=dependencies.store.is_durable)
        self._running: dict[str, TaskRun] = {}
        self._abandoned: set[asyncio.Task[None]] = set()
        self._finishing: set[asyncio.Task[None]] = set()  # of tasks whose handlers were left behind
        self._unknown_skill_tasks: set[str] = set()
        self._background = BackgroundTasks(clock)
        self._working_delay = DelayedCalls(settings.working_delay, TaskRun.mark_working_soon)
        self._is_renewal_pending = False
        self._is_closing = False

    @property
    def process(self) -> str:
        """Name this process."""
        return self._process

    async def open(self) -> None:
        """Enter the process into the store and begin its loops."""
        await self._dependencies.store.register(self._process)
        self._background.run_every(self._settings.lease_renew_interval, self._renew_lease)
        self._background.run_every(self._settings.orphan_scan_interval, self._claim_orphans)
        self._background.run_every(self._settings.deadline_check_interval, self._check_deadlines)

    async def close(self, grace: float) -> None:
        """Wait for what runs, then interrupt it, then leave behind what does not stop."""
        self._is_closing = True
        await self._wait_for_runs(grace)
        for run in self._running.values():
            run.request_stop(StopReason.SHUTDOWN)
        await self._wait_for_runs(self._settings.cancel_grace)
        for key in tuple(self._running):
            self._abandon(key)
        if self._finishing:  # when the store is away, they stay unwritten: the lease runs out, and others go on with these tasks
            await asyncio.wait(self._finishing, timeout=self._settings.cancel_grace + 1)
        await self._background.stop()
        for task in self._abandoned | self._finishing:
            task.cancel()
        await asyncio.sleep(0)
        for task in self._abandoned:
            detach_task(task)
        with suppress(StoreUnavailableError):  # the lease runs out by itself
            await self._dependencies.store.unregister(self._process)

    def launch(self, run: ClaimedRun, caller: Caller, message: Message) -> None:
        """Run a task that this process has claimed."""
        if self._is_closing:
            raise UnavailableError
        self._start(self._skills.require(run.stored.scope.surface, run.stored.skill), run, caller, message)

    async def resume(self, key: str) -> None:
        """Claim a task if it is free, and run it again."""
        current = self._running.get(key)
        if self._is_closing or (current is not None and current.desk.is_open):  # a closed desk: that run has parked and is only cleaning up
            return
        run = await self._dependencies.store.claim(key, self._process)
        if run is None:
            return
        scope = run.stored.scope
        skill = self._skills.find(scope.surface, run.stored.skill)
        if skill is None:
            await self._release_unknown(run.stored)
            return
        history = run.stored.task.model.history
        message = history[0] if history else Message(message_id=_MISSING_MESSAGE_ID, role=Role.USER, parts=[])
        self._start(skill, run, Caller(scope.owner, scope.tenant), message)

    def cancel(self, key: str) -> bool:
        """Tell the handler of a task to stop."""
        run = self._running.get(key)
        if run is not None:
            run.request_stop(StopReason.CANCEL)
        return run is not None

    def last_seq(self, key: str) -> int | None:
        """Look at the desk of the task's run."""
        run = self._running.get(key)
        return run.desk.last_seq if run is not None and run.desk.is_open else None

    def job_started(self, key: str) -> asyncio.Future[None] | None:
        """Ask the task's run."""
        run = self._running.get(key)
        return None if run is None else run.job_started()

    def on_notification(self, keys: Iterable[str]) -> frozenset[str]:
        """Look for cancellations soon when it is about tasks that run here: their news come from here."""
        here = frozenset(key for key in keys if key in self._running)
        if here and not self._is_renewal_pending:
            self._is_renewal_pending = True
            self._background.start(self._renew_lease_soon())
        return here

    def _start(self, skill: Skill, run: ClaimedRun, caller: Caller, message: Message) -> None:
        key = run.stored.key
        desk = TaskWriter(self._dependencies.store, self._publisher, self._clock, run.stored, retry_timeout=self._settings.store_retry_timeout)
        context = TaskContext(self._dependencies, caller, run, desk, message)
        instead = None if run.attempt == 1 else refuse_restart(skill, run, message, context)
        task_run = TaskRun(skill, context, desk, self._config, instead)
        if run.stored.cancel_requested:
            task_run.request_stop(StopReason.CANCEL)
        self._running[key] = task_run
        self._working_delay.add(task_run)
        task_run.task.add_done_callback(partial(self._remove, key, task_run))

    def _remove(self, key: str, run: TaskRun, _task: asyncio.Task[None]) -> None:
        self._working_delay.discard(run)
        self._abandoned.discard(run.task)
        if self._running.get(key) is run:
            del self._running[key]
        if not run.task.cancelled() and (error := run.task.exception()) is not None:
            log.error("the run of task %s broke off", key, exc_info=error)

    async def _release_unknown(self, stored: StoredTask) -> None:
        """Give back a task of an agent that lives in another process, and do not touch it again."""
        self._unknown_skill_tasks.add(stored.key)
        log.warning("task %s is for skill %s, which this process does not have", stored.key, stored.skill)
        await TaskWriter(self._dependencies.store, self._publisher, self._clock, stored, retry_timeout=self._settings.store_retry_timeout).release()

    async def _renew_lease(self) -> None:
        for key in await self._dependencies.store.renew_lease(self._process):
            self.cancel(key)

    async def _renew_lease_soon(self) -> None:
        """Answer many bells, some of them our own echo, with one look."""
        await self._clock.sleep(_NOTIFICATION_DELAY_SECONDS)
        self._is_renewal_pending = False
        with suppress(StoreUnavailableError):  # the next beat looks again
            await self._renew_lease()

    async def _claim_orphans(self) -> None:
        for key in await self._dependencies.store.find_orphans(_MAX_ORPHANS + len(self._unknown_skill_tasks), self._skills.surfaces):
            if key not in self._unknown_skill_tasks:
                await self.resume(key)

    async def _check_deadlines(self) -> None:
        now = self._clock.monotonic()
        for key, run in tuple(self._running.items()):
            if now >= run.deadline:
                run.request_stop(StopReason.TIMEOUT)
            if run.is_ignoring_stop and now >= run.interrupted_at + self._settings.cancel_grace:
                self._abandon(key)

    def _abandon(self, key: str) -> None:
        run = self._running.pop(key)
        self._abandoned.add(run.task)
        end = asyncio.create_task(run.abandon())
        self._finishing.add(end)
        end.add_done_callback(self._finishing.discard)

    async def _wait_for_runs(self, seconds: float) -> None:
        running: Mapping[str, TaskRun] = self._running
        if running and seconds > 0:
            await asyncio.wait([run.task for run in running.values()], timeout=seconds)


def refuse_restart(skill: Skill, run: ClaimedRun, message: Message, context: TaskContext) -> RunOutcome | None:
    """Say how a task ends that cannot be run again: its message or its job is gone, or its handler must not begin again."""
    if message.message_id == _MISSING_MESSAGE_ID:
        return RunOutcome(State.FAILED, context.reply(runs.MESSAGE_MISSING))
    if run.records and any(record.kind is RecordKind.ONCE and record.key == runs.JOB_MARKER for record in run.records):
        return RunOutcome(State.FAILED, context.reply(runs.JOB_LOST))
    if not skill.restartable and run.stored.state is State.WORKING:
        return RunOutcome(State.FAILED, context.reply(runs.NOT_RESTARTABLE))
    if run.attempt > 1 + skill.max_restarts + sum(record.kind is RecordKind.ANSWER for record in run.records):
        return RunOutcome(State.FAILED, context.reply(runs.TOO_MANY_RESTARTS))
    return None
