"""What a message asks for, and whether it may: everything that can be said before anything is stored. Pure but for new identifiers."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from a2a_contract.errors import (
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a_contract.v1_0 import Message, SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig
from a2a_runtime.agent import DeclaredSkill
from a2a_runtime.auth.gate import ScopeError
from a2a_runtime.caller import Scope
from a2a_runtime.execution.request import PLAIN, Request
from a2a_runtime.service import modes
from a2a_runtime.service.call import Call
from a2a_runtime.service.sizes import check_sizes
from a2a_runtime.stores.port import Idempotency
from a2a_runtime.surface import Surface

SKILL = "skillId"
"""Member of the metadata of a request, or of its message, that names the skill that is meant."""

_NOTHING_SAID = SendMessageConfiguration()


class Order(NamedTuple):
    """A message that may be acted upon, and how it is to be answered. A plain tuple: one is made for every message."""

    scope: Scope
    message: Message
    named: str | None
    """The skill that the request names."""
    accepted_modes: list[str] | None
    history_length: int | None
    at_once: bool
    """Whether to answer before the task has ended."""
    push: TaskPushNotificationConfig | None
    idempotency: Idempotency | None
    request: Request
    """What else the request says, for the handler."""


def order_of(request: SendMessageRequest, call: Call) -> Order:
    """Read what a message asks for, or refuse what no skill of the surface could do."""
    surface = call.surface
    if not surface.required_extensions.issubset(call.extensions):
        missing = ", ".join(sorted(surface.required_extensions.difference(call.extensions)))
        raise ExtensionSupportRequiredError(f"Extension support is required: {missing}", details={"extensions": missing})
    check_sizes(request.message, surface.limits)
    said = request.configuration or _NOTHING_SAID
    push = said.task_push_notification_config
    if push is not None:
        need_push_notifications(surface)
    return Order(
        call.scope(request.tenant),
        request.message,
        _named_skill(request),
        said.accepted_output_modes,
        call.history(said.history_length),
        bool(said.return_immediately),
        push,
        _promise(request, call),
        rest_of(request, call),
    )


def skill_of(order: Order, call: Call) -> DeclaredSkill:
    """Choose the skill for a new task: the one that is named, or the first; one that the caller must not know of is not there."""
    skills = call.surface.skills
    skill = _first(skills.values(), call) if order.named is None else skills.get(order.named)
    if skill is None or not skill.is_there_for(call.caller):
        shown = ", ".join(name for name, each in skills.items() if not each.only_extended)
        raise InvalidParamsError(fields=((f"metadata.{SKILL}", f"There is no skill {order.named!r}; there are {shown}"),))
    need_permission(skill, call)
    check_modes(order, call.surface, skill)
    return skill


def _first(skills: Iterable[DeclaredSkill], call: Call) -> DeclaredSkill | None:
    for skill in skills:
        if skill.is_there_for(call.caller):
            return skill
    return None


def need_permission(skill: DeclaredSkill, call: Call) -> None:
    """Refuse a caller who does not satisfy what a skill requires, and say what is missing."""
    if skill.security_requirements and not skill.may_use(call.caller):
        wanted = skill.security_requirements[0].schemes or {}
        missing = frozenset(scope for scopes in wanted.values() for scope in scopes.list_ or ()) - call.caller.scopes - call.caller.roles
        raise ScopeError(missing) if missing else PermissionDeniedError(f"This skill needs {', '.join(wanted)}")


def check_modes(order: Order, surface: Surface, skill: DeclaredSkill) -> None:
    """Refuse a message that the skill cannot take, or whose sender cannot take the answer; a sender that names no types takes everything."""
    modes.check_input(order.message.parts, surface.agent.inputs(skill))
    if order.accepted_modes:
        modes.check_output(order.accepted_modes, surface.agent.outputs(skill))


def need_streaming(surface: Surface) -> None:
    """Refuse a stream of an agent that has none."""
    if not surface.agent.capabilities.streaming:
        raise UnsupportedOperationError("This agent does not stream")


def need_push_notifications(surface: Surface) -> None:
    """Refuse webhooks of an agent that calls none."""
    if not surface.agent.capabilities.push_notifications:
        raise PushNotificationNotSupportedError


def _named_skill(request: SendMessageRequest) -> str | None:
    for metadata in (request.metadata, request.message.metadata):
        if metadata and (named := metadata.get(SKILL)) is not None:
            return str(named)
    return None


def rest_of(request: SendMessageRequest, call: Call) -> Request:
    """Collect what a handler may want to know beside the message; which skill is meant, it knows."""
    modes = request.configuration.accepted_output_modes if request.configuration else None
    if not (request.metadata or modes or call.extensions):
        return PLAIN
    metadata = {name: value for name, value in (request.metadata or {}).items() if name != SKILL}
    return Request(metadata, tuple(modes or ()), call.activated)


def _promise(request: SendMessageRequest, call: Call) -> Idempotency | None:
    """Read the key under which the message is taken only once: one of the sender's own, also where a team shares its tasks.

    Keys and message ids cannot be taken for one another, nor can those of two people.
    """
    message, who = request.message, call.caller.subject if call.caller.team else ""
    if call.idempotency_key:
        return Idempotency(f"key:{len(who)}:{who}:{call.idempotency_key}", _digest(request.to_json()), message.context_id or "")
    if call.surface.deduplicate_messages:
        return Idempotency(f"message:{len(who)}:{who}:{message.message_id}", _digest(message.to_json()), message.context_id or "")
    return None


def _digest(request: bytes) -> bytes:
    return blake2b(request, digest_size=16).digest()
