"""An agent of pydantic-ai as a source of one skill.

    agent = Agent("helper", sources=[from_pydantic_ai(my_agent)])

    text            is streamed as it comes; a blocking call returns the whole
    typed output    is checked against its schema, which the card publishes
    tool calls      are status messages
    approvals and   are one question to the caller. The turn that led to it is recorded, so that the model is not asked
    external tools  again when the answer comes, which may be after a restart
    history         is kept in the state of the conversation: per caller and context, the last turns only

A call is repeated after a crash only if ``idempotent`` says that the tools of the agent allow it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import BinaryContent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.run import AgentRunResult, AgentRunResultEvent
from pydantic_core import to_json, to_jsonable_python

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import Part
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.results import BYTES
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.schema import SchemaValidator, extract_payload
from a2a_runtime.sources.port import SkillDescriptor, SkillSource

PydanticAgent: TypeAlias = AbstractAgent[Any, Any]
DependencyFactory: TypeAlias = Callable[[SkillContext], object]
"""Makes the ``deps`` of a run; it may be async."""

log = logging.getLogger(__name__)

QUESTION = "question"
"""Member of the metadata of a tool call that waits for an answer of a person rather than for an approval."""
ANSWER, SCHEMA = "answer", "schema"

_HISTORY_KEY = "pydantic-ai"
_INPUT_MODES = ("text/plain", "application/json", "image/*", "audio/*", "video/*", "application/pdf")
_TEXT: JsonObject = {"type": "string"}
_APPROVAL: JsonObject = {
    "anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "message": {"type": "string"}, "arguments": {"type": "object"}},
            "required": ["approved"],
            "additionalProperties": False,
        },
    ]
}


class _NotRecordedError(LookupError):
    """The turn has not been taken in an earlier run."""


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A tool call that waits for the caller; as JSON it is part of the record of a turn."""

    id: str
    tool: str
    arguments: object
    needs_approval: bool
    metadata: JsonObject

    @property
    def question(self) -> str:
        """The question in words."""
        text = self.metadata.get(QUESTION)
        if isinstance(text, str):
            return text
        return f"{'Approve' if self.needs_approval else 'Give the result of'} {self.tool}({to_json(self.arguments).decode()})"

    @property
    def schema(self) -> JsonObject:
        """The schema of the answer."""
        if QUESTION in self.metadata:
            schema = self.metadata.get(SCHEMA)
            return schema if is_json_object(schema) else {}
        return _APPROVAL if self.needs_approval else {}


@dataclass(frozen=True, slots=True)
class Turn:
    """Messages up to an output of the model, and the calls that wait for the caller; without one, the output is final."""

    messages: Sequence[object]
    pending: Sequence[PendingCall] = ()
    output: object = None


