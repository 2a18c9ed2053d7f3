"""Jobs: work that goes on after the handler has returned a handle to it.

A job is any object with the methods of ``Job``: a ``BackgroundJob``, or the handle of another
system such as mcp-mesh. The task stays ``working`` until the job is done, shows its progress, and
ends with its result. The handle lives in this process only: after a restart the result is lost, and
the task fails with that reason.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import NoneType
from typing import Protocol, TypeGuard, runtime_checkable

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part
from a2a_runtime.engine.background import run_in_thread
from a2a_runtime.engine.handlers.skill import HandlerKind, detect_handler_kind

log = logging.getLogger(__name__)

_CANCELED_STATUSES = frozenset({"canceled", "cancelled"})
_MIN_REPORT_INTERVAL_SECONDS = 0.02
_STATUS_RECOVERED = "status available again"
_NON_JOB_TYPES = frozenset(
    {NoneType, str, dict, list, int, float, bool, bytes, Part, Message, Artifact}
)


@runtime_checkable
class Job(Protocol):
    """Handle to work outside of the handler. Each method may be async or plain."""

    def status(self) -> Awaitable[object] | object:
        """Return the status as one word, or as an object with ``status``, ``progress`` and
        ``message`` (or ``progress_message``).
        """

    def wait(self) -> Awaitable[object] | object:
        """Wait for the end; return the result, or raise."""

    def cancel(self) -> Awaitable[object] | object:
        """Request the end of the job."""


@runtime_checkable
class HasProgress(Protocol):
    """Handle whose progress is not part of its status."""

    def progress(self) -> Awaitable[object] | object:
        """Return the progress, from 0 to 1."""


class JobCanceledError(Exception):
    """The job was canceled before it had a result."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """Progress of a job."""

    fraction: float | None = None
    text: str | None = None
    is_canceled: bool = False
    error: str | None = None
    """The exception that the handle raised instead of a status; it says nothing about the work."""


_NO_PROGRESS = JobProgress()


class BackgroundJob:
    """Job in this process. It begins when the handler has returned it.

    async def handler(ctx):
        return BackgroundJob(lambda job: build_report(ctx.text, job.report))

    The work is an async function, or a plain one, which runs in a thread of its own.
    """

    def __init__(self, work: Callable[[BackgroundJob], object]) -> None:
        self.is_cancelled = False
        """True after a cancellation, which a plain function has to look at."""
        self._work = work
        self._progress = _NO_PROGRESS
        self._has_news = asyncio.Event()
        self._is_followed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[object] | None = None

    def report(self, fraction: float | None = None, text: str | None = None) -> None:
        """Report the progress, from any thread: a number from 0 to 1, a text, or both."""
        self._progress = JobProgress(fraction, text)
        if self._loop is not None:
            # The event loop is closed: the thread outlives its process.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._has_news.set)

    async def next_report(self) -> None:
        """Wait for a report; of several that come at once the last one counts."""
        if self._is_followed:
            await asyncio.sleep(_MIN_REPORT_INTERVAL_SECONDS)
        self._is_followed = True
        await self._has_news.wait()
        self._has_news.clear()

    def status(self) -> Mapping[str, object]:
        """Return the progress that was reported last."""
        return {
            "status": State.WORKING.name.lower(),
            "progress": self._progress.fraction,
            "message": self._progress.text,
        }

    def progress(self) -> float | None:
        """Return the fraction that was reported last."""
        return self._progress.fraction

    async def wait(self) -> object:
        """Begin the work, unless it has begun, and wait for its result."""
        if self._task is None:
            if self.is_cancelled:
                raise JobCanceledError
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._run())
        await asyncio.wait((self._task,))
        if self._task.cancelled():
            raise JobCanceledError
        return self._task.result()

    def cancel(self) -> None:
        """Cancel the work."""
        self.is_cancelled = True
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> object:
        if detect_handler_kind(self._work) is HandlerKind.THREAD:
            return await _await_if_needed(await run_in_thread(self._work, self))
        return await _await_if_needed(self._work(self))


def is_job(value: object) -> TypeGuard[Job]:
    """Return whether the result of a handler is a job.

    The table of common result types saves the slow check of the protocol.
    """
    return type(value) not in _NON_JOB_TYPES and isinstance(value, Job)


async def await_job(
    job: Job,
    *,
    pause: Callable[[], Awaitable[None]],
    on_progress: Callable[[JobProgress], Awaitable[None]],
) -> object:
    """Wait for the result of a job and report each change of its progress.

    Cancelling this call cancels the job.

    A ``BackgroundJob`` says when it has news; other handles are polled after each pause.
    """
    reporting = asyncio.Lock()

    async def report(progress: JobProgress) -> None:
        async with reporting:
            await on_progress(progress)

    result = asyncio.ensure_future(_await_if_needed(job.wait()))
    wait_for_report = job.next_report if isinstance(job, BackgroundJob) else pause
    polling = asyncio.ensure_future(_report_progress(job, wait_for_report, report))
    try:
        await asyncio.wait((result, polling), return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            polling.result()
            raise JobCanceledError
        # A report that is being written comes before the end.
        async with reporting:
            polling.cancel()
        # A handle may report its cancellation by an exception of its own.
        if result.exception() is not None and (await poll_job(job)).is_canceled:
            raise JobCanceledError
        return result.result()
    except asyncio.CancelledError:
        with suppress(Exception):  # the task is canceled, whatever the handle raises
            await _await_if_needed(job.cancel())
        raise
    finally:
        for task in (polling, result):
            task.cancel()
        await asyncio.gather(polling, result, return_exceptions=True)


async def _report_progress(
    job: Job,
    pause: Callable[[], Awaitable[None]],
    on_progress: Callable[[JobProgress], Awaitable[None]],
) -> None:
    """Poll a job until it is canceled."""
    last = _NO_PROGRESS
    while not last.is_canceled:
        await pause()
        progress = await poll_job(job, last)
        has_recovered = last.error is not None and progress.error is None
        if (
            progress != last
            and not progress.is_canceled
            and (has_recovered or progress != _NO_PROGRESS)
        ):
            if has_recovered:
                progress = replace(progress, text=progress.text or _STATUS_RECOVERED)
            await on_progress(progress)
        last = progress


async def poll_job(job: Job, last: JobProgress = _NO_PROGRESS) -> JobProgress:
    """Read the status of a job in any of its forms; return the last progress with the error if the
    handle raises.
    """
    try:
        status = await _await_if_needed(job.status())
        if _is_mapping(status):
            fraction = status.get("progress")
            text = status.get("message") or status.get("progress_message")
            word = status.get("status")
        else:
            fraction = None
            if isinstance(job, HasProgress):
                fraction = await _await_if_needed(job.progress())
            text = None
            word = status
        number = float(fraction) if isinstance(fraction, int | float) else None
        return JobProgress(
            number,
            text if isinstance(text, str) and text else None,
            str(word).lower() in _CANCELED_STATUSES,
        )
    # A foreign handle may raise anything, and a failed poll says nothing about the work.
    except Exception as error:  # noqa: BLE001 - as said above
        log.info("job poll failed: %s", error)
        return replace(last, text=None, error=str(error) or type(error).__name__)


async def _await_if_needed(value: object) -> object:
    if inspect.isawaitable(value):
        awaited: object = await value
        return awaited
    return value


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)
