"""An agent of pydantic-ai as a source of one skill.

    agent = Agent("helper", sources=[from_pydantic_ai(my_agent)])

    text            is streamed as it comes; a blocking call returns the whole
    typed output    is checked against its schema, which the card publishes
    tool calls      are status messages
    approvals and   are one question to the caller. The turn that led to it is recorded, so that
    external tools  the model is not asked again when the answer comes, perhaps after a restart
    history         is kept in the state of the conversation: per caller and context, only the last
                    turns

A call is repeated after a crash only if ``is_idempotent`` says that the tools of the agent allow
it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from itertools import count
from typing import Any, TypeAlias, TypedDict, Unpack

from pydantic_ai import BinaryContent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserContent,
)
from pydantic_ai.run import AgentRunResult, AgentRunResultEvent
from pydantic_core import to_json

from a2a_contract.base import JsonObject
from a2a_contract.v1_0 import Part
from a2a_runtime.engine.handlers.results import BYTES
from a2a_runtime.features.pydantic_ai.history import HistoryLimits, load_history, save_history
from a2a_runtime.features.pydantic_ai.turns import Turn, ask_caller, find_turn, record_turn, to_turn
from a2a_runtime.ports.skill_source import SkillDescriptor, SkillSource
from a2a_runtime.skills.context import SkillContext

PydanticAgent: TypeAlias = AbstractAgent[Any, Any]
DependencyFactory: TypeAlias = Callable[[SkillContext], object]
"""Makes the ``deps`` of a run; it may be async."""

log = logging.getLogger(__name__)

_INPUT_MODES = (
    "text/plain",
    "application/json",
    "image/*",
    "audio/*",
    "video/*",
    "application/pdf",
)
_TEXT: JsonObject = {"type": "string"}
_DEFAULT_LIMITS = HistoryLimits()


class BridgeOptions(TypedDict, total=False):
    """Options of the skill, named as in ``SkillDescriptor``."""

    name: str
    description: str
    tags: Sequence[str]
    examples: Sequence[str]
    input_modes: Sequence[str]
    is_idempotent: bool
    is_protected: bool
    timeout: float | None


def from_pydantic_ai(
    agent: PydanticAgent,
    skill_id: str | None = None,
    *,
    deps: DependencyFactory | None = None,
    history: HistoryLimits = _DEFAULT_LIMITS,
    **options: Unpack[BridgeOptions],
) -> PydanticAISource:
    """Make a source of one skill from an agent of pydantic-ai; ``deps`` makes its dependencies for
    each run.
    """
    skill = skill_id or agent.name
    if not skill:
        raise ValueError(
            "from_pydantic_ai: the agent has no name; pass a skill id, or create it with "
            "Agent(..., name=...)"
        )
    outputs = _list_output_types(agent)
    schema = agent.output_json_schema(outputs)
    # with them pydantic-ai refuses other output types of a run
    can_ask = not getattr(agent, "_output_validators", ())
    if not can_ask:
        log.warning(
            (
                "skill %s: its agent has output validators, so no tool can wait for the caller; "
                "check outputs in the output type"
            ),
            skill,
        )
    options.setdefault("description", f"Answers messages with {skill}.")
    options.setdefault("input_modes", _INPUT_MODES)
    descriptor = SkillDescriptor(
        skill,
        output_schema=schema,
        reads_message=True,
        streams=schema == _TEXT,
        asks=can_ask,
        **options,
    )
    all_outputs = [*outputs, DeferredToolRequests] if can_ask else None
    return PydanticAISource(agent, descriptor, deps, history, all_outputs)


def _list_output_types(agent: PydanticAgent) -> list[Any]:
    """List the output types of an agent, without that of calls that wait."""
    declared: Any = agent.output_type
    types: list[Any] = [*declared] if isinstance(declared, list | tuple) else [declared]
    return [each for each in types if each is not DeferredToolRequests]


class PydanticAISource(SkillSource):
    """The source of one skill that an agent of pydantic-ai does."""

    def __init__(
        self,
        agent: PydanticAgent,
        skill: SkillDescriptor,
        deps: DependencyFactory | None,
        history: HistoryLimits,
        output_types: list[Any] | None,
    ) -> None:
        self._agent = agent
        self._skill = skill
        self._deps = deps
        self._history = history
        self._output_types = output_types
        """Those of a run; ``None`` for the agent's own."""
        self._can_stream: bool | None = None
        """``None`` until the model was tried, which is not done with answers: tools that they allow
        would be called twice.
        """

    async def describe(self) -> Sequence[SkillDescriptor]:
        """Describe the skill."""
        return [self._skill]

    async def call(self, skill: SkillDescriptor, value: object, context: SkillContext) -> object:
        """Answer a message with the whole output."""
        del skill, value
        async with aclosing(self._converse(context)) as items:
            async for item in items:
                if isinstance(item, Turn):
                    return item.output
        raise AssertionError("a conversation ends with a turn")

    async def stream(
        self, skill: SkillDescriptor, value: object, context: SkillContext
    ) -> AsyncGenerator[object, None]:
        """Answer a message with pieces of text, as the model writes them."""
        del skill, value
        has_text = False
        async with aclosing(self._converse(context)) as items:
            async for item in items:
                if isinstance(item, str):
                    has_text = True
                    yield item
                elif not has_text:
                    yield item.output

    async def _converse(self, context: SkillContext) -> AsyncGenerator[str | Turn, None]:
        """Yield pieces of text, then the turn with the final output; ask the caller in between, as
        often as tools want it.
        """
        messages = await load_history(context, self._skill.id)
        answers = None
        prompt: Sequence[UserContent] | None = await _build_prompt(context)
        for number in count(1):
            turn = await find_turn(context, number)
            if turn is None:
                async with aclosing(self._run(context, prompt, messages, answers)) as items:
                    async for item in items:
                        if isinstance(item, Turn):
                            turn = item
                        else:
                            yield item
            assert turn is not None, "a run ends with a turn"  # noqa: S101 - as above
            if not turn.pending:
                await save_history(context, self._skill.id, turn.messages, self._history)
                yield turn
                return
            await record_turn(context, number, turn)
            messages = ModelMessagesTypeAdapter.validate_python(turn.messages)
            prompt = None
            answers = await ask_caller(context, number, turn.pending)

    async def _run(
        self,
        context: SkillContext,
        prompt: Sequence[UserContent] | None,
        history: Sequence[ModelMessage],
        answers: DeferredToolResults | None,
    ) -> AsyncGenerator[str | Turn, None]:
        """Run the agent once, and yield its text and the turn."""
        options: dict[str, Any] = {
            "message_history": history,
            "deferred_tool_results": answers,
            "deps": await self._build_deps(context),
        }
        if self._output_types is not None:
            options["output_type"] = self._output_types
        try:
            if self._can_stream or (self._can_stream is None and answers is None):
                async with aclosing(self._run_stream(context, prompt, options)) as items:
                    async for item in items:
                        yield item
            if not self._can_stream:
                result = await self._agent.run(prompt, **options)
                _report_usage(context, result)
                yield to_turn(result)
        except UsageLimitExceeded as error:
            context.fail(f"The model has reached a limit: {error}")

    async def _run_stream(
        self,
        context: SkillContext,
        prompt: Sequence[UserContent] | None,
        options: Mapping[str, Any],
    ) -> AsyncGenerator[str | Turn, None]:
        """Run the agent with a stream of events; without one if the model has no streams, which
        shows before the first event.
        """
        try:
            async with self._agent.run_stream_events(prompt, **options) as events:
                async for event in events:
                    self._can_stream = True
                    if isinstance(event, AgentRunResultEvent):
                        _report_usage(context, event.result)
                        yield to_turn(event.result)
                    elif text := await _report_event(context, event):
                        yield text
        except (NotImplementedError, AssertionError):
            # function models assert instead of raising the first one
            if self._can_stream:
                raise
            self._can_stream = False

    async def _build_deps(self, context: SkillContext) -> object:
        deps = None if self._deps is None else self._deps(context)
        if inspect.isawaitable(deps):
            return await deps
        return deps


def _report_usage(context: SkillContext, result: AgentRunResult[Any]) -> None:
    """Report the tokens of a run, and its cost if the framework knows it."""
    usage = result.usage
    context.usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=float(getattr(usage, "cost", None) or 0),
    )


async def _report_event(context: SkillContext, event: AgentStreamEvent) -> str:
    """Report a tool call as a status; return the text of an event."""
    match event:
        case (
            PartStartEvent(part=TextPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
        ):
            return text
        case FunctionToolCallEvent(part=call):
            await context.progress(text=f"Calls {call.tool_name}")
        case _:
            pass
    return ""


async def _build_prompt(context: SkillContext) -> Sequence[UserContent]:
    return [await _to_content(part, context.untyped.fetch) for part in context.message.parts]


async def _to_content(part: Part, fetch: Callable[[Part], Awaitable[bytes]]) -> UserContent:
    """Convert a part for a model.

    Files behind URLs are read here, by the client that refuses private addresses.
    """
    if part.text is not None:
        return part.text
    if part.data is not None:
        return to_json(part.data).decode()
    return BinaryContent(await fetch(part), media_type=part.media_type or BYTES)
