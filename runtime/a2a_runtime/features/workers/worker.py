"""The worker: consumers that fetch jobs of queues and run their tasks, and the care for jobs that
have no living worker.

    consumer     one for all queues with the concurrency of the command,
                 one for each queue with a concurrency of its own
    heartbeat    every lease renewal, so that other workers know that this one lives
    stalled      every lease renewal: jobs of workers without a heartbeat come back
    unanswered   every lease renewal: jobs of this worker come back whose fetch lost its answer
    lost         every ten seconds: active tasks without a job and without a live process get one

Shutdown: consumers stop to fetch; running handlers have their grace time; what is left is released,
and each release puts a new job into the queue in its transaction. Then the jobs of this worker are
deleted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from a2a_runtime.base.clock import Clock
from a2a_runtime.base.logs import OutageLog
from a2a_runtime.engine.background import BackgroundTasks
from a2a_runtime.engine.engine import Engine
from a2a_runtime.engine.placement import build_queue_name
from a2a_runtime.engine.runner import InProcessRunner
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.errors import StoreUnavailableError, WorkerConfigError
from a2a_runtime.features.workers.jobs import JobQueue, TaskJob
from a2a_runtime.process import AgentRuntime
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import RunQueue
from a2a_runtime.stores.factory import require_queue
from a2a_runtime.stores.models import Deferral

log = logging.getLogger(__name__)

DEFAULT_CONCURRENCY = 16

NOTHING_TO_SERVE = (
    'worker: no skill runs on workers; set runs_on = "workers" on a skill, or '
    "A2A_RUNS_ON=workers for all, and check --queue"
)

_RETRY_SECONDS = 0.5
_LOST_INTERVAL_SECONDS = 10.0
_BUSY_SHARE = 3
"""Part of a lease after which a job comes back whose task another process still runs."""
_FORGET_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Queues that a worker serves, by their names in the database, and the skills in them."""

    jobs: Mapping[tuple[str, str], Deferral]
    """The job of each skill, by surface and skill."""
    concurrency: Mapping[str, int | None]
    """The concurrency of each queue; ``None`` for the one of the command."""

    @classmethod
    def from_skills(
        cls, skills: Skills, default_placement: str, queues: Sequence[str] = ()
    ) -> WorkerPlan:
        """List the skills on workers, of some queues or of all; raise ``WorkerConfigError`` where
        skills of one queue have two concurrencies.
        """
        jobs: dict[tuple[str, str], Deferral] = {}
        concurrency: dict[str, int | None] = {}
        for surface, skill in skills.list_all():
            if not skill.is_deferred(default_placement) or (
                queues and skill.worker.queue not in queues
            ):
                continue
            name = build_queue_name(skill.worker.queue, surface or "")
            jobs[surface or "", skill.id] = skill.worker.build_deferral(surface or "")
            before = concurrency.setdefault(name, skill.worker.concurrency)
            if before != skill.worker.concurrency:
                raise WorkerConfigError(
                    f"queue {skill.worker.queue!r}: its skills have the concurrency {before} "
                    f"and {skill.worker.concurrency}; "
                    "give them one number, or queues of their own"
                )
        return cls(jobs, concurrency)

    def split(self, default_concurrency: int) -> Iterator[tuple[Sequence[str], int]]:
        """List the queues of each consumer, and its concurrency."""
        shared = [name for name, number in self.concurrency.items() if number is None]
        if shared:
            yield shared, default_concurrency
        for name, number in self.concurrency.items():
            if number is not None:
                yield [name], number


