"""Approvals of calls: a question to the caller, which may stay open for as long as it takes.

    the executor has a handler   it gives the pending approval an id; the answer calls the module
                                 again with this id and the same input, and the handler decides
    it has none                  the caller is asked before the call, and its answer decides
    a module raises it itself    the answer calls the module again; members of the answer that the
                                 input has are taken into it

What a call waits for is recorded before the caller is asked: the run that the answer begins does
not ask the executor a second time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from a2a_contract.base import JsonObject
from a2a_contract.json_types import is_json_object
from a2a_contract.translate.v0_3.message import write_message
from a2a_contract.v1_0 import Message
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.results import find_data
from a2a_runtime.features.apcore.calls import ModuleCall, PendingApproval
from a2a_runtime.ports.skill_source import SkillDescriptor
from a2a_runtime.skills.context import SkillContext
from a2a_runtime.skills.schema import SchemaValidator, extract_payload

TOKEN = "_approval_token"  # noqa: S105 - the name of a member of the input
_KEY = "apcore/approval"
_YES = ("yes", "approve", "approved")
_NO = ("no", "deny", "denied")
_DECISION: JsonObject = {
    "anyOf": [
        {"type": "boolean"},
        {"enum": [*_YES, *_NO]},
        {
            "type": "object",
            "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
            "required": ["approved"],
        },
    ]
}


class ApprovalDeniedError(Exception):
    """The caller has denied the call."""

    code = "APPROVAL_DENIED"
    message = "denied by the caller"


class _NotRecordedError(LookupError):
    """No approval of this number was waited for in an earlier run."""


class Approvals:
    """The approvals of one task, in their order."""

    def __init__(self, skill: SkillDescriptor, context: SkillContext, *, asks_first: bool) -> None:
        self._skill = skill
        self._context = context
        self._asks_first = asks_first
        self._number = 0

    async def restore(self, call: ModuleCall) -> ModuleCall:
        """Take the answers to the questions of earlier runs into a call; ask first where the caller
        decides.
        """
        while True:
            pending = await self._find_recorded()
            if pending is None:
                break
            call = await self._ask(call, pending)
        if self._asks_first and self._number == 0:
            call = await self.answer(call, PendingApproval(None, decides=True))
        return call

    async def answer(self, call: ModuleCall, pending: PendingApproval) -> ModuleCall:
        """Record what a call waits for, ask the caller, and return the call to make then."""

        async def dump() -> object:
            return asdict(pending)

        await self._context.once(f"{_KEY}/{self._number}/pending", dump)
        return await self._ask(call, pending)

    async def _find_recorded(self) -> PendingApproval | None:
        async def refuse() -> Mapping[str, Any]:
            raise _NotRecordedError

        try:
            return PendingApproval(
                **await self._context.once(f"{_KEY}/{self._number}/pending", refuse)
            )
        except _NotRecordedError:
            return None

    async def _ask(self, call: ModuleCall, pending: PendingApproval) -> ModuleCall:
        question = f"Approval required for module {self._skill.id}"
        if pending.reason:
            question = f"{question}: {pending.reason}"
        context = self._context.untyped
        # asserted for the types: the skill is declared so
        assert isinstance(context, TaskContext), "skills of sources answer with tasks"  # noqa: S101
        schema = _DECISION if pending.decides else None
        reply = await context.ask(question, schema, key=f"{_KEY}/{self._number}")
        answer = reply.message
        self._number += 1
        if pending.decides:
            _require_approval(answer)
        inputs = call.inputs
        if pending.id is not None:
            # what was approved is what runs: the answer changes nothing of it
            inputs = {**inputs, TOKEN: pending.id}
        elif not pending.decides:
            inputs = self._merge(inputs, answer)
        members: dict[str, object] = {"answer": write_message(answer.to_dict())}
        if pending.id is not None:
            # later releases take the token out of the input before a module
            # that asks itself can read it
            members["approval_id"] = pending.id
        data = {key: {**value, **members} for key, value in call.data.items()}
        return replace(call, inputs=inputs, data=data)

    def _merge(self, inputs: Any, answer: Message) -> Any:
        """Take the members of an answer that the input of the module has."""
        given = find_data(answer.parts)
        properties = (self._skill.input_schema or {}).get("properties")
        if (
            not is_json_object(given)
            or not is_json_object(inputs)
            or not is_json_object(properties)
        ):
            return inputs
        return {**inputs, **{name: value for name, value in given.items() if name in properties}}


def _require_approval(answer: Message) -> None:
    value, _ = extract_payload(answer.parts, SchemaValidator(_DECISION))
    if is_json_object(value):
        value = value["approved"]
    if value not in (True, *_YES):
        raise ApprovalDeniedError(join_texts(answer))
