"""The skills of an agent as tools of an MCP server, called in the name of one caller.

skill                         tool
input schema                  inputSchema; one that is no object is its only member ``input``,
                              plain text is ``message``
output schema                 outputSchema; one that is no object is its only member ``result``;
                              none for a skill that streams
progress                      progress, if the client wants it
question                      elicitation: the result of the call where the protocol
                              has no sessions, else asked within the call
failed, rejected, canceled    ``isError``, with the text of the status
cancellation of the call      cancels the task
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import mcp_types as mt
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from pydantic import ValidationError

from a2a_contract.base import JsonObject
from a2a_contract.errors import A2AError, InvalidParamsError, TaskNotFoundError
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.base.caller import Caller
from a2a_runtime.client.stream import TERMINAL_STATES
from a2a_runtime.client.typed.conversation import CallOptions, Progress
from a2a_runtime.client.typed.errors import InputRequiredError, SkillError
from a2a_runtime.client.typed.results import PendingQuestion, parse_question
from a2a_runtime.features.mcp.server.long_tools import (
    Document,
    TaskHandle,
    TaskParams,
    UpdateTaskParams,
    answer_task,
    build_handle,
    cancel_task,
    describe_task,
    wait_soon,
    wants_tasks,
)
from a2a_runtime.features.mcp.server.questions import build_elicitation, find_support, read_answer
from a2a_runtime.features.mcp.server.results import build_error_result, build_tool_result
from a2a_runtime.features.mcp.source.connection import FIRST_STATELESS
from a2a_runtime.features.remote_tools import (
    CheckedTool,
    RemoteResult,
    RemoteTools,
    build_result,
    build_tool,
    wrap_schema,
)
from a2a_runtime.skills.handlers import StreamingHandler
from a2a_runtime.skills.schema import TEXT, SchemaValidator
from a2a_runtime.surface import Surface

RequestContext: TypeAlias = ServerRequestContext[Any, Any]
Connect: TypeAlias = Callable[[Caller], RemoteTools]
"""Makes a client of the agent in the name of a caller."""

ToolAnswer: TypeAlias = mt.CallToolResult | mt.InputRequiredResult | Document
"""A result, a question, or the handle of a task."""

RESULT = "result"
ANSWER = "answer"
"""Key of the only question of a result."""
_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_NAME_LENGTH = 128
_LEAST_STEP = 0.001

log = logging.getLogger(__name__)


class SkillTool(NamedTuple):
    """A skill as a tool, with its validators."""

    skill: SkillDefinition
    listed: mt.Tool
    checked: CheckedTool
    output: SchemaValidator | None
    is_wrapped: bool

    def build_result(self, result: RemoteResult) -> mt.CallToolResult:
        """Build the result of a call."""
        wrapper = RESULT if self.is_wrapped else None
        return build_tool_result(result, self.output, wrapper)


class SkillTools:
    """The tools of one surface."""

    def __init__(self, surface: Surface, connect: Connect) -> None:
        self._surface = surface
        self._connect = connect
        self._snapshot: Mapping[str, SkillDefinition] | None = None
        self._tools: Mapping[str, SkillTool] = {}

    def list_tools(self, caller: Caller) -> mt.ListToolsResult:
        """List the skills that a caller may see."""
        return mt.ListToolsResult(
            tools=[
                each.listed for each in self._load().values() if each.skill.is_visible_to(caller)
            ]
        )

    async def call(
        self, context: RequestContext, params: mt.CallToolRequestParams, caller: Caller
    ) -> ToolAnswer:
        """Call a skill, or go on with its task if the call brings an answer."""
        tool = self._find(params.name, caller)
        remote = self._connect(caller)
        options = CallOptions(on_progress=_ProgressReporter(context))
        if not _is_stateless(context) and find_support(context).form:
            options["on_ask"] = _LiveQuestions(context)
        try:
            if _is_stateless(context) and wants_tasks(context) and params.request_state is None:
                return await self._begin(remote, tool, params)
            return tool.build_result(await _run(remote, tool, params, options))
        except InputRequiredError as error:
            return await _ask(context, remote, error)
        except InvalidParamsError as error:
            return build_error_result(
                "; ".join(f"{path}: {problem}" for path, problem in error.fields) or str(error)
            )
        except (SkillError, A2AError) as error:
            return build_error_result(str(error))

    async def get_task(
        self, context: RequestContext, params: TaskParams, caller: Caller
    ) -> Document:
        """Describe the task of a call."""
        handle = TaskHandle.from_text(params.task_id)
        return await describe_task(
            context, self._connect(caller), handle, self._find(handle.tool, caller).build_result
        )

    async def update_task(self, params: UpdateTaskParams, caller: Caller) -> Document:
        """Answer the question of a task."""
        return await answer_task(
            self._connect(caller), TaskHandle.from_text(params.task_id), params.input_responses
        )

    async def cancel_task(self, params: TaskParams, caller: Caller) -> Document:
        """Cancel a task."""
        return await cancel_task(self._connect(caller), TaskHandle.from_text(params.task_id))

    async def _begin(
        self, remote: RemoteTools, tool: SkillTool, params: mt.CallToolRequestParams
    ) -> mt.CallToolResult | Document:
        """Begin a call; it has a handle unless it ends soon."""
        answer = await remote.begin_tool(tool.checked, params.arguments or {})
        if isinstance(answer, Task):
            answer = await wait_soon(remote, answer)
            if str(answer.status.state) not in TERMINAL_STATES:
                return build_handle(tool.listed.name, answer)
        return tool.build_result(build_result(answer))

    def _find(self, name: str, caller: Caller) -> SkillTool:
        tool = self._load().get(name)
        if tool is None or not tool.skill.is_visible_to(caller):
            raise MCPError(code=mt.INVALID_PARAMS, message=f"Unknown tool: {name}")
        return tool

    def _load(self) -> Mapping[str, SkillTool]:
        """Build the tools, again after a change of the skills."""
        if self._snapshot is not self._surface.skills:
            skills = self._surface.skills
            tools = {each.listed.name: each for each in map(_build_skill_tool, skills.values())}
            if len(tools) < len(skills):
                log.warning(
                    "skills hidden: %s has ids that are one as names of MCP tools; rename them",
                    self._surface,
                )
            self._snapshot = skills
            self._tools = tools
        return self._tools


def _build_skill_tool(skill: SkillDefinition) -> SkillTool:
    name = _NAME_CHARACTERS.sub("_", skill.id)[:_MAX_NAME_LENGTH]
    contract = skill.contract
    given = None if contract is None or contract.input is TEXT else contract.input.schema
    checked = build_tool(name, skill.description or skill.name or skill.id, skill.id, given)
    output = None
    streams = isinstance(skill.skill.handler, StreamingHandler)
    if contract is not None and not skill.can_merge and not streams:
        output = contract.output.schema
    if not output or output == TEXT.schema:
        output = None
    is_wrapped = output is not None and output.get("type") != "object"
    shape: JsonObject | None = output
    if output is not None and is_wrapped:
        shape = wrap_schema(output, RESULT)
    listed = mt.Tool(
        name=name,
        title=skill.name or None,
        description=checked.tool.description,
        input_schema=dict(checked.tool.parameters),
        output_schema=None if shape is None else dict(shape),
    )
    validator = None
    if shape is not None:
        validator = SchemaValidator(shape)
    return SkillTool(skill, listed, checked, validator, is_wrapped)


async def _run(
    remote: RemoteTools, tool: SkillTool, params: mt.CallToolRequestParams, options: CallOptions
) -> RemoteResult:
    if params.request_state is None:
        return await remote.call_tool(tool.checked, params.arguments or {}, **options)
    try:
        question = await remote.find_question(params.request_state)
    except (ValidationError, InvalidParamsError) as error:  # no text that is an id
        raise TaskNotFoundError from error
    given = (params.input_responses or {}).get(ANSWER)
    if not isinstance(given, mt.ElicitResult) or given.action != "accept":
        await remote.untyped.cancel(question.task)
        raise SkillError("The question was declined, and the task canceled", question.task)
    return await remote.answer(question, read_answer(question, given), **options)


async def _ask(
    context: RequestContext, remote: RemoteTools, error: InputRequiredError
) -> mt.CallToolResult | mt.InputRequiredResult:
    """End the call with the question of a task; its id is the state, which is worth nothing to
    other callers.
    """
    assert error.task is not None, "of a task that waits"  # noqa: S101 - raised by a conversation
    elicitation = build_elicitation(parse_question(error.task), find_support(context))
    if elicitation is None or not _is_stateless(context):
        await remote.untyped.cancel(error.task)
        return build_error_result(
            f"{error} (this client cannot be asked, so that the task was canceled)"
        )
    return mt.InputRequiredResult(input_requests={ANSWER: elicitation}, request_state=error.task.id)


def _is_stateless(context: RequestContext) -> bool:
    return context.protocol_version >= FIRST_STATELESS


class _ProgressReporter:
    """Reports progress, whose numbers have to grow."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._last = 0.0

    async def __call__(self, progress: Progress) -> None:
        self._last = max(self._last + _LEAST_STEP, progress.fraction or 0.0)
        total = None if progress.fraction is None else 1.0
        await self._context.session.report_progress(self._last, total, progress.text or None)


class _LiveQuestions:
    """Asks within a call, where the protocol has sessions."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context

    async def __call__(self, question: PendingQuestion) -> object:
        elicitation = build_elicitation(question, find_support(self._context))
        if elicitation is None:
            raise SkillError(f"The client cannot be asked: {question.text}", question.task)
        params = elicitation.params
        if isinstance(params, mt.ElicitRequestURLParams):
            given = await self._context.session.elicit_url(
                params.message, params.url, question.task.id, self._context.request_id
            )
        else:
            given = await self._context.session.elicit_form(
                params.message, params.requested_schema, self._context.request_id
            )
        if given.action != "accept":
            raise SkillError("The question was declined, and the task canceled", question.task)
        return read_answer(question, given)
