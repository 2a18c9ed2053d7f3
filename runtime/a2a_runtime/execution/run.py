"""One run of one task: the handler is called, and whatever it does becomes one lawful end of the run.

the handler …                           the task …
returns a value                         completed, with the value as its result
returns a job                           goes on until the job is done, then as if the handler had returned or raised
asks a question                         parked; this run is over
rejects, fails                          rejected, failed, with the handler's reason
raises                                  failed, with a fixed text; the log has the rest
is interrupted: cancel asked for        canceled
                out of time             failed
                shutdown                handed over, or failed where that is not possible
goes on in spite of the interruption    the same, without it: see ``abandon``
is replaced by another run              nothing: the other run decides
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from enum import StrEnum
from types import CoroutineType
from typing import TypeVar

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message
from a2a_runtime.clock import Clock
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.execution import results
from a2a_runtime.execution.context import Context, TaskContext
from a2a_runtime.execution.jobs import Job, JobCanceledError, JobProgress, await_job, is_job
from a2a_runtime.execution.signals import HandlerChangedError, RunStopped, TaskEnded, TaskSuspended, find_signal
from a2a_runtime.execution.skill import HandlerKind, Skill
from a2a_runtime.execution.writer import TaskWriter
from a2a_runtime.logs import request_log
from a2a_runtime.stores.base import RecordKind, ReplayRecord
from a2a_runtime.structs import struct

# Calling a handler, whatever its style.

T = TypeVar("T")


async def call_handler(skill: Skill, context: Context, on_chunk: Callable[[object], Awaitable[None]]) -> object:
    """Run a handler to its end, and give back its answer; what it yields on the way goes to ``chunk``."""
    handler: Callable[[Context], object] = skill.handler  # type: ignore[assignment]  # one that answers with a message is content with a Context
    answer = await run_in_thread(handler, context) if skill.handler_kind is HandlerKind.THREAD else handler(context)
    if skill.handler_kind is not HandlerKind.ASYNC and isinstance(answer, AsyncGenerator):
        async with aclosing(answer) as values:
            async for value in values:
                await on_chunk(value)
        return None
    return await answer if isinstance(answer, CoroutineType) or inspect.isawaitable(answer) else answer


async def run_in_thread(function: Callable[[T], object], argument: T) -> object:
    """Call a plain function in a thread of its own.

    Not in a pool: handlers may block for minutes, and one that never comes back must keep neither others from running nor the process from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    inherited = contextvars.copy_context()

    def deliver(result: object, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(RuntimeError("a handler raised StopIteration") if isinstance(error, StopIteration) else error)

    def work() -> None:
        result, error = None, None
        try:
            result = inherited.run(function, argument)
        except BaseException as raised:  # noqa: BLE001  # the edge of a thread: whoever waits for it gets whatever it was
            error = raised
        with suppress(RuntimeError):  # the loop has been closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(deliver, result, error)

    threading.Thread(target=work, name="a2a-handler", daemon=True).start()
    return await done


log = logging.getLogger(__name__)

HANDLER_FAILED = "The agent failed to do this"
TIMED_OUT = "The agent ran out of time"
SERVER_SHUTDOWN = "Server shutdown"
NOT_RESTARTABLE = "The process that worked on this is gone, and this work cannot be started again"
JOB_LOST = "The background job of this task was lost"

TOO_MANY_RESTARTS = "This work was started again too often without coming to an end"
MESSAGE_MISSING = "The message that asked for this is no longer stored"

JOB_MARKER = "a2a-gen/job"
"""Key of the record that says that the handler has handed back a job."""


class StopReason(StrEnum):
    """Why a handler is told to stop."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"


@struct
class RunOutcome:
    """How a run ends; without a state the task is handed over as it is."""

    state: State | None
    message: Message | None = None
    artifact: Artifact | None = None


@struct
class RunConfig:
    """What runs of a process have in common."""

    clock: Clock
    job_poll_interval: float
    can_release: bool


class TaskRun:
    """A task whose handler runs here."""

    __slots__ = (
        "_beginning",
        "_deaf",
        "_detached",
        "_handed_back",
        "_instead",
        "_rules",
        "context",
        "deadline",
        "desk",
        "interrupted_at",
        "reason",
        "skill",
        "task",
    )

    def __init__(self, skill: Skill, context: TaskContext, writer: TaskWriter, config: RunConfig, preset_outcome: RunOutcome | None = None) -> None:
        self.skill, self.context, self.desk, self._rules, self._instead = skill, context, writer, config, preset_outcome
        context.can_ask = skill.can_ask
        self.reason: StopReason | None = None
        self.interrupted_at = 0.0
        self._deaf = True  # not in the handler: an interruption is only noted
        self._detached = False  # the handler has handed back a job
        self._handed_back: asyncio.Future[None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        self.deadline = float("inf")
        if skill.timeout is not None:
            self.deadline = config.clock.monotonic() + skill.timeout
            context.set_deadline(config.clock.millis() + round(skill.timeout * 1000))
        self.task: asyncio.Task[None] = asyncio.get_running_loop().create_task(self._run())

    def request_stop(self, reason: StopReason) -> None:
        """Tell the handler to stop, once; a cancellation counts more than a shutdown."""
        if self.reason is None or (self.reason is StopReason.SHUTDOWN and reason is StopReason.CANCEL):
            first, self.reason = self.reason is None, reason
            self.interrupted_at = self._rules.clock.monotonic()
            self.context.is_cancelled = True
            if first and not self._deaf:
                self.task.cancel()

    @property
    def is_ignoring_stop(self) -> bool:
        """Whether the handler goes on although it was told to stop."""
        return self.reason is not None and not self._deaf

    def job_started(self) -> asyncio.Future[None]:
        """Give what is done as soon as the handler has handed back a job."""
        if self._handed_back is None:
            self._handed_back = asyncio.get_running_loop().create_future()
            if self._detached:
                self._handed_back.set_result(None)
        return self._handed_back

    async def abandon(self) -> None:
        """End the task without its handler, which does not stop; whatever that still writes is refused."""
        end = self._stop_outcome() or RunOutcome(None)
        fate = "is left to another process" if end.state is None else "ends without it"
        log.warning("task %s: the handler of skill %s does not stop (%s); the task %s", self.context.task_id, self.skill.id, self.reason, fate)
        self.desk.revoke()
        with suppress(RunStopped):
            await self._apply_outcome(end)

    async def _run(self) -> None:
        try:
            await self._apply_outcome(await self._determine_outcome())
        except TaskSuspended:
            request_log.debug("task %s of skill %s asks its caller", self.context.task_id, self.skill.id)
            await self.desk.apply_pending_cancel()
        except RunStopped:
            log.info("a run of skill %s was replaced", self.skill.id)
        except Exception as error:  # the edge of a background task: whatever a handler raises, and whatever its answer does to the store
            log.exception("the handler of skill %s failed", self.skill.id)
            await self._apply_outcome(self._stop_outcome() or RunOutcome(State.FAILED, self.context.reply(self._error_text(error))))

    async def _determine_outcome(self) -> RunOutcome:
        """Call the handler, unless there is no need to any more, and say how the run ends."""
        try:
            end = self._instead or (None if self.reason else await self._run_handler())
        except TaskEnded as ended:
            end = RunOutcome(ended.state, ended.message)
        except HandlerChangedError as error:
            log.error("task %s: %s", self.context.task_id, error)  # noqa: TRY400  # where it was raised says nothing
            end = RunOutcome(State.FAILED, self.context.reply(str(error)))
        except JobCanceledError:
            end = RunOutcome(State.CANCELED)
        except asyncio.CancelledError:
            if self.reason is None and self.task.cancelling():
                raise  # the loop is being closed; there is no time for anything
            end = None if self.reason else RunOutcome(State.FAILED, self.context.reply(HANDLER_FAILED))
        finally:
            self._deaf = True
        return self._stop_outcome(end) or end or RunOutcome(None)

    async def _run_handler(self) -> RunOutcome | None:
        if not self.skill.restartable:
            await self.desk.mark_working()
            if self.reason:
                return None
        self._deaf = False
        answer = await self._call_handler()
        if is_job(answer):
            answer = await self._run_job(answer)
        if answer is None:
            return RunOutcome(State.COMPLETED)
        if isinstance(answer, Message):
            return RunOutcome(State.COMPLETED, self.context.bind(answer))
        return RunOutcome(State.COMPLETED, artifact=self._to_artifact(answer))

    async def _call_handler(self) -> object:
        try:
            return await call_handler(self.skill, self.context, self._write_chunk)
        except BaseExceptionGroup as group:  # a signal was raised within a task group of the handler
            raise find_signal(group) or RuntimeError("a task group of the handler failed") from group
        except SystemExit as leaving:  # a handler may not take the process with it
            raise RuntimeError("the handler wanted to exit") from leaving

    async def _write_chunk(self, value: object) -> None:
        if isinstance(value, Message):
            await self.context.set_status(value)
        else:
            await self.desk.write_artifact(self._to_artifact(value))

    def _to_artifact(self, value: object) -> Artifact:
        return results.to_artifact_lossy(value) if self.skill.expose_errors else results.to_artifact(value)

    def _error_text(self, error: Exception) -> str:
        """Choose what the caller reads of an error."""
        return (str(error) or type(error).__name__) if self.skill.expose_errors else HANDLER_FAILED

    async def _run_job(self, job: Job) -> object:
        await self.desk.mark_working()
        await self.desk.write_record(ReplayRecord(RecordKind.ONCE, JOB_MARKER, b"null"))
        self.deadline, self._detached = float("inf"), True
        if self._handed_back is not None:
            self._handed_back.set_result(None)

        async def pause() -> None:
            await self._rules.clock.sleep(self._rules.job_poll_interval)

        async def news(progress: JobProgress) -> None:
            await self.context.status(progress.text, progress=progress.fraction)

        return await await_job(job, pause=pause, on_progress=news)

    def _stop_outcome(self, otherwise: RunOutcome | None = None) -> RunOutcome | None:
        """Say how the run ends that was told to stop; a handler that is done before the shutdown is done."""
        match self.reason:
            case StopReason.CANCEL:
                return RunOutcome(State.CANCELED)
            case StopReason.TIMEOUT:
                return RunOutcome(State.FAILED, self.context.reply(TIMED_OUT))
            case StopReason.SHUTDOWN if otherwise is None:
                hands_over = self._rules.can_release and self.skill.restartable and not self._detached
                return RunOutcome(None) if hands_over else RunOutcome(State.FAILED, self.context.reply(SERVER_SHUTDOWN))
            case _:
                return None

    async def _apply_outcome(self, outcome: RunOutcome) -> None:
        try:
            if outcome.state is not None:
                await self.desk.finish(outcome.state, outcome.message, outcome.artifact)
                if request_log.isEnabledFor(logging.DEBUG):
                    request_log.debug("task %s of skill %s: %s", self.context.task_id, self.skill.id, outcome.state.name.lower())
            else:
                with suppress(StoreUnavailableError):  # then the lease runs out, which comes to the same
                    await self.desk.release()
        except RunStopped:
            if self.reason is not StopReason.CANCEL:
                raise
            await self.desk.apply_pending_cancel()  # the handler has parked at the same moment

    def mark_working_soon(self) -> None:
        """Say that the task is at work, if its run has not said so itself by now."""
        if not self.desk.is_working and self.desk.is_open:
            self._beginning = asyncio.create_task(self._mark_working())

    async def _mark_working(self) -> None:
        with suppress(RunStopped, StoreUnavailableError):  # the next write of the run meets the same, and somebody waits for that one
            await self.desk.mark_working()
