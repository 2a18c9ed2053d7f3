"""One run of one task: calls the handler and turns its end into exactly one outcome.

the handler …                          the task …
returns a value                        completed, with the value as its result
returns a job                          working until the job is done,
                                       then as if the handler had returned or raised
asks a question                        suspended; this run is over
rejects, fails                         rejected, failed, with the handler's reason
raises                                 failed, with a fixed text, or working until it is retried;
                                       the log has the traceback
is stopped: cancel requested           canceled
            timeout                    failed
            shutdown                   released for another process, or failed if that is impossible
cannot write for too long              handed over: its claim is released as soon as the store
                                       is back, and the handler runs again
ignores the stop request               the same, without the handler: see ``TaskRun.abandon``
is replaced by another run             unchanged: the other run decides
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from enum import Enum, StrEnum
from math import inf
from typing import Any

from msgspec import Struct

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Role
from a2a_runtime.base.caller import Caller
from a2a_runtime.base.logs import log_failure, request_log
from a2a_runtime.base.origin import current_run
from a2a_runtime.engine.dependencies import RunDependencies
from a2a_runtime.engine.handlers import results
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.jobs import Job, JobCanceledError, JobProgress, await_job, is_job
from a2a_runtime.engine.handlers.skill import Skill, call_handler
from a2a_runtime.engine.replay import (
    EMPTY_REQUEST_INFO,
    RETRY_MARKER,
    RequestInfo,
    count_failures,
    find_deadline,
    has_answer,
)
from a2a_runtime.engine.signals import (
    HandlerChangedError,
    RunStopped,
    TaskEnded,
    TaskSuspended,
)
from a2a_runtime.engine.writer import TaskWriter
from a2a_runtime.errors import FencedError, StoreUnavailableError
from a2a_runtime.stores.models import Chunk, ClaimedRun, RecordKind, ReplayRecord

log = logging.getLogger(__name__)

HANDLER_FAILED = "The agent failed to do this"
TIMED_OUT = "The agent ran out of time"
SERVER_SHUTDOWN = "Server shutdown"
NOT_RESTARTABLE = (
    "Outcome unknown: the process that ran this task is gone, and its skill cannot be restarted"
)
JOB_LOST = "The background job of this task was lost"
STATUS_UNAVAILABLE = "status unavailable"
TOO_MANY_RESTARTS = "This task was restarted too often without coming to an end"
MESSAGE_MISSING = "The message that started this task is no longer stored"

MISSING_MESSAGE = Message(message_id="", role=Role.USER, parts=[])
"""Stands for a message that is no longer stored; every other message has an id."""

JOB_MARKER = "a2a-gen/job"
"""Key of the record which says that the handler has returned a job."""


class StopReason(StrEnum):
    """Reason of a stop request."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"
    LOST = "lost"


class RunPhase(Enum):
    """Phase of a run. It only moves forward, and may skip phases.

    phase      a stop request …        at a shutdown the task is …
    STARTING   is recorded             released; the handler is not called
    HANDLER    cancels the handler     released
    JOB        cancels the job         failed: the handle of the job lives in this process only
    ENDING     is recorded             ended as the handler has decided

    Released means failed where the store runs no tasks again or the skill is not restartable.
    """

    STARTING = "starting"
    HANDLER = "handler"
    JOB = "job"
    ENDING = "ending"


_INTERRUPTIBLE = (RunPhase.HANDLER, RunPhase.JOB)


class RunOutcome(Struct, frozen=True):
    """Outcome of a run; without a state the task is released as it is, with the number of failures
    if it is to be retried after a delay.
    """

    state: State | None
    message: Message | None = None
    result: Chunk | None = None
    failures: int = 0
    delay_seconds: float = 0.0


class BegunCall(Struct, frozen=True):
    """A call of a handler that began before there was a task, with its context and writer."""

    context: TaskContext
    writer: TaskWriter
    result: asyncio.Task[object]


