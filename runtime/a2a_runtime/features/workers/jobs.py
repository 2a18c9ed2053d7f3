"""Jobs in the queue of procrastinate, over its job manager.

The worker of procrastinate is not used, because of what was seen with 3.10: a heartbeat or a
listener that fails once ends for good without a sign (its monitor ends together with the periodic
tasks, of which there are none), and a job whose end cannot be stored stays with its living worker.

    a job …                            then
    ends                               it is deleted
    cannot run now                     it comes back after a delay
    belongs to a dead worker           it comes back at once, see ``return_stalled``
    was fetched, and the answer lost   it comes back soon, see ``return_unanswered``

All errors of the connection become ``StoreUnavailableError``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AppNotOpen, ConnectorException, UniqueViolation
from procrastinate.jobs import Status

from a2a_runtime.engine.background import end_task
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres.base import JOB_NAME

_CONNECT_SECONDS = 5
_MAX_CONNECTIONS = 8


class TaskJob(NamedTuple):
    """A fetched job: its id in the queue, and the key of its task."""

    id: int
    key: str


class JobQueue:
    """The queues of a database, for one worker."""

    def __init__(self, dsn: str) -> None:
        connection = {"connect_timeout": _CONNECT_SECONDS}
        connector = PsycopgConnector(
            conninfo=dsn,
            kwargs=connection,
            min_size=1,
            max_size=_MAX_CONNECTIONS,
            timeout=_CONNECT_SECONDS,
        )
        self._app = App(connector=connector)
        self._manager = self._app.job_manager
        self._worker_id: int | None = None
        self._held: set[int] = set()
        """Jobs that this worker has fetched, until their end is stored."""
        self._unknown: set[int] = set()
        """Jobs that this worker has by the tables, and did not know when it last looked."""

    async def open(self) -> None:
        """Connect and register as a worker."""
        with _translate_errors():
            await self._app.open_async()
        await self.beat()

    async def close(self) -> None:
        """Unregister the worker, unless the database is away: without a heartbeat it counts as dead
        soon; then disconnect.
        """
        with suppress(ConnectorException, AppNotOpen):
            if self._worker_id is not None:
                await self._manager.unregister_worker(self._worker_id)
        with suppress(ConnectorException):
            await self._app.close_async()

    async def beat(self) -> None:
        """Register the worker, or renew its heartbeat."""
        with _translate_errors():
            if self._worker_id is None:
                self._worker_id = await self._manager.register_worker()
            else:
                await self._manager.update_heartbeat(self._worker_id)

    async def fetch(self, queues: Sequence[str]) -> TaskJob | None:
        """Fetch the next job of some queues."""
        if self._worker_id is None:
            await self.beat()
        try:
            with _translate_errors():
                job = await self._manager.fetch_job(
                    queues=list(queues), worker_id=self._worker_id or 0
                )
        except _UnknownWorkerError:  # its row was deleted while it had no heartbeat
            self._worker_id = None
            return None
        if job is None or job.id is None:
            return None
        self._held.add(job.id)
        return TaskJob(job.id, str(job.task_kwargs.get("task", "")))

    async def finish(self, job: TaskJob) -> None:
        """Delete a job that is done; a job that another worker has finished stays so."""
        with suppress(_JobGoneError), _translate_errors():
            await self._manager.finish_job_by_id_async(job.id, Status.SUCCEEDED, delete_job=True)
        self._held.discard(job.id)

    async def come_back(self, job: TaskJob, delay_seconds: float) -> None:
        """Put a job back into the queue; where its task has another job there, this one is
        deleted. A job that is back already, or finished, stays so.
        """
        try:
            with suppress(_JobGoneError), _translate_errors():
                await self._manager.retry_job_by_id_async(
                    job.id, datetime.now(UTC) + timedelta(seconds=delay_seconds)
                )
        except _OtherJobError:
            await self.finish(job)
        self._held.discard(job.id)

    async def return_stalled(self, dead_seconds: float) -> int:
        """Put jobs back into the queue whose worker has no heartbeat for some seconds; return their
        number.
        """
        with _translate_errors():
            stalled = await self._manager.get_stalled_jobs(
                task_name=JOB_NAME, seconds_since_heartbeat=dead_seconds
            )
        jobs = [TaskJob(job.id, "") for job in stalled if job.id is not None]
        for job in jobs:
            await self.come_back(job, 0)
        return len(jobs)

    async def return_unanswered(self) -> int:
        """Put jobs back into the queue that this worker has by the tables, and has not known twice
        in a row; return their number.

        The connection broke when the database had fetched them and had not answered yet. Nothing
        else frees them, since the worker lives. A fetch under way explains a job that is unknown
        once.
        """
        if self._worker_id is None:
            return 0
        with _translate_errors():
            fetched = await self._manager.list_jobs_async(
                task=JOB_NAME, status=Status.DOING.value, worker_id=self._worker_id
            )
        before = self._unknown
        self._unknown = {job.id for job in fetched if job.id is not None} - self._held
        lost = before & self._unknown
        for number in lost:
            await self.come_back(TaskJob(number, ""), 0)
        return len(lost)

    async def prune_workers(self, dead_seconds: float) -> None:
        """Delete the rows of workers that are long dead."""
        with _translate_errors():
            await self._manager.prune_stalled_workers(dead_seconds)

    async def listen(self, queues: Sequence[str], on_job: Callable[[], object]) -> None:
        """Call a function for every job that is put into one of some queues, until the connection
        is lost.
        """

        async def wake(**_notification: Any) -> None:  # noqa: ANN401 - whatever has happened
            on_job()

        listening = asyncio.create_task(
            self._manager.listen_for_jobs(on_notification=wake, queues=list(queues))
        )
        try:
            await asyncio.wait((listening,))
        finally:
            # It waits with ``asyncio.wait_for``, and would survive a cancellation that comes
            # together with a notification: the worker would never stop.
            await end_task(listening)
        with _translate_errors():
            listening.result()


class _UnknownWorkerError(Exception):
    """The worker is not registered."""


class _JobGoneError(Exception):
    """The job does not exist, or is in another state than expected."""


class _OtherJobError(Exception):
    """Another job of the same task is waiting."""


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except ConnectorException as error:
        cause = error.__cause__
        if isinstance(error, UniqueViolation):
            raise _OtherJobError from error
        if isinstance(cause, psycopg.errors.RaiseException):
            raise _JobGoneError from error
        if isinstance(cause, psycopg.errors.ForeignKeyViolation):
            raise _UnknownWorkerError from error
        if isinstance(cause, psycopg.OperationalError):
            raise StoreUnavailableError(
                f"queue: unavailable ({cause}); check that the server runs and accepts connections"
            ) from error
        raise
