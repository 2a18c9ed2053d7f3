"""Turns of a model: their record, and the question to the caller that tools lead to.

A turn that ends with calls that wait is recorded before the caller is asked. When the answer comes,
the handler runs again from the top and finds the turn, so that the model is not asked again for
what it has said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.run import AgentRunResult
from pydantic_core import to_json

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_object
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.results import to_json_value
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.schema import SchemaValidator, extract_payload

QUESTION = "question"
"""Member of the metadata of a tool call that waits for an answer of a person rather than for an
approval.
"""
ANSWER = "answer"
SCHEMA = "schema"

_RECORD_KEY = "pydantic-ai"
_APPROVAL: JsonObject = {
    "anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "message": {"type": "string"},
                "arguments": {"type": "object"},
            },
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
        verb = "Approve" if self.needs_approval else "Give the result of"
        return f"{verb} {self.tool}({to_json(self.arguments).decode()})"

    @property
    def schema(self) -> JsonObject:
        """The schema of the answer."""
        if QUESTION in self.metadata:
            schema = self.metadata.get(SCHEMA)
            if is_json_object(schema):
                return schema
            return {}
        if self.needs_approval:
            return _APPROVAL
        return {}


@dataclass(frozen=True, slots=True)
class Turn:
    """Messages up to an output of the model, and the calls that wait for the caller; without one,
    the output is final.
    """

    messages: Sequence[object]
    pending: Sequence[PendingCall] = ()
    output: object = None


_TURN: TypeAdapter[Turn] = TypeAdapter(Turn)


def to_turn(result: AgentRunResult[Any]) -> Turn:
    """Convert the result of a run."""
    messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
    if not isinstance(result.output, DeferredToolRequests):
        return Turn(messages, output=to_json_value(result.output))
    requests = result.output
    groups = ((requests.approvals, True), (requests.calls, False))
    pending: list[PendingCall] = []
    for calls, needs_approval in groups:
        pending += [
            PendingCall(
                call.tool_call_id,
                call.tool_name,
                call.args_as_dict(),
                needs_approval,
                requests.metadata.get(call.tool_call_id, {}),
            )
            for call in calls
        ]
    return Turn(messages, pending)


async def find_turn(context: SkillContext, number: int) -> Turn | None:
    """Return a turn that an earlier run of the handler has recorded."""

    async def refuse() -> object:
        raise _NotRecordedError

    try:
        return _TURN.validate_python(await context.once(_record_key(number), refuse))
    except _NotRecordedError:
        return None


async def record_turn(context: SkillContext, number: int, turn: Turn) -> None:
    """Record a turn that ends with a question, before it is asked."""

    async def dump() -> object:
        return _TURN.dump_python(turn, mode="json")

    await context.once(_record_key(number), dump)


def _record_key(number: int) -> str:
    return f"{_RECORD_KEY}/turn/{number}"


async def ask_caller(
    context: SkillContext, number: int, pending: Sequence[PendingCall]
) -> DeferredToolResults:
    """Ask the caller about all pending calls at once."""
    names = _name_calls(pending)
    schema: JsonObject = {
        "type": "object",
        "properties": {name: call.schema for name, call in names.items()},
        "required": [*names],
        "additionalProperties": False,
    }
    detail = {
        name: {"tool": call.tool, "arguments": call.arguments} for name, call in names.items()
    }
    untyped = context.untyped
    question = untyped.reply("\n".join(call.question for call in pending), {"calls": detail})
    # asserted for the types: the skill is declared so
    assert isinstance(untyped, TaskContext), "skills of sources answer with tasks"  # noqa: S101
    answer = await untyped.ask(question, schema, key=f"{_RECORD_KEY}/{number}")
    given, _ = extract_payload(answer.message.parts, SchemaValidator(schema))
    results = DeferredToolResults()
    for name, call in names.items():
        _add_result(results, call, given[name] if is_json_object(given) else None)
    return results


def _name_calls(pending: Sequence[PendingCall]) -> Mapping[str, PendingCall]:
    """Name each call by its tool; the second call of a tool gets a number."""
    by_name: dict[str, PendingCall] = {}
    for call in pending:
        name = call.tool
        number = 1
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
        if "message" in value:
            return ToolDenied(str(value["message"]))
        return ToolDenied()
    arguments = value.get("arguments")
    if not is_json_object(arguments):
        return ToolApproved()
    return ToolApproved(override_args=dict(arguments))
