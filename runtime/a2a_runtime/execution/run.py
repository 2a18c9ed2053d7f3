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
from a2a_runtime.execution.jobs import Job, JobCanceledError, Progress, await_job, is_job
from a2a_runtime.execution.signals import Ended, HandlerChangedError, Parked, RunOver, signal_in
from a2a_runtime.execution.skill import Skill, Style
from a2a_runtime.execution.writer import Desk
from a2a_runtime.logs import calls
from a2a_runtime.stores.base import Record, RecordKind
from a2a_runtime.structs import value

# Calling a handler, whatever its style.

T = TypeVar("T")


async def call(skill: Skill, context: Context, chunk: Callable[[object], Awaitable[None]]) -> object:
    """Run a handler to its end, and give back its answer; what it yields on the way goes to ``chunk``."""
    handler: Callable[[Context], object] = skill.handler  # type: ignore[assignment]  # one that answers with a message is content with a Context
    answer = await in_thread(handler, context) if skill.style is Style.THREAD else handler(context)
    if skill.style is not Style.ASYNC and isinstance(answer, AsyncGenerator):
        async with aclosing(answer) as values:
            async for value in values:
                await chunk(value)
        return None
    return await answer if isinstance(answer, CoroutineType) or inspect.isawaitable(answer) else answer


async def in_thread(function: Callable[[T], object], argument: T) -> object:
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

FAILED = "The agent failed to do this"
OUT_OF_TIME = "The agent ran out of time"
SHUT_DOWN = "Server shutdown"
NOT_RESTARTABLE = "The process that worked on this is gone, and this work cannot be started again"
JOB_LOST = "The background job of this task was lost"

TOO_OFTEN = "This work was started again too often without coming to an end"
MESSAGE_GONE = "The message that asked for this is no longer stored"

JOB = "a2a-gen/job"
"""Key of the record that says that the handler has handed back a job."""