@dataclass(slots=True)
class WorkerState:
    """State of a worker, for its probes."""

    is_ready: bool = False
    is_connected: bool = True
    running: int = 0
    finished: int = 0
    queues: dict[str, int] = field(default_factory=dict[str, int])
    """Concurrency of each queue."""
    skills: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Ids of the skills in each queue."""


class Consumer:
    """Fetches jobs of some queues, never more than it may run at once."""

    def __init__(self, worker: TaskWorker, queues: Sequence[str], concurrency: int) -> None:
        self._worker = worker
        self._queues = queues
        self._slots = asyncio.Semaphore(concurrency)
        self._poll_seconds = worker.poll_seconds
        self._wake_up = asyncio.Event()

    async def consume(self) -> None:
        """Fetch and start jobs until cancelled; a job that was fetched is always started."""
        while True:
            await self._slots.acquire()
            job = None
            try:
                self._wake_up.clear()
                job = await self._worker.fetch(self._queues)
            finally:
                if job is None:
                    self._slots.release()
            if job is not None:
                self._worker.start(job).add_done_callback(lambda _: self._slots.release())
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._wake_up.wait()

    async def listen(self, jobs: JobQueue) -> None:
        """Wake the consumer for new jobs; without the connection it polls."""
        await jobs.listen(self._queues, self._wake_up.set)


class TaskWorker:
    """Runs the tasks of queues with the runner of an engine."""

    def __init__(
        self,
        jobs: JobQueue,
        runner: InProcessRunner,
        queue: RunQueue,
        settings: Settings,
        clock: Clock,
    ) -> None:
        self._read_plan: Callable[[], WorkerPlan] = lambda: WorkerPlan({}, {})
        self.state = WorkerState()
        self._jobs = jobs
        self._runner = runner
        self._queue = queue
        self._settings = settings
        self._clock = clock
        self.poll_seconds = settings.lease_renew_interval
        """Interval at which consumers look for jobs without a notification: delayed ones have
        none.
        """
        self._background = BackgroundTasks(clock)
        self._running = BackgroundTasks(clock)
        self._outages = OutageLog("worker: queue")
        self._is_stopping = False

    def start_consumers(
        self, read_plan: Callable[[], WorkerPlan], default_concurrency: int
    ) -> None:
        """Start to fetch jobs; sources may change the skills of the plan later, but not its
        queues.
        """
        self._read_plan = read_plan
        interval = self._settings.lease_renew_interval
        for queues, concurrency in read_plan().split(default_concurrency):
            consumer = Consumer(self, queues, concurrency)
            self._background.run_every(_RETRY_SECONDS, consumer.consume)
            self._background.run_every(_RETRY_SECONDS, partial(consumer.listen, self._jobs))
            self.state.queues |= dict.fromkeys(queues, concurrency)
        self._background.run_every(interval, self._beat)
        self._background.run_every(_LOST_INTERVAL_SECONDS, self._requeue_lost)
        for (_, skill), deferral in read_plan().jobs.items():
            names = self.state.skills.setdefault(deferral.queue, [])
            if skill not in names:  # on several surfaces
                names.append(skill)
        self.state.is_ready = True

    async def stop_consumers(self) -> None:
        """Stop to fetch jobs; those that are running go on."""
        self.state.is_ready = False
        self._is_stopping = True
        await self._background.stop()

    async def wait_for_jobs(self, timeout_seconds: float) -> None:
        """Wait until the ends of all jobs are stored, but not for longer than the timeout; then
        other workers get them back.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._running.wait()
        await self._running.stop()

    async def fetch(self, queues: Sequence[str]) -> TaskJob | None:
        """Fetch a job; a fetch that is cancelled gives its job back."""
        fetching = asyncio.ensure_future(self._jobs.fetch(queues))
        try:
            job = await asyncio.shield(fetching)
        except asyncio.CancelledError:
            with suppress(StoreUnavailableError):
                if (job := await fetching) is not None:
                    await self._jobs.come_back(job, 0)
            raise
        except StoreUnavailableError as error:
            self.state.is_connected = False
            self._outages.on_failure(error)
            raise
        self._outages.on_success()
        self.state.is_connected = True
        return job

    def start(self, job: TaskJob) -> asyncio.Task[None]:
        """Run the task of a job."""
        self.state.running += 1
        return self._running.start(self._run(job))

    async def _run(self, job: TaskJob) -> None:
        try:
            if not _is_task_key(job.key):
                log.warning(
                    "job removed: %d names no task: %.80r; find out what else writes to the queue",
                    job.id,
                    job.key,
                )
                await self._store_end(lambda: self._jobs.finish(job))
            elif await self._run_task(job):
                await self._store_end(lambda: self._jobs.finish(job))
            else:
                delay = 0.0 if self._is_stopping else self._settings.lease_duration / _BUSY_SHARE
                await self._store_end(lambda: self._jobs.come_back(job, delay))
            self.state.finished += 1
        # The edge of a background task: the job comes back when this worker has ended.
        except Exception:
            log.exception("job failed: %d, task %s", job.id, job.key)
        finally:
            self.state.running -= 1

    async def _run_task(self, job: TaskJob) -> bool:
        """Run the task of a job; return false if the job has to come back.

        Waits while the store is unavailable, unless the worker stops.
        """
        while True:
            try:
                return await self._runner.run(self._queue, job.key)
            except StoreUnavailableError:
                if self._is_stopping:
                    return False
                await self._clock.sleep(_RETRY_SECONDS)

    async def _store_end(self, call: Callable[[], Awaitable[None]]) -> None:
        """Store the end of a job, as soon as the database is available."""
        while True:
            try:
                await call()
            except StoreUnavailableError:
                await self._clock.sleep(_RETRY_SECONDS)
            else:
                return

    async def _beat(self) -> None:
        await self._jobs.beat()
        count = await self._jobs.return_stalled(self._settings.lease_duration)
        if count:
            log.warning(
                "jobs returned: %d, of workers without a heartbeat for %g s",
                count,
                self._settings.lease_duration,
            )
        count = await self._jobs.return_unanswered()
        if count:
            log.warning("jobs returned: %d, whose fetch by this worker lost its answer", count)

    async def _requeue_lost(self) -> None:
        count = await self._queue.requeue_lost(self._read_plan().jobs)
        if count:
            log.warning(
                "tasks queued again: %d, active without a job and without a live process", count
            )
        await self._jobs.prune_workers(_FORGET_SECONDS)


