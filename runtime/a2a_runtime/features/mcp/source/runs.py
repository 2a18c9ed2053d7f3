"""One call of a tool by a run: its progress is the status of the task, its questions are asked, its
end is the result.

    question        the call      the answer
    of 2026-07-28   has ended     repeats it, with the state of the server, in any process
    before          stays open    goes into it, in this process;
                                  after the limit, or with the process, the call is lost

A call that may be repeated begins again if it is lost. Any other fails: its outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import mcp_types as mt
from mcp import MCPError
from pydantic import TypeAdapter, ValidationError

from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.signals import TaskSuspended
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.features.mcp.source.calls import (
    ElicitParams,
    LiveQuestion,
    ToolCall,
    ToolProgress,
    ToolResult,
)
from a2a_runtime.features.mcp.source.connection import (
    McpConnection,
    NotConnectedError,
    ToolRequest,
    describe_error,
)
from a2a_runtime.features.mcp.source.elicitations import ask_caller
from a2a_runtime.features.mcp.source.tool_output import join_text
from a2a_runtime.ports.skill_source import SkillDescriptor
from a2a_runtime.skills.context import SkillContext

OUTCOME_UNKNOWN = "Outcome unknown"
_KEY = "mcp"
_LIVE_KEY = f"{_KEY}/live"
_HTTP_ERROR = "Server returned an error response"
"""Message of the library for a response that is no JSON-RPC; the status is not known."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Round:
    """Questions with which a call has ended, and the state that the server wants back; recorded
    before they are asked.
    """

    questions: Mapping[str, ElicitParams]
    state: str | None = None
    is_refusal: bool = False
    """True if the server has refused the call until the caller has visited URLs: then the same call
    is made again.
    """


_ROUND: TypeAdapter[Round] = TypeAdapter(Round)


class _NotRecordedError(LookupError):
    """There is no such record of an earlier run."""