class Interruption(StrEnum):
    """Why a handler is told to stop."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"


@value
class End:
    """How a run ends; without a state the task is handed over as it is."""

    state: State | None
    message: Message | None = None
    artifact: Artifact | None = None


@value
class Rules:
    """What runs of a process have in common."""

    clock: Clock
    job_poll: float
    hands_over: bool


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

    def __init__(self, skill: Skill, context: TaskContext, desk: Desk, rules: Rules, instead: End | None = None) -> None:
        self.skill, self.context, self.desk, self._rules, self._instead = skill, context, desk, rules, instead
        context.may_ask = skill.may_ask
        self.reason: Interruption | None = None
        self.interrupted_at = 0.0
        self._deaf = True  # not in the handler: an interruption is only noted
        self._detached = False  # the handler has handed back a job
        self._handed_back: asyncio.Future[None] | None = None
        self._beginning: asyncio.Task[None] | None = None
        self.deadline = float("inf")
        if skill.timeout is not None:
            self.deadline = rules.clock.monotonic() + skill.timeout
            context.limit(rules.clock.millis() + round(skill.timeout * 1000))
        self.task: asyncio.Task[None] = asyncio.get_running_loop().create_task(self._go())

    def interrupt(self, reason: Interruption) -> None:
        """Tell the handler to stop, once; a cancellation counts more than a shutdown."""
        if self.reason is None or (self.reason is Interruption.SHUTDOWN and reason is Interruption.CANCEL):
            first, self.reason = self.reason is None, reason
            self.interrupted_at = self._rules.clock.monotonic()
            self.context.cancelled = True
            if first and not self._deaf:
                self.task.cancel()

    @property
    def ignores(self) -> bool:
        """Whether the handler goes on although it was told to stop."""
        return self.reason is not None and not self._deaf

    def handed_back(self) -> asyncio.Future[None]:
        """Give what is done as soon as the handler has handed back a job."""
        if self._handed_back is None:
            self._handed_back = asyncio.get_running_loop().create_future()
            if self._detached:
                self._handed_back.set_result(None)
        return self._handed_back

    async def abandon(self) -> None:
        """End the task without its handler, which does not stop; whatever that still writes is refused."""
        end = self._interrupted() or End(None)
        fate = "is left to another process" if end.state is None else "ends without it"
        log.warning("task %s: the handler of skill %s does not stop (%s); the task %s", self.context.task_id, self.skill.id, self.reason, fate)
        self.desk.dismiss()
        with suppress(RunOver):
            await self._settle(end)

    async def _go(self) -> None:
        try:
            await self._settle(await self._outcome())
        except Parked:
            calls.debug("task %s of skill %s asks its caller", self.context.task_id, self.skill.id)
            await self.desk.look_for_cancellation()
        except RunOver:
            log.info("a run of skill %s was replaced", self.skill.id)
        except Exception as error:  # the edge of a background task: whatever a handler raises, and whatever its answer does to the store
            log.exception("the handler of skill %s failed", self.skill.id)
            await self._settle(self._interrupted() or End(State.FAILED, self.context.reply(self._words(error))))

    async def _outcome(self) -> End:
        """Call the handler, unless there is no need to any more, and say how the run ends."""
        try:
            end = self._instead or (None if self.reason else await self._answered())
        except Ended as ended:
            end = End(ended.state, ended.message)
        except HandlerChangedError as error:
            log.error("task %s: %s", self.context.task_id, error)  # noqa: TRY400  # where it was raised says nothing
            end = End(State.FAILED, self.context.reply(str(error)))
        except JobCanceledError:
            end = End(State.CANCELED)
        except asyncio.CancelledError:
            if self.reason is None and self.task.cancelling():
                raise  # the loop is being closed; there is no time for anything
            end = None if self.reason else End(State.FAILED, self.context.reply(FAILED))
        finally:
            self._deaf = True
        return self._interrupted(end) or end or End(None)

    async def _answered(self) -> End | None:
        if not self.skill.restartable:
            await self.desk.begin()
            if self.reason:
                return None
        self._deaf = False
        answer = await self._called()
        if is_job(answer):
            answer = await self._job(answer)
        if answer is None:
            return End(State.COMPLETED)
        if isinstance(answer, Message):
            return End(State.COMPLETED, self.context.bound(answer))
        return End(State.COMPLETED, artifact=self._artifact(answer))

    async def _called(self) -> object:
        try:
            return await call(self.skill, self.context, self._chunk)
        except BaseExceptionGroup as group:  # a signal was raised within a task group of the handler
            raise signal_in(group) or RuntimeError("a task group of the handler failed") from group
        except SystemExit as leaving:  # a handler may not take the process with it
            raise RuntimeError("the handler wanted to exit") from leaving

    async def _chunk(self, value: object) -> None:
        if isinstance(value, Message):
            await self.context.say(value)
        else:
            await self.desk.artifact(self._artifact(value))

    def _artifact(self, value: object) -> Artifact:
        return results.told(value) if self.skill.outspoken else results.artifact_of(value)

    def _words(self, error: Exception) -> str:
        """Choose what the caller reads of an error."""
        return (str(error) or type(error).__name__) if self.skill.outspoken else FAILED

    async def _job(self, job: Job) -> object:
        await self.desk.begin()
        await self.desk.record(Record(RecordKind.ONCE, JOB, b"null"))
        self.deadline, self._detached = float("inf"), True
        if self._handed_back is not None:
            self._handed_back.set_result(None)

        async def pause() -> None:
            await self._rules.clock.sleep(self._rules.job_poll)

        async def news(progress: Progress) -> None:
            await self.context.status(progress.text, progress=progress.part)

        return await await_job(job, pause=pause, news=news)

    def _interrupted(self, otherwise: End | None = None) -> End | None:
        """Say how the run ends that was told to stop; a handler that is done before the shutdown is done."""
        match self.reason:
            case Interruption.CANCEL:
                return End(State.CANCELED)
            case Interruption.TIMEOUT:
                return End(State.FAILED, self.context.reply(OUT_OF_TIME))
            case Interruption.SHUTDOWN if otherwise is None:
                hands_over = self._rules.hands_over and self.skill.restartable and not self._detached
                return End(None) if hands_over else End(State.FAILED, self.context.reply(SHUT_DOWN))
            case _:
                return None

    async def _settle(self, end: End) -> None:
        try:
            if end.state is not None:
                await self.desk.end(end.state, end.message, end.artifact)
                if calls.isEnabledFor(logging.DEBUG):
                    calls.debug("task %s of skill %s: %s", self.context.task_id, self.skill.id, end.state.name.lower())
            else:
                with suppress(StoreUnavailableError):  # then the lease runs out, which comes to the same
                    await self.desk.hand_over()
        except RunOver:
            if self.reason is not Interruption.CANCEL:
                raise
            await self.desk.look_for_cancellation()  # the handler has parked at the same moment

    def begin_soon(self) -> None:
        """Say that the task is at work, if its run has not said so itself by now."""
        if not self.desk.begun and self.desk.is_open:
            self._beginning = asyncio.create_task(self._begin())

    async def _begin(self) -> None:
        with suppress(RunOver, StoreUnavailableError):  # the next write of the run meets the same, and somebody waits for that one
            await self.desk.begin()
