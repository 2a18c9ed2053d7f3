"""The skills of a remote agent as a toolset of an agent of pydantic-ai.

    agent = Agent(model, toolsets=[A2AToolset("https://agent.example.com")])

A tool call is a task of the remote agent. Its deadline is that of the run, and a canceled run
cancels it. All calls of one conversation of the model have one context at the remote agent.

A question of the remote agent becomes a call that waits for an approval, with the question in its
metadata. The caller that goes on with the run gives the answer there: ``from_pydantic_ai`` asks its
own caller, so that questions pass through a chain of agents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from pydantic_ai import BinaryContent, RunContext, ToolReturn
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from a2a_contract.errors import InvalidParamsError
from a2a_runtime.client.typed.conversation import CallOptions, Progress
from a2a_runtime.client.typed.errors import InputRequiredError, SkillError
from a2a_runtime.client.typed.results import parse_question
from a2a_runtime.engine.handlers.results import BYTES
from a2a_runtime.features.pydantic_ai.turns import ANSWER, QUESTION, SCHEMA
from a2a_runtime.features.remote_tools import RemoteResult, RemoteTools

ProgressCallback: TypeAlias = Callable[[RunContext[Any], Progress], Awaitable[None] | None]

_TASK = "task_id"
_ANY_OBJECT = SchemaValidator(
    schema=core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
)
"""Arguments are checked against the schema of the skill when it is called."""


class A2AToolset(AbstractToolset[Any]):
    """Tools that are skills of a remote agent, given by its URL or by a ``RemoteTools`` with
    credentials.
    """

    def __init__(
        self,
        agent: str | RemoteTools,
        *,
        toolset_id: str | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        self._remote = RemoteTools(agent) if isinstance(agent, str) else agent
        self._id = toolset_id
        self._on_progress = on_progress

    @property
    def id(self) -> str | None:
        """The id in a durable environment."""
        return self._id

    async def aclose(self) -> None:
        """Close the connections.

        Runs enter and leave a toolset many times, so that leaving it does not.
        """
        await self._remote.aclose()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """List the skills on the card."""
        del ctx
        tools = await self._remote.list_tools()
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.parameters),
                ),
                max_retries=1,
                args_validator=_ANY_OBJECT,
            )
            for tool in tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> object:
        """Call a skill and follow its task; go on with it if this call brings the answer to its
        question.
        """
        del tool
        options = self._build_options(ctx)
        try:
            answered: Mapping[str, Any] = ctx.tool_call_metadata or {}
            if ANSWER in answered:
                question = await self._remote.find_question(answered[_TASK])
                return _to_tool_return(
                    await self._remote.answer(question, answered[ANSWER], **options)
                )
            return _to_tool_return(await self._remote.call(name, tool_args, **options))
        except InputRequiredError as error:
            if error.task is None:
                raise
            question = parse_question(error.task)
            schema = None if question.schema is None else dict(question.schema)
            raise ApprovalRequired(
                {QUESTION: question.text, SCHEMA: schema, _TASK: error.task.id}
            ) from error
        except InvalidParamsError as error:
            problems = "; ".join(f"{path}: {problem}" for path, problem in error.fields)
            raise ModelRetry(problems or str(error)) from error
        except SkillError as error:
            raise ToolFailed(str(error)) from error

    def _build_options(self, ctx: RunContext[Any]) -> CallOptions:
        options = CallOptions()
        if ctx.conversation_id:
            options["context_id"] = ctx.conversation_id
        remaining = ctx.remaining_time()
        if remaining is not None:
            options["timeout"] = max(remaining, 0.0)
        if (report := self._on_progress) is not None:
            options["on_progress"] = lambda progress: report(ctx, progress)
        return options


def _to_tool_return(result: RemoteResult) -> object:
    """Return a value; bytes go to the model as content, URLs as data: nothing here or at the
    model's provider reads them unasked.
    """
    contents = [
        BinaryContent(each.data, media_type=each.media_type or BYTES)
        for each in result.files
        if each.data is not None
    ]
    links = [
        {"name": each.name, "mediaType": each.media_type, "url": each.url}
        for each in result.files
        if each.url is not None
    ]
    value = {"result": result.value, "files": links} if links else result.value
    if contents:
        return ToolReturn(value, content=contents)
    return value