_TURN: TypeAdapter[Turn] = TypeAdapter(Turn)


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Limits of the conversation that the model sees; older turns are dropped whole."""

    turns: int = 50
    size_bytes: int = 500_000


_DEFAULT_LIMITS = HistoryLimits()


def from_pydantic_ai(  # noqa: PLR0913 - options by name
    agent: PydanticAgent,
    *,
    skill_id: str | None = None,
    description: str = "",
    tags: Sequence[str] = (),
    examples: Sequence[str] = (),
    input_modes: Sequence[str] = _INPUT_MODES,
    deps: DependencyFactory | None = None,
    history: HistoryLimits = _DEFAULT_LIMITS,
    idempotent: bool = False,
    timeout: float | None = 300.0,
) -> PydanticAISource:
    """Make a source of one skill from an agent of pydantic-ai; ``deps`` makes its dependencies for each run."""
    name = skill_id or agent.name
    if not name:
        raise ValueError("from_pydantic_ai: the agent has no name; pass skill_id=..., or create it with Agent(..., name=...)")
    outputs = _list_output_types(agent)
    schema = agent.output_json_schema(outputs)
    can_ask = not getattr(agent, "_output_validators", ())  # with them pydantic-ai refuses other output types of a run
    if not can_ask:
        log.warning("skill %s: its agent has output validators, so no tool can wait for the caller; check outputs in the output type", name)
    descriptor = SkillDescriptor(
        name,
        description or f"Answers messages with {name}.",
        tags=tuple(tags),
        examples=tuple(examples),
        input_modes=tuple(input_modes),
        output_schema=schema,
        reads_message=True,
        is_idempotent=idempotent,
        streams=schema == _TEXT,
        asks=can_ask,
        timeout=timeout,
    )
    return PydanticAISource(agent, descriptor, deps, history, [*outputs, DeferredToolRequests] if can_ask else None)


def _list_output_types(agent: PydanticAgent) -> list[Any]:
    """List the output types of an agent, without that of calls that wait."""
    declared: Any = agent.output_type
    types: list[Any] = [*declared] if isinstance(declared, list | tuple) else [declared]
    return [each for each in types if each is not DeferredToolRequests]


class PydanticAISource(SkillSource):
    """The source of one skill that an agent of pydantic-ai does."""

    def __init__(
        self, agent: PydanticAgent, skill: SkillDescriptor, deps: DependencyFactory | None, history: HistoryLimits, output_types: list[Any] | None
    ) -> None:
        self._agent, self._skill, self._deps, self._history = agent, skill, deps, history
        self._output_types = output_types
        """Those of a run; ``None`` for the agent's own."""
        self._can_stream: bool | None = None
        """``None`` until the model was tried, which is not done with answers: tools that they allow would be called twice."""

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

    async def stream(self, skill: SkillDescriptor, value: object, context: SkillContext) -> AsyncGenerator[object, None]:
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
        """Yield pieces of text, then the turn with the final output; ask the caller in between, as often as tools want it."""
        messages, answers = await self._load_history(context), None
        prompt: Sequence[UserContent] | None = await _build_prompt(context)
        for number in count(1):
            turn = await _recall(context, number)
            if turn is None:
                async with aclosing(self._run(context, prompt, messages, answers)) as items:
                    async for item in items:
                        if isinstance(item, Turn):
                            turn = item
                        else:
                            yield item
            assert turn is not None, "a run ends with a turn"  # noqa: S101 - as above
            if not turn.pending:
                await self._save_history(context, turn.messages)
                yield turn
                return
            await _record(context, number, turn)
            messages, prompt = ModelMessagesTypeAdapter.validate_python(turn.messages), None
            answers = await _ask(context, number, turn.pending)

    async def _run(
        self, context: SkillContext, prompt: Sequence[UserContent] | None, history: Sequence[ModelMessage], answers: DeferredToolResults | None
    ) -> AsyncGenerator[str | Turn, None]:
        """Run the agent once, and yield its text and the turn."""
        options: dict[str, Any] = {"message_history": history, "deferred_tool_results": answers, "deps": await self._build_deps(context)}
        if self._output_types is not None:
            options["output_type"] = self._output_types
        try:
            if self._can_stream or (self._can_stream is None and answers is None):
                async with aclosing(self._run_stream(context, prompt, options)) as items:
                    async for item in items:
                        yield item
            if not self._can_stream:
                yield _to_turn(await self._agent.run(prompt, **options))
        except UsageLimitExceeded as error:
            context.fail(f"The model has reached a limit: {error}")

    async def _run_stream(
        self, context: SkillContext, prompt: Sequence[UserContent] | None, options: Mapping[str, Any]
    ) -> AsyncGenerator[str | Turn, None]:
        """Run the agent with a stream of events; without one if the model has no streams, which shows before the first event."""
        try:
            async with self._agent.run_stream_events(prompt, **options) as events:
                async for event in events:
                    self._can_stream = True
                    if isinstance(event, AgentRunResultEvent):
                        yield _to_turn(event.result)
                    elif text := await _report_event(context, event):
                        yield text
        except (NotImplementedError, AssertionError):  # function models assert
            if self._can_stream:
                raise
            self._can_stream = False

    async def _build_deps(self, context: SkillContext) -> object:
        deps = None if self._deps is None else self._deps(context)
        return await deps if inspect.isawaitable(deps) else deps

    async def _load_history(self, context: SkillContext) -> Sequence[ModelMessage]:
        saved = _histories(await context.untyped.state.load()).get(self._skill.id, [])
        try:
            return ModelMessagesTypeAdapter.validate_python(saved)
        except ValidationError:
            log.exception("skill %s: the history of a conversation cannot be read", self._skill.id)
            context.fail("The history of this conversation cannot be read; start a new conversation")

    async def _save_history(self, context: SkillContext, messages: Sequence[object]) -> None:
        kept = trim_history(ModelMessagesTypeAdapter.validate_python(messages), self._history)
        state = await context.untyped.state.load()
        histories = {**_histories(state), self._skill.id: ModelMessagesTypeAdapter.dump_python(list(kept), mode="json")}
        await context.untyped.state.update({**state, _HISTORY_KEY: histories})


def _histories(state: Mapping[str, object]) -> Mapping[str, Any]:
    saved = state.get(_HISTORY_KEY)
    return saved if is_json_object(saved) else {}


