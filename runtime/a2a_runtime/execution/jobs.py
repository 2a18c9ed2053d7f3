"""Work that goes on after the handler has returned: what it hands back is a handle to it.

A job is anything with the methods of ``Job``: our own ``BackgroundJob``, or the handle of another system (that of mcp-mesh has them too). The task
stays ``working`` until the job is done, shows its progress, and ends with its result. The handle lives in this process only: after a restart nobody
can ask for the result any more, and the task fails with that reason.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType
from typing import Protocol, TypeGuard, runtime_checkable

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part

log = logging.getLogger(__name__)


@runtime_checkable
class Job(Protocol):
    """A handle to work that goes on elsewhere. Each method may be async or plain."""

    def status(self) -> Awaitable[object] | object:
        """Say in one word how it stands, or tell it as an object with ``status``, ``progress`` and ``message`` (or ``progress_message``)."""

    def wait(self) -> Awaitable[object] | object:
        """Wait for the end; give back the result, or raise what went wrong."""

    def cancel(self) -> Awaitable[object] | object:
        """Ask it to stop."""


@runtime_checkable
class HasProgress(Protocol):
    """A handle that says apart from its status how much is done, from 0 to 1."""

    def progress(self) -> Awaitable[object] | object:
        """Say how much is done."""


class JobCanceledError(Exception):
    """The job was stopped before it had a result."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How a job stands: how much is done, and what it says about it."""

    fraction: float | None = None
    text: str | None = None
    is_canceled: bool = False


class BackgroundJob:
    """Work in this process that goes on after the handler has returned.

    async def handler(ctx):
        return BackgroundJob(lambda job: build_report(ctx.text, job.report))
    """

    def __init__(self, work: Callable[[BackgroundJob], Awaitable[object]]) -> None:
        self._progress = JobProgress()
        self._task = asyncio.ensure_future(self._run(work))

    def report(self, fraction: float | None = None, text: str | None = None) -> None:
        """Say how it goes."""
        self._progress = JobProgress(fraction, text)

    def status(self) -> Mapping[str, object]:
        """Tell what was reported last."""
        return {"status": State.WORKING.name.lower(), "progress": self._progress.fraction, "message": self._progress.text}

    def progress(self) -> float | None:
        """Tell how much is done."""
        return self._progress.fraction

    async def wait(self) -> object:
        """Wait for the result."""
        await asyncio.wait((self._task,))
        if self._task.cancelled():
            raise JobCanceledError
        return self._task.result()

    def cancel(self) -> None:
        """Stop the work."""
        self._task.cancel()

    async def _run(self, work: Callable[[BackgroundJob], Awaitable[object]]) -> object:
        return await work(self)


def is_job(value: object) -> TypeGuard[Job]:
    """Whether a handler's answer is a handle; what answers mostly are is told without asking for methods."""
    return type(value) not in _NON_JOB_TYPES and isinstance(value, Job)


async def await_if_needed(value: object) -> object:
    """Wait for a value if it has to be waited for."""
    if inspect.isawaitable(value):
        waited: object = await value
        return waited
    return value


def _is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    return isinstance(value, Mapping)


async def poll_job(job: Job) -> JobProgress:
    """Ask a job how it stands, in whatever form it tells."""
    told = await await_if_needed(job.status())
    if _is_mapping(told):
        part, text, word = told.get("progress"), told.get("message") or told.get("progress_message"), told.get("status")
    else:
        part, text, word = await await_if_needed(job.progress()) if isinstance(job, HasProgress) else None, None, told
    number = float(part) if isinstance(part, int | float) else None
    return JobProgress(number, text if isinstance(text, str) and text else None, str(word).lower() in _CANCELED_STATUSES)


_CANCELED_STATUSES = frozenset({"canceled", "cancelled"})
_NON_JOB_TYPES = frozenset({NoneType, str, dict, list, int, float, bool, bytes, Part, Message, Artifact})


async def await_job(job: Job, *, pause: Callable[[], Awaitable[None]], on_progress: Callable[[JobProgress], Awaitable[None]]) -> object:
    """Wait for a job's result, and pass on its progress whenever it has changed. When this is canceled, so is the job."""
    waiting = asyncio.ensure_future(await_if_needed(job.wait()))
    looking = asyncio.ensure_future(_report_progress(job, pause, on_progress))
    try:
        await asyncio.wait((waiting, looking), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            looking.result()
            raise JobCanceledError
        if (
            waiting.exception() is not None and (await _poll_safely(job, JobProgress())).is_canceled
        ):  # a handle may tell of that by an error of its own
            raise JobCanceledError
        return waiting.result()
    except asyncio.CancelledError:
        with suppress(Exception):  # the task is canceled all the same: what a foreign handle says to that interests nobody
            await await_if_needed(job.cancel())
        raise
    finally:
        for task in (looking, waiting):
            task.cancel()
        await asyncio.gather(looking, waiting, return_exceptions=True)


async def _report_progress(job: Job, pause: Callable[[], Awaitable[None]], on_progress: Callable[[JobProgress], Awaitable[None]]) -> None:
    """Look at the job until it says that it was canceled; a look that fails is no reason to give up on it."""
    last = JobProgress()
    while not last.is_canceled:
        await pause()
        seen = await _poll_safely(job, last)
        if seen not in (last, JobProgress()) and not seen.is_canceled:
            await on_progress(seen)
        last = seen


async def _poll_safely(job: Job, last: JobProgress) -> JobProgress:
    try:
        return await poll_job(job)
    except Exception as error:  # noqa: BLE001 - a foreign handle may raise anything, and a look that fails says nothing about the work
        log.info("a job could not be looked at: %s", error)
        return last