def _is_task_key(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


@asynccontextmanager
async def run_worker(
    runtime: AgentRuntime, *, queues: Sequence[str] = (), concurrency: int = DEFAULT_CONCURRENCY
) -> AsyncGenerator[WorkerState]:
    """Run a worker for the skills of a runtime that was built with ``is_worker``; the end of the
    context stops it gracefully.
    """
    async with serve_jobs(
        runtime, runtime.engine, runtime.skills, queues=queues, concurrency=concurrency
    ) as state:
        yield state


@asynccontextmanager
async def serve_jobs(
    opened: AbstractAsyncContextManager[object],
    engine: Engine,
    skills: Skills,
    *,
    queues: Sequence[str] = (),
    concurrency: int = DEFAULT_CONCURRENCY,
) -> AsyncGenerator[WorkerState]:
    """Fetch jobs for an engine while ``opened`` is, which opens the engine and closes it."""
    settings = engine.settings
    queue = require_queue(engine.store)
    jobs = JobQueue(queue.queue_address)
    worker = TaskWorker(jobs, engine.runner, queue, settings, engine.clock)

    def read_plan() -> WorkerPlan:
        return WorkerPlan.from_skills(skills, settings.runs_on, queues)

    try:
        async with opened:
            if not read_plan().jobs:
                raise WorkerConfigError(NOTHING_TO_SERVE)
            await jobs.open()
            worker.start_consumers(read_plan, concurrency)
            try:
                yield worker.state
            finally:
                await worker.stop_consumers()
    finally:  # the runs are over: each was released or has ended
        await worker.wait_for_jobs(settings.cancel_grace)
        await jobs.close()