class OpenCalls:
    """Calls of this process that stay open between the runs of their tasks, until the answer comes,
    the task ends, or the limit is over.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit = limit_seconds
        self._calls: dict[str, ToolCall] = {}
        self._watchers: dict[str, asyncio.Task[None]] = {}

    def keep(self, context: TaskContext, call: ToolCall) -> None:
        """Keep a call open."""
        self._calls[context.task_id] = call
        self._watchers[context.task_id] = asyncio.create_task(self._watch(context, call))

    def take(self, task_id: str) -> ToolCall | None:
        """Take the call of a task; ``None`` if it is not here."""
        if (watcher := self._watchers.pop(task_id, None)) is not None:
            watcher.cancel()
        return self._calls.pop(task_id, None)

    async def close(self) -> None:
        """Cancel all calls."""
        watchers = list(self._watchers.values())
        for task_id, call in list(self._calls.items()):
            self.take(task_id)
            await call.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)

    async def _watch(self, context: TaskContext, call: ToolCall) -> None:
        try:
            async with asyncio.timeout(self._limit):
                await context.wait_ended()
        except EventsGoneError:
            pass  # the task has ended
        except TimeoutError:
            log.warning(
                "question not answered in %g s, its call was given up: task %s",
                self._limit,
                context.task_id,
            )
        self._calls.pop(context.task_id, None)
        self._watchers.pop(context.task_id, None)
        await call.cancel()


class ToolRun:
    """The call of one run."""

    def __init__(
        self,
        connection: McpConnection,
        open_calls: OpenCalls,
        skill: SkillDescriptor,
        context: SkillContext,
    ) -> None:
        untyped = context.untyped
        assert isinstance(untyped, TaskContext), "skills of sources answer with tasks"  # noqa: S101
        self._connection = connection
        self._open_calls = open_calls
        self._skill = skill
        self._context = context
        self._task = untyped

    async def finish(self, request: ToolRequest) -> mt.CallToolResult:
        """Call the tool until it gives a result."""
        for number in count():
            pending = await self._find_round(number)
            if pending is None:
                result = await self._call(request)
                if isinstance(result, mt.CallToolResult):
                    return self._check(result)
                pending = result if isinstance(result, Round) else self._parse_round(result)
                await self._record_round(number, pending)
            answers: dict[str, mt.ElicitResult] = {}
            for name, params in pending.questions.items():
                answers[name] = await ask_caller(self._task, params, f"{_KEY}/{number}/{name}")
            if not pending.is_refusal:
                request = replace(request, responses=answers or None, state=pending.state)
            elif any(answer.action != "accept" for answer in answers.values()):
                self._context.fail("The tool needs an authorization, which was declined")
        raise AssertionError("the loop has no end")

    def _check(self, result: mt.CallToolResult) -> mt.CallToolResult:
        if result.is_error:
            self._context.fail(join_text(result) or "The tool failed and gave no reason")
        return result

    # --- questions that end the call --------------------------------------------------------------

    async def _find_round(self, number: int) -> Round | None:
        found = await self._find_record(f"{_KEY}/{number}")
        if found is None:
            return None
        return _ROUND.validate_python(found)

    async def _record_round(self, number: int, pending: Round) -> None:
        async def dump() -> object:
            return _ROUND.dump_python(pending, mode="json")

        await self._context.once(f"{_KEY}/{number}", dump)

    def _parse_round(self, result: mt.InputRequiredResult) -> Round:
        requests = result.input_requests or {}
        if other := [
            each.method for each in requests.values() if not isinstance(each, mt.ElicitRequest)
        ]:
            self._context.fail(
                f"{self._connection}: it requests {other[0]}, which callers of an agent "
                "cannot answer"
            )
        return Round(
            {
                name: each.params
                for name, each in requests.items()
                if isinstance(each, mt.ElicitRequest)
            },
            result.request_state,
        )

    async def _find_record(self, key: str) -> Any:  # noqa: ANN401 - any JSON
        async def refuse() -> object:
            raise _NotRecordedError

        try:
            return await self._context.once(key, refuse)
        except _NotRecordedError:
            return None

    # --- the call, with questions that leave it open ----------------------------------------------

    async def _call(self, request: ToolRequest) -> ToolResult | Round:
        call = self._open_calls.take(self._task.task_id)
        if call is None:
            if not self._skill.is_restartable and await self._find_record(_LIVE_KEY) is not None:
                self._context.fail(
                    f"{OUTCOME_UNKNOWN}: the call that has asked is not open any more; it "
                    "may have had effects"
                )
            call = self._begin(request)
        has_repeated = False
        while True:
            try:
                return await self._follow(call)
            except (MCPError, NotConnectedError, ValidationError, RuntimeError) as error:
                if isinstance(error, MCPError) and error.code == mt.URL_ELICITATION_REQUIRED:
                    return _parse_refusal(error)
                if has_repeated or not self._may_repeat(error):
                    self._fail(error)
                has_repeated = True
            log.info(
                "%s: call repeated, its connection was lost: task %s",
                self._connection,
                self._task.task_id,
            )
            call = self._begin(request)

    def _begin(self, request: ToolRequest) -> ToolCall:
        return ToolCall(lambda call: self._connection.call_tool(call, request))

    async def _follow(self, call: ToolCall) -> ToolResult:
        try:
            while (event := await call.next_event()) is not None:
                if isinstance(event, ToolProgress):
                    await self._context.progress(event.fraction, event.text or None)
                else:
                    await self._ask(call, event)
        except TaskSuspended:
            raise
        except BaseException:
            await call.cancel()
            raise
        return call.result()

    async def _ask(self, call: ToolCall, question: LiveQuestion) -> None:
        """Ask the caller, and keep the call open meanwhile."""

        async def mark() -> object:
            return True

        await self._context.once(_LIVE_KEY, mark)
        try:
            call.answer(
                await ask_caller(self._task, question.params, f"{_LIVE_KEY}/{question.number}")
            )
        except TaskSuspended:
            self._open_calls.keep(self._task, call)
            raise

    def _may_repeat(self, error: Exception) -> bool:
        # The server has not seen this call.
        if isinstance(error, NotConnectedError):
            return error.__cause__ is not None
        return self._skill.is_restartable and _find_break(error) is not None

    def _fail(self, error: Exception) -> None:
        """End the task with the reason of an error of the connection or of the protocol."""
        log.warning("tool failed: %s, task %s: %s", self._skill.id, self._task.task_id, error)
        if (broken := _find_break(error)) is not None:
            self._context.fail(f"{OUTCOME_UNKNOWN}: {broken}")
        if isinstance(error, MCPError):
            self._context.fail(error.message)
        if isinstance(error, NotConnectedError):
            self._context.fail(
                "The MCP server is not connected, so that the tool was not called: "
                f"{describe_error(error)}"
            )
        self._context.fail("The result of the tool does not match its schema")


def _find_break(error: Exception) -> str | None:
    """Describe an error that leaves open what the tool has done; ``None`` for any other."""
    if isinstance(error, MCPError) and error.code == mt.CONNECTION_CLOSED:
        return "the connection to the MCP server was lost within the call"
    if isinstance(error, MCPError) and error.message == _HTTP_ERROR:
        return "the MCP server answered the call with an HTTP error"
    return None


def _parse_refusal(error: MCPError) -> Round:
    listed = mt.ElicitationRequiredErrorData.model_validate(error.data).elicitations
    return Round({f"url-{number}": each for number, each in enumerate(listed)}, is_refusal=True)