def trim_history(messages: Sequence[ModelMessage], limits: HistoryLimits) -> Sequence[ModelMessage]:
    """Keep the last turns within the limits, with the system prompt of the first message."""
    starts = [index for index, each in enumerate(messages) if any(isinstance(part, UserPromptPart) for part in each.parts)]
    system = [part for part in messages[0].parts if isinstance(part, SystemPromptPart)] if messages else []
    for start in starts[-limits.turns :] if limits.turns else []:
        kept = [*messages[start:]]
        first = kept[0]
        if start and system and isinstance(first, ModelRequest):
            kept[0] = ModelRequest(parts=[*system, *first.parts])
        if len(ModelMessagesTypeAdapter.dump_json(kept)) <= limits.size_bytes:
            return kept
    return []


def _to_turn(result: AgentRunResult[Any]) -> Turn:
    messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
    if not isinstance(result.output, DeferredToolRequests):
        return Turn(messages, output=to_jsonable_python(result.output, by_alias=True))
    requests = result.output
    groups = ((requests.approvals, True), (requests.calls, False))
    pending = [
        PendingCall(call.tool_call_id, call.tool_name, call.args_as_dict(), needs_approval, requests.metadata.get(call.tool_call_id, {}))
        for calls, needs_approval in groups
        for call in calls
    ]
    return Turn(messages, pending)


async def _recall(context: SkillContext, number: int) -> Turn | None:
    """Return a turn that an earlier run of the handler has recorded."""

    async def refuse() -> object:
        raise _NotRecordedError

    try:
        return _TURN.validate_python(await context.once(_record_key(number), refuse))
    except _NotRecordedError:
        return None


async def _record(context: SkillContext, number: int, turn: Turn) -> None:
    """Record a turn that ends with a question, before it is asked."""

    async def dump() -> object:
        return _TURN.dump_python(turn, mode="json")

    await context.once(_record_key(number), dump)


def _record_key(number: int) -> str:
    return f"{_HISTORY_KEY}/turn/{number}"


async def _report_event(context: SkillContext, event: AgentStreamEvent) -> str:
    """Report a tool call as a status; return the text of an event."""
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case FunctionToolCallEvent(part=call):
            await context.progress(text=f"Calls {call.tool_name}")
        case _:
            pass
    return ""


async def _ask(context: SkillContext, number: int, pending: Sequence[PendingCall]) -> DeferredToolResults:
    """Ask the caller about all pending calls at once."""
    names = _name_calls(pending)
    schema: JsonObject = {
        "type": "object",
        "properties": {name: call.schema for name, call in names.items()},
        "required": [*names],
        "additionalProperties": False,
    }
    detail = {name: {"tool": call.tool, "arguments": call.arguments} for name, call in names.items()}
    question = context.untyped.reply("\n".join(call.question for call in pending), {"calls": detail})
    assert isinstance(context.untyped, TaskContext), "skills of sources answer with tasks"  # noqa: S101 - as above
    answer = await context.untyped.ask(question, schema, key=f"{_HISTORY_KEY}/{number}")
    given, _ = extract_payload(answer.message.parts, SchemaValidator(schema))
    results = DeferredToolResults()
    for name, call in names.items():
        _add_result(results, call, given[name] if is_json_object(given) else None)
    return results


def _name_calls(pending: Sequence[PendingCall]) -> Mapping[str, PendingCall]:
    """Name each call by its tool; the second call of a tool gets a number."""
    by_name: dict[str, PendingCall] = {}
    for call in pending:
        name, number = call.tool, 1
        while name in by_name:
            number += 1
            name = f"{call.tool}-{number}"
        by_name[name] = call
    return by_name


def _add_result(results: DeferredToolResults, call: PendingCall, value: object) -> None:
    if not call.needs_approval:
        results.calls[call.id] = value
    elif QUESTION in call.metadata:
        results.approvals[call.id] = ToolApproved()
        results.metadata[call.id] = {**call.metadata, ANSWER: value}
    elif is_json_object(value):
        results.approvals[call.id] = _to_approval(value)
    else:
        results.approvals[call.id] = bool(value)


def _to_approval(value: JsonObject) -> ToolApproved | ToolDenied:
    if not value["approved"]:
        return ToolDenied(str(value["message"])) if "message" in value else ToolDenied()
    arguments = value.get("arguments")
    return ToolApproved(override_args=dict(arguments) if is_json_object(arguments) else None)


async def _build_prompt(context: SkillContext) -> Sequence[UserContent]:
    return [await _to_content(part, context.untyped.fetch) for part in context.message.parts]


async def _to_content(part: Part, fetch: Callable[[Part], Awaitable[bytes]]) -> UserContent:
    """Convert a part for a model. Files behind URLs are read here, by the client that refuses private addresses."""
    if part.text is not None:
        return part.text
    if part.data is not None:
        return to_json(part.data).decode()
    return BinaryContent(await fetch(part), media_type=part.media_type or BYTES)
