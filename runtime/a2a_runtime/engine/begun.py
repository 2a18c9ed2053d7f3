"""Handlers that begin before there is a task: a skill with ``answers="either"`` decides in each
call.

    the handler, within a second …                           the caller gets
    returns a value                                          a message; nothing is stored
    writes, asks or records through ctx, or yields           a task, created before that goes on
    rejects or fails through ctx; returns nothing, or a job  a task
    raises                                                   an error
    does none of these                                       a task; the same call goes on in it

The task has its id from the beginning, so nothing that the handler has read changes. A later run,
after a crash or an answer, is as any other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from math import inf

from a2a_contract.base import Encoded
from a2a_contract.errors import InvalidAgentResponseError, UnavailableError
from a2a_contract.v1_0 import Message, Task
from a2a_runtime.base.caller import Caller, TaskScope
from a2a_runtime.base.logs import log_failure
from a2a_runtime.base.origin import current_origin, in_origin, limit_origin
from a2a_runtime.engine.dependencies import RunDependencies
from a2a_runtime.engine.follow_ups import AcceptedMessage
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.jobs import is_job
from a2a_runtime.engine.handlers.skill import Skill, call_handler
from a2a_runtime.engine.replay import RequestInfo, find_deadline
from a2a_runtime.engine.run import BegunCall, write_chunk
from a2a_runtime.engine.signals import RunStopped
from a2a_runtime.engine.writer import TaskWriter
from a2a_runtime.stores.changes import build_first_version
from a2a_runtime.stores.models import ClaimedRun, NewTask, StoredTask, TaskChange

log = logging.getLogger(__name__)

MAX_SECONDS = 1.0
"""Time after which a handler that has not returned gets a task."""


class DeferredWriter(TaskWriter):
    """Writer of a task that is created for its first write."""

    def __init__(self, dependencies: RunDependencies, planned: StoredTask) -> None:
        super().__init__(dependencies, planned)
        self.needed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done as soon as something needs the task."""
        self._created: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def require_task(self) -> None:
        """Wait until the task exists."""
        if not self.needed.done():
            self.needed.set_result(None)
        await asyncio.shield(self._created)

    def attach(self, stored: StoredTask) -> None:
        """Let the writes begin: the task exists."""
        self.stored = stored
        self.last_seq = stored.last_seq
        if not self._created.done():
            self._created.set_result(None)

    def fail(self, error: BaseException) -> None:
        """Refuse the writes: the task could not be created."""
        if not self._created.done():
            self._created.set_exception(error)
            # There may be no write that waits for it. Then asyncio would log a lost exception.
            self._created.exception()

    async def _commit(
        self, change: TaskChange, *, by_handler: bool = True, unless_working: bool = False
    ) -> None:
        if not self._created.done():
            await self.require_task()
        await super()._commit(change, by_handler=by_handler, unless_working=unless_working)


class BegunHandler:
    """A running handler, without a task for now."""

    def __init__(
        self,
        dependencies: RunDependencies,
        skill: Skill,
        scope: TaskScope,
        new: NewTask,
        caller: Caller,
    ) -> None:
        self.wire_id = new.wire_id or dependencies.ids.new()
        planned = build_first_version(
            scope, new, "", self.wire_id, Encoded(Task, b"{}"), dependencies.clock.millis()
        )
        self.skill = skill
        self.writer = DeferredWriter(dependencies, planned)
        records = () if new.record is None else (new.record,)
        info = RequestInfo.from_records(records)
        deadline = find_deadline(skill.timeout, info, dependencies.clock)
        self.context = TaskContext(
            dependencies, caller, ClaimedRun(planned, records), self.writer, new.message, deadline
        )
        self.context.request = info
        self.context.can_ask = skill.can_ask
        self.context.accepts_messages = skill.accepts_messages
        call = call_handler(skill, self.context, self._write_chunk)
        loop = asyncio.get_running_loop()
        clock = dependencies.clock
        if deadline == inf:
            origin = current_origin.get()
        else:
            origin = limit_origin(deadline - clock.monotonic(), clock.millis())
        self.task: asyncio.Task[object] = in_origin(origin, lambda: loop.create_task(call))

    async def run(
        self, start: Callable[[], Awaitable[AcceptedMessage]]
    ) -> AcceptedMessage | Message:
        """Wait for the message of the handler, or start its task if it needs one."""
        try:
            message = await self.wait_message()
        except BaseException:  # the caller has gone, or the handler has raised
            self.abort()
            raise
        if message is not None:
            return message
        try:
            return await start()
        except Exception as error:
            self.abort(error)
            raise

    async def wait_message(self) -> Message | None:
        """Wait for the message that the handler returns; ``None`` if a task is needed instead."""
        await asyncio.wait(
            (self.task, self.writer.needed),
            timeout=MAX_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if self.writer.needed.done() or not self.task.done():
            return None
        try:
            result = self.task.result()
            if result is None or is_job(result):
                return None
            return self._build_message(result)
        except RunStopped:  # it has rejected or failed, which is the state of a task
            return None
        # The edge of a request: any exception of a handler.
        except (Exception, asyncio.CancelledError) as error:
            log_failure(log, "handler failed: skill %s", self.skill.id, error=error)
            raise InvalidAgentResponseError from error

    def attach(self, stored: StoredTask) -> BegunCall:
        """Let the handler go on in a task, and return its call for the run of this task."""
        self.writer.attach(stored)
        return BegunCall(self.context, self.writer, self.task)

    def abort(self, error: BaseException | None = None) -> None:
        """Stop the handler: its caller has gone, or its task cannot be created."""
        self.writer.fail(error or UnavailableError())
        self.task.cancel()

    def _build_message(self, result: object) -> Message:
        message = result
        if not isinstance(message, Message):
            message = self.context.reply(message)
        message = self.context.describe_usage(message)
        return message.model_copy(
            update={"task_id": None, "context_id": message.context_id or self.context.context_id}
        )

    async def _write_chunk(self, value: object) -> None:
        await write_chunk(self.skill, self.context, self.writer, value)
