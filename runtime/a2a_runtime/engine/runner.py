"""Runner of tasks in this process.

The runner has one asyncio task for each task that runs here, and three background loops:

    renew lease       renews the lease of the process and applies cancellations
                      that other processes have accepted; a notification triggers it at once
    claim orphans     claims active tasks that no live process runs, and runs them again
    check deadlines   stops handlers after their timeout, and abandons those that ignore it

A thread watches that the event loop does not stand still (``loop_watch``).

The process that claims a task in the store runs it. A process that loses its lease while it lives
does no harm: another process claims the task, and the writes of the first one are refused.

Workers run the skills that are placed on them (``placement``). The same runner serves both sides:

    on a worker       ``run`` is called for each job of the queue; there are no orphans to claim
    elsewhere         claims only what it may run itself; an orphan that belongs on a worker
                      gets a job, a task that is canceled before a worker has fetched its job
                      is ended here, and tasks of skills that came back from the workers
                      become orphans
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from random import shuffle
from typing import Any

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.origin import Origin, current_origin, in_origin
from a2a_runtime.engine.background import BackgroundTasks, DelayedCalls, detach_task
from a2a_runtime.engine.claims import ClaimLedger, find_lost
from a2a_runtime.engine.dependencies import RunDependencies
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.loop_watch import LoopWatch
from a2a_runtime.engine.replay import RequestInfo
from a2a_runtime.engine.run import MISSING_MESSAGE, BegunCall, StopReason, TaskRun
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.engine.writer import TaskWriter
from a2a_runtime.errors import FencedError, StoreUnavailableError
from a2a_runtime.stores.base import RunQueue
from a2a_runtime.stores.models import ClaimedRun, RenewedLease, RunProgress

log = logging.getLogger(__name__)

_NOTIFICATION_DELAY_SECONDS = 0.05
_MAX_ORPHANS = 64
ORPHANS_KEY = "orphans"
"""Key of the notification that there are many orphans; no task has it."""
_TAKE_BACK_SECONDS = 30.0
_BLOCKED_SHARE = 3
"""Part of the rest of a lease after which an event loop counts as blocked: early enough to log."""


class InProcessRunner:
    """Runs tasks in this process."""

    def __init__(
        self, dependencies: RunDependencies, skills: Skills, *, is_worker: bool = False
    ) -> None:
        self.process = dependencies.ids.new()
        self._is_worker = is_worker
        self._waiters: dict[str, asyncio.Future[None]] = {}
        """Jobs of the queue that wait for the end of a run, by task."""
        self._dependencies = dependencies
        self._skills = skills
        self._store = dependencies.store
        self._clock = dependencies.clock
        self._settings = dependencies.settings
        self._running: dict[str, TaskRun] = {}
        self._abandoned: set[asyncio.Task[Any]] = set()
        self._finishing: dict[str, asyncio.Task[None]] = {}  # end the tasks of abandoned handlers
        self._unknown_skill_tasks: dict[str, tuple[str, str]] = {}
        """Orphans whose skills are not registered here, with surface and skill: a source may list
        them later.
        """
        self._resuming: set[str] = set()
        self._background = BackgroundTasks(self._clock)
        self._working_delay = DelayedCalls[TaskRun](
            self._settings.working_delay, lambda run: self._background.start(run.mark_working())
        )
        self.claims = ClaimLedger(self._clock)
        self._is_renewal_pending = self._is_claiming = False
        self._renewed_at = float("-inf")
        self._is_closing = False
        renewed_seconds = self._settings.lease_duration - self._settings.lease_renew_interval
        self._watch = LoopWatch(self._store, self.process, renewed_seconds / _BLOCKED_SHARE)

    @property
    def running_tasks(self) -> int:
        """Number of tasks that run in this process."""
        return len(self._running)

    async def open(self) -> None:
        """Register the process in the store and start the background loops."""
        await self._store.register(self.process)
        self._renewed_at = self._clock.monotonic()
        self._watch.start()
        self._background.run_every(self._settings.lease_renew_interval, self._renew_and_compare)
        if not self._is_worker:
            self._background.run_every(self._settings.orphan_scan_interval, self._claim_orphans)
            if isinstance(self._store, RunQueue):
                self._background.run_every(
                    _TAKE_BACK_SECONDS, partial(self._take_back, self._store)
                )
        self._background.run_every(self._settings.deadline_check_interval, self._check_deadlines)

    def find_fault(self) -> str:
        """Say why this process can run no tasks; empty if it can."""
        if self._is_closing:
            return "stopping"
        overdue = self._clock.monotonic() - self._renewed_at > self._settings.lease_duration
        if overdue:
            return "its lease is not renewed"
        return ""

    async def close(self, grace: float) -> None:
        """Wait for the running handlers, then stop them, then abandon those that ignore the stop
        request.
        """
        self._is_closing = True
        await self._wait_for_runs(grace)
        for run in self._running.values():
            run.request_stop(StopReason.SHUTDOWN)
        await self._wait_for_runs(self._settings.cancel_grace)
        for key in tuple(self._running):
            self._abandon(key)
        # Without the store their ends stay unwritten: the lease expires, and other processes claim
        # these tasks.
        if self._finishing:
            await asyncio.wait(self._finishing.values(), timeout=self._settings.cancel_grace + 1)
        await self._background.stop()
        self._watch.stop()
        for task in (*self._abandoned, *self._finishing.values()):
            task.cancel()
        await asyncio.sleep(0)
        for task in self._abandoned:
            detach_task(task)
        for key in tuple(self._waiters):
            self._end_wait(key)
        with suppress(StoreUnavailableError):  # the lease expires by itself
            await self._store.unregister(self.process)

    async def drain(self, surface: str, grace: float) -> None:
        """Wait for the running handlers of a surface, then stop them: their tasks are released."""
        for timeout_seconds in (grace, self._settings.cancel_grace):
            runs = [
                run for run in self._running.values() if run.writer.stored.scope.surface == surface
            ]
            if runs and timeout_seconds > 0:
                await asyncio.wait([run.task for run in runs], timeout=timeout_seconds)
            for run in runs:
                run.request_stop(StopReason.SHUTDOWN)
        for key, run in tuple(self._running.items()):
            if run.writer.stored.scope.surface == surface:
                self._abandon(key)

    def launch(
        self,
        skill: Skill,
        claimed: ClaimedRun,
        caller: Caller,
        message: Message,
        begun: BegunCall | None = None,
    ) -> None:
        """Run a task that this process has claimed; ``begun``: its handler is running."""
        key = claimed.stored.key
        epoch = claimed.stored.epoch
        current = self._running.get(key)
        if current is not None and current.writer.stored.epoch > epoch:
            log.info("run not begun: run %d of task %s, since a later one is here", epoch, key)
            if begun is not None:
                begun.writer.lose(FencedError("A later run is here"))
                begun.result.cancel()
            return
        run = TaskRun(self._dependencies, skill, claimed, caller, message, begun)
        self._running[key] = run
        observation = self._dependencies.observation
        if observation.run_started or observation.run_ended:
            self._announce_start(run, claimed)
        self._working_delay.add(run)
        run.task.add_done_callback(partial(self._remove, key, run))

    async def resume(self, key: str) -> None:
        """Claim a task if no live process runs it, and run it again."""
        current = self._running.get(key)
        # A run with a closed writer is only cleaning up.
        if current is not None and current.writer.is_open:
            return
        if self._is_closing or key in self._resuming:
            return
        # Between the claim and the run, the comparison of claims must not release the task.
        self._resuming.add(key)
        try:
            claimed = await self._store.claim(key, self.process)
            if claimed is None:
                return
            stored = claimed.stored
            skill = self._skills.find(stored.scope.surface, stored.skill)
            deferral = None
            if skill is not None:
                deferral = skill.build_deferral(self._settings.runs_on, stored.scope.surface)
            is_left_to_worker = (
                deferral is not None and not self._is_worker and not stored.cancel_requested
            )
            if skill is not None and not is_left_to_worker and not self._is_closing:
                history = stored.task.model.history
                info = RequestInfo.from_records(claimed.records)
                origin = current_origin.get() or Origin.from_record(
                    info.origin, self._skills.agents.get(stored.scope.surface, "")
                )
                message = history[0] if history else MISSING_MESSAGE
                caller = Caller.from_json(info.caller, stored.scope)
                in_origin(origin, partial(self.launch, skill, claimed, caller, message))
                return
            if skill is None:  # a task of an agent that lives in another process
                self._unknown_skill_tasks[key] = stored.scope.surface, stored.skill
                log.warning(
                    "task released: %s, skill %s is not registered in this process",
                    key,
                    stored.skill,
                )
            await TaskWriter(self._dependencies, stored).release(deferral)
        finally:
            self._resuming.discard(key)

    async def run(self, queue: RunQueue, key: str) -> bool:
        """Run a task for a job of the queue and wait for the end of the run; return false if
        another process has the task, or this one stops.
        """
        current = self._running.get(key)
        # A run that is only cleaning up is replaced.
        if current is None or not current.writer.is_open:
            await self.resume(key)
        run = self._running.get(key)
        if run is None or run is current:
            return not await queue.is_active(key)
        waiter = self._waiters.setdefault(key, asyncio.get_running_loop().create_future())
        await asyncio.shield(waiter)
        return True

    def _end_wait(self, key: str) -> None:
        waiter = self._waiters.pop(key, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def _take_back(self, queue: RunQueue) -> None:
        """Make tasks orphans that were queued for workers when their skills were placed there, and
        now run in this process.
        """
        here = [
            (surface, skill.id)
            for surface, skill in self._skills.list_all()
            if surface and not skill.is_deferred(self._settings.runs_on)
        ]
        if here and (count := await queue.take_back(here)):
            log.info("tasks taken back from workers: %d", count)

    def cancel(self, key: str) -> bool:
        """Cancel the handler of a task."""
        run = self._running.get(key)
        if run is not None:
            run.request_stop(StopReason.CANCEL)
        return run is not None

    def last_seq(self, key: str) -> int | None:
        """Return the last event number of a task that runs here."""
        run = self._running.get(key)
        if run is not None and run.writer.is_open:
            return run.writer.last_seq
        return None

    def job_started(self, key: str) -> asyncio.Future[None] | None:
        """Return the future that is done as soon as the handler has returned a job."""
        run = self._running.get(key)
        if run is None:
            return None
        return run.job_started()

    def notify_message(self, key: str) -> bool:
        """Make the handler of a task look for new messages; ``False`` if the task does not run
        here.
        """
        run = self._running.get(key)
        if run is not None:
            run.context.notify_message()
        return run is not None

    def on_notification(self, keys: frozenset[str]) -> None:
        """Renew the lease soon if a task runs here: it may have been canceled, or have a
        message.
        """
        if ORPHANS_KEY in keys and not self._is_worker:
            self._background.start(self._claim_orphans())
        local = [key for key in keys if self.notify_message(key)]
        if local and not self._is_renewal_pending:
            self._is_renewal_pending = True
            self._background.start(self._renew_lease_soon())

    def _remove(self, key: str, run: TaskRun, task: asyncio.Task[None]) -> None:
        self._working_delay.discard(run)
        if self._abandoned:
            self._abandoned.discard(task)
        if self._running.get(key) is run:
            del self._running[key]
            if self._waiters:
                self._end_wait(key)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("run failed: task %s", key, exc_info=error)
        if self._dependencies.observation.run_ended:
            self._announce_end(run)

    def _announce_start(self, run: TaskRun, claimed: ClaimedRun) -> None:
        run.began_at = self._clock.monotonic()
        queued_seconds = max(0.0, (self._clock.millis() - claimed.stored.status_at) / 1000)
        for announce in self._dependencies.observation.run_started:
            announce(run.skill.id, queued_seconds)

    def _announce_end(self, run: TaskRun) -> None:
        end = run.end.name.lower() if isinstance(run.end, State) else run.end
        for announce in self._dependencies.observation.run_ended:
            announce(run.skill.id, end, self._clock.monotonic() - run.began_at)

    async def _renew_lease(self) -> RenewedLease:
        lease = await self._store.renew_lease(self.process)
        self._renewed_at = self._clock.monotonic()
        for key in lease.cancel_requested:
            self.cancel(key)
        return lease

    async def _renew_and_compare(self) -> None:
        """Renew the lease, and compare the claims in the store with the runs here.

        A notification must not shorten the time between two comparisons. A run that is writing
        notices itself that it is lost; but a handler that waits for something else does not notice
        it where its chunks are refused behind its back.
        """
        known: dict[str, RunProgress] = {}
        if self._store.is_durable:
            for key, known_run in self._running.items():
                if known_run.writer.has_unseen_loss:
                    known_run.request_stop(StopReason.LOST)
                confirmed = known_run.writer.progress
                if confirmed is not None:
                    known[key] = confirmed
        claimed = (await self._renew_lease()).claimed
        for key, progress, error in find_lost(known, claimed):
            run = self._running.get(key)
            if (
                run is not None
                and run.writer.progress is not None
                and run.writer.progress.epoch == progress.epoch
            ):
                run.lose(error)
        here = self._running.keys() | self._finishing.keys() | self._resuming
        await self._store.release_claims(self.process, self.claims.find_doubtful(claimed, here))

    async def _renew_lease_soon(self) -> None:
        """Renew the lease once for many notifications, some of them echoes of this process."""
        await self._clock.sleep(_NOTIFICATION_DELAY_SECONDS)
        self._is_renewal_pending = False
        # The next renewal applies the cancellations.
        with suppress(StoreUnavailableError):
            await self._renew_lease()

    async def _claim_orphans(self) -> None:
        """Claim orphans, unless this process is at it already."""
        if self._is_claiming:
            return
        self._is_claiming = True
        try:
            # The next scan finds them.
            with suppress(StoreUnavailableError):
                await self._claim_all_orphans()
        finally:
            self._is_claiming = False

    async def _claim_all_orphans(self) -> None:
        """Claim orphans, some at a time, until there are no others.

        After a crash there may be thousands: other processes are notified.
        """
        has_notified = False
        self._unknown_skill_tasks = {
            key: each
            for key, each in self._unknown_skill_tasks.items()
            if self._skills.find(*each) is None
        }
        tried = set(self._unknown_skill_tasks)
        left = len(self._unknown_skill_tasks)
        while not self._is_closing:
            limit = _MAX_ORPHANS + left
            found = await self._store.find_orphans(limit, self._skills.surfaces)
            orphans = [key for key in found if key not in tried]
            if not orphans and len(found) < limit:
                return
            left = len(found) - len(orphans)
            tried.update(orphans)
            if len(found) == limit and not has_notified:
                has_notified = True
                self._dependencies.hub.notify_others((ORPHANS_KEY,))
            shuffle(orphans)  # other processes claim the same ones
            await asyncio.gather(*map(self.resume, orphans))

    async def _check_deadlines(self) -> None:
        now = self._clock.monotonic()
        for key, run in tuple(self._running.items()):
            if now >= run.deadline:
                run.request_stop(StopReason.TIMEOUT)
            if run.is_ignoring_stop and now >= run.stop_requested_at + self._settings.cancel_grace:
                self._abandon(key)

    def _abandon(self, key: str) -> None:
        run = self._running.pop(key)
        for task in run.tasks:
            self._abandoned.add(task)
            task.add_done_callback(self._abandoned.discard)
        finishing = asyncio.create_task(run.abandon())
        self._finishing[key] = finishing
        finishing.add_done_callback(partial(self._on_finished, key))

    def _on_finished(self, key: str, _: asyncio.Task[None]) -> None:
        self._finishing.pop(key, None)
        self._end_wait(key)

    async def _wait_for_runs(self, timeout_seconds: float) -> None:
        if self._running and timeout_seconds > 0:
            await asyncio.wait(
                [run.task for run in self._running.values()], timeout=timeout_seconds
            )