class TaskRun:
    """A task whose handler runs in this process."""

    began_at = 0.0
    end: State | str = "released"
    """State in which the run has left its task; or ``released``, ``suspended``, ``replaced``."""
    stop_reason: StopReason | None = None
    stop_requested_at = 0.0
    _phase = RunPhase.STARTING
    _is_abandoned = False
    _job_started: asyncio.Future[None] | None = None

    def __init__(
        self,
        dependencies: RunDependencies,
        skill: Skill,
        claimed: ClaimedRun,
        caller: Caller,
        message: Message,
        begun: BegunCall | None = None,
    ) -> None:
        self.skill = skill
        self._clock = dependencies.clock
        self._settings = dependencies.settings
        self.deadline = inf if skill.timeout is None else self._clock.monotonic() + skill.timeout
        self._begun = begun
        info = RequestInfo.from_records(claimed.records) if claimed.records else EMPTY_REQUEST_INFO
        if info.origin:
            self.deadline = find_deadline(
                skill.timeout, info, self._clock, has_answer=has_answer(claimed.records)
            )
        if begun is None:
            self.writer = TaskWriter(dependencies, claimed.stored)
            self.context = TaskContext(
                dependencies, caller, claimed, self.writer, message, self.deadline
            )
            if info is not EMPTY_REQUEST_INFO:
                self.context.request = info
        else:
            self.writer = begun.writer
            self.context = begun.context
        if not skill.can_ask:
            self.context.can_ask = False
        if skill.accepts_messages:
            self.context.accepts_messages = True
        self._can_release = dependencies.store.runs_again and skill.restartable
        self._records = claimed.records
        reason = None if self.context.attempt == 1 else refuse_restart(skill, claimed, message)
        if claimed.stored.cancel_requested:
            self.request_stop(StopReason.CANCEL)
        running: Coroutine[Any, Any, None] = self._run(reason)
        for wrap in dependencies.observation.wrap_run:
            running = wrap(self, running)
        self.task: asyncio.Task[None] = dependencies.hub.loop.create_task(running)

    @property
    def tasks(self) -> tuple[asyncio.Task[Any], ...]:
        """The asyncio tasks of the run: its own, and that of a handler that began before it."""
        if self._begun is None:
            return (self.task,)
        return (self.task, self._begun.result)

    def request_stop(self, reason: StopReason) -> None:
        """Stop the handler.

        Only the first request cancels it; a later cancellation replaces a shutdown as the reason.
        """
        if self.stop_reason is None or (
            self.stop_reason is StopReason.SHUTDOWN and reason is StopReason.CANCEL
        ):
            is_first = self.stop_reason is None
            self.stop_reason = reason
            self.stop_requested_at = self._clock.monotonic()
            self.context.is_cancelled = True
            if is_first and self._phase in _INTERRUPTIBLE:
                self.task.cancel()

    @property
    def is_ignoring_stop(self) -> bool:
        """Return whether the handler still runs after a stop request."""
        return self.stop_reason is not None and self._phase in _INTERRUPTIBLE

    def job_started(self) -> asyncio.Future[None]:
        """Return the future that is done as soon as the handler has returned a job."""
        if self._job_started is None:
            self._job_started = asyncio.get_running_loop().create_future()
        return self._job_started

    async def mark_working(self) -> None:
        """Set the task to working, unless the run has ended or the store is unavailable: then the
        next write of the run meets the same error.

        A run that the store refuses is stopped: its handler may write nothing for a long time.
        """
        try:
            with suppress(StoreUnavailableError):
                await self.writer.mark_working()
        except RunStopped:
            if self.writer.is_lost:
                self.request_stop(StopReason.LOST)

    def lose(self, error: FencedError) -> None:
        """Stop the handler: the store does not have this run any more, or not all of its writes.

        The task runs again.
        """
        self.writer.lose(error)
        self.request_stop(StopReason.LOST)

    async def abandon(self) -> None:
        """End the task without its handler, which ignores the stop request; later writes of the
        handler are refused.

        A run that is ending is waited for: its end is written whole or not at all, and then the
        task runs again.
        """
        if self._phase is RunPhase.ENDING:
            await asyncio.wait((self.task,))
            return
        self._is_abandoned = True
        outcome = self._stop_outcome() or RunOutcome(None)
        fate = "released to another process" if outcome.state is None else "ended without it"
        log.warning(
            "handler abandoned: task %s, skill %s ignores the stop request (%s); task %s",
            self.context.task_id,
            self.skill.id,
            self.stop_reason,
            fate,
        )
        self.writer.revoke()
        with suppress(RunStopped):
            await self._apply_outcome(outcome, by_handler=False)

    async def _run(self, refusal: str | None) -> None:
        try:
            outcome = None
            if refusal is not None:
                outcome = RunOutcome(State.FAILED, self.context.reply(refusal))
            await self._apply_outcome(await self._determine_outcome(outcome))
        except TaskSuspended:
            self.end = "suspended"
            request_log.debug("task suspended: %s, skill %s", self.context.task_id, self.skill.id)
            # Otherwise a process that looks for orphans ends the task.
            with suppress(StoreUnavailableError):
                await self.writer.apply_pending_cancel()
        except RunStopped:
            self.end = "replaced"
            log.info("run replaced: task %s, skill %s", self.context.task_id, self.skill.id)
        except StoreUnavailableError:
            if (outcome := self._stop_outcome()) is not None and outcome.state is not None:
                await self._apply_outcome(outcome)
            # The renewal of the lease finds the claim, as soon as the store is back.
            else:
                log.warning(
                    (
                        "task handed over: %s, skill %s, because the store was unavailable for "
                        "too long"
                    ),
                    self.context.task_id,
                    self.skill.id,
                )
        # Exceptions of the handler, and of the store about its result.
        except Exception as error:  # noqa: BLE001 - the edge of a background task
            log_failure(
                log,
                "handler failed: task %s, skill %s",
                self.context.task_id,
                self.skill.id,
                error=error,
            )
            text = HANDLER_FAILED
            if self.skill.expose_errors:
                text = str(error) or type(error).__name__
            await self._apply_outcome(
                self._stop_outcome()
                or self._retry_outcome()
                or RunOutcome(State.FAILED, self.context.reply(text))
            )
        finally:
            if self.writer.has_chunks:
                self.writer.discard_chunks()

    async def _determine_outcome(self, outcome: RunOutcome | None) -> RunOutcome:
        """Call the handler, unless there is an outcome or a stop request before it."""
        try:
            if outcome is None and self.stop_reason is None:
                outcome = await self._run_handler()
        except TaskEnded as signal:
            outcome = RunOutcome(signal.state, signal.message)
        except HandlerChangedError as error:
            log.error(  # noqa: TRY400  # the traceback says nothing
                "handler changed: task %s, skill %s: %s", self.context.task_id, self.skill.id, error
            )
            outcome = RunOutcome(State.FAILED, self.context.reply(str(error)))
        except JobCanceledError:
            outcome = RunOutcome(State.CANCELED)
        except asyncio.CancelledError as error:
            if self.stop_reason is None:
                if self.task.cancelling():
                    raise  # the event loop is being closed; there is no time for anything
                text = "handler failed: task %s, skill %s: it ended in a CancelledError of its own"
                log_failure(log, text, self.context.task_id, self.skill.id, error=error)
                outcome = RunOutcome(State.FAILED, self.context.reply(HANDLER_FAILED))
        finally:
            self._phase = RunPhase.ENDING
            if self._begun is not None:
                # This does nothing, unless the run was stopped before it awaited the handler.
                self._begun.result.cancel()
        if self.stop_reason is not None:
            outcome = self._stop_outcome(outcome) or outcome
        return outcome or RunOutcome(None)

    async def _run_handler(self) -> RunOutcome | None:
        if not self.skill.restartable:
            await self.writer.mark_working()
            if self.stop_reason is not None:
                return None
        self._phase = RunPhase.HANDLER
        current_run.set((self.skill, self.writer.stored, self.deadline, self._clock.monotonic))
        if self._begun is None:
            result = await call_handler(self.skill, self.context, self._write_chunk)
        else:
            result = await self._begun.result
        if is_job(result):
            result = await self._run_job(result)
        if result is None:
            return RunOutcome(State.COMPLETED)
        if isinstance(result, Message):
            return RunOutcome(State.COMPLETED, self.context.bind(result))
        return RunOutcome(
            State.COMPLETED, result=results.to_chunk(result, is_lossy=self.skill.expose_errors)
        )

    async def _run_job(self, job: Job) -> object:
        await self.writer.mark_working()
        await self.writer.write_record(ReplayRecord(RecordKind.ONCE, JOB_MARKER, b"null"))
        self.deadline = inf
        self._phase = RunPhase.JOB
        self._can_release = False
        self.job_started().set_result(None)
        return await await_job(
            job,
            pause=lambda: self._clock.sleep(self._settings.job_poll_interval),
            on_progress=self._write_progress,
        )

    async def _write_progress(self, progress: JobProgress) -> None:
        text = progress.text
        if progress.error is not None:
            text = STATUS_UNAVAILABLE
            if self.skill.expose_errors:
                text += f": {progress.error}"
        await self.context.status(text, progress=progress.fraction)

    async def _write_chunk(self, value: object) -> None:
        await write_chunk(self.skill, self.context, self.writer, value)

    def _stop_outcome(self, outcome: RunOutcome | None = None) -> RunOutcome | None:
        """Return the outcome of a stop request; ``None`` without one, and for a handler that has
        ended before a shutdown.
        """
        match self.stop_reason:
            case StopReason.CANCEL:
                return RunOutcome(State.CANCELED)
            case StopReason.TIMEOUT:
                return RunOutcome(State.FAILED, self.context.reply(TIMED_OUT))
            case StopReason.SHUTDOWN if outcome is None:
                if self._can_release:
                    return RunOutcome(None)
                return RunOutcome(State.FAILED, self.context.reply(SERVER_SHUTDOWN))
            case _:
                return None

    def _retry_outcome(self) -> RunOutcome | None:
        """Return the outcome of a handler that raised and is to be run again by a worker; a task
        that is closed already raises at the next write.
        """
        if not self._can_release or not self.skill.is_deferred(self._settings.runs_on):
            return None
        failures = count_failures(self._records) + 1
        delay = self.skill.worker.retry.find_delay(failures)
        if delay is None:
            return None
        log.info(
            "task retried in %g s: %s, skill %s, after %d runs that raised",
            delay,
            self.context.task_id,
            self.skill.id,
            failures,
        )
        return RunOutcome(None, failures=failures, delay_seconds=delay)

    async def _apply_outcome(self, outcome: RunOutcome, *, by_handler: bool = True) -> None:
        if by_handler and self._is_abandoned:
            # The end is written already, without what the handler has done since.
            return
        try:
            if outcome.failures:
                await self.writer.mark_working()
            if outcome.state is None:
                records: list[ReplayRecord] = []
                if outcome.failures:
                    failures = b"%d" % outcome.failures
                    records.append(ReplayRecord(RecordKind.ONCE, RETRY_MARKER, failures))
                deferral = self.skill.build_deferral(
                    self._settings.runs_on, self.writer.stored.scope.surface, outcome.delay_seconds
                )
                # The lease expires, which has the same effect.
                with suppress(StoreUnavailableError):
                    await self.writer.release(deferral, records)
                return
            await self.writer.finish(outcome.state, outcome.message, outcome.result)
            self.end = outcome.state
            if request_log.isEnabledFor(logging.DEBUG):
                request_log.debug(
                    "task %s: %s, skill %s",
                    outcome.state.name.lower(),
                    self.context.task_id,
                    self.skill.id,
                )
        except RunStopped:
            if self.stop_reason is not StopReason.CANCEL:
                raise
            # The handler has suspended the task at the same moment.
            await self.writer.apply_pending_cancel()


def refuse_restart(skill: Skill, claimed: ClaimedRun, message: Message) -> str | None:
    """Return the reason why a task cannot be run again: its message or job is lost, or its handler
    must not be restarted.
    """
    if message is MISSING_MESSAGE:
        return MESSAGE_MISSING
    if any(
        record.kind is RecordKind.ONCE and record.key == JOB_MARKER for record in claimed.records
    ):
        return JOB_LOST
    if not skill.restartable and claimed.stored.state is State.WORKING:
        return NOT_RESTARTABLE
    if claimed.crashes > skill.max_restarts:
        return TOO_MANY_RESTARTS
    return None


async def write_chunk(
    skill: Skill, context: TaskContext, writer: TaskWriter, value: object
) -> None:
    """Write a value that a handler has yielded: a message as a status, anything else as a chunk of
    the result.
    """
    if isinstance(value, Message):
        await context.set_status(value)
        return
    is_last = isinstance(value, results.LastChunk)
    if isinstance(value, results.LastChunk):
        value = value.value
    chunk = results.to_chunk(value, is_lossy=skill.expose_errors)
    if chunk.artifact_id in writer.complete_artifacts:
        raise ValueError(
            f"artifact {chunk.artifact_id!r}: already complete; yield its chunks before "
            "LastChunk, or use another artifact"
        )
    await writer.write_chunk(chunk, last_chunk=is_last)
    if is_last:
        writer.complete_artifacts.add(chunk.artifact_id)
