"""What a message asks for, and whether it may: everything that can be said before anything is stored. Pure but for new identifiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from a2a_contract.errors import (
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a_contract.json_types import is_list, is_object
from a2a_contract.v1_0 import Message, Part, SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig
from a2a_runtime.agent import DeclaredSkill
from a2a_runtime.auth.gate import ScopeError
from a2a_runtime.caller import Scope
from a2a_runtime.execution.replay import PLAIN, Request
from a2a_runtime.service.context import Call
from a2a_runtime.stores.base import Idempotency
from a2a_runtime.surface import Limits, Surface

# Media types: what a message may contain, and in what the answer may come. Pure.
#
# A type may end in a wildcard (``image/*``). A word without a slash, which clients of the first versions send, stands for all types of that name.
# Parameters (``; charset=utf-8``) make no difference. A file that does not say what it is may be anything.
#

TEXT = "text/plain"
JSON = "application/json"
_ANY = "*"


def type_of(part: Part) -> str | None:
    """Say of which media type a part is, as far as it says so itself."""
    if part.media_type:
        return part.media_type
    if part.text is not None:
        return TEXT
    return JSON if part.data is not None else None


def check_input(parts: Sequence[Part], offered: Sequence[str]) -> None:
    """Refuse a message with parts that its skill does not take, and name every one of them."""
    wrong = [
        (f"message.parts[{place}]", f"{media_type} is not one of {', '.join(offered)}")
        for place, part in enumerate(parts)
        if (media_type := type_of(part)) not in offered and media_type is not None and not fits(media_type, offered)
    ]
    if wrong:
        raise ContentTypeNotSupportedError(fields=tuple(wrong))


def check_output(accepted: Sequence[str], offered: Sequence[str]) -> None:
    """Refuse a client that can take nothing of what its skill gives."""
    if not any(fits(media_type, offered) for media_type in accepted):
        wrong = ("configuration.acceptedOutputModes", f"The skill gives {', '.join(offered)}")
        raise ContentTypeNotSupportedError(fields=(wrong,))


def fits(media_type: str, offered: Sequence[str]) -> bool:
    """Whether a media type is one of some others; wildcards count on both sides."""
    return media_type in offered or any(_overlap(_split(media_type), _split(other)) for other in offered)


def _split(media_type: str) -> tuple[str, str]:
    kind, _, form = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, form or _ANY


def _overlap(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return all(mine == theirs or _ANY in {mine, theirs} for mine, theirs in zip(one, other, strict=True))


# How large a message may be, beyond the size of its request. Pure.


def check_sizes(message: Message, limits: Limits) -> None:
    """Refuse a message with too many parts, or with one that is too large or too deep, and name every place."""
    if len(message.parts) > limits.parts:
        raise InvalidParamsError(fields=(("message.parts", f"A message has at most {limits.parts} parts, this one {len(message.parts)}"),))
    if limits.part_bytes is None and limits.depth is None:
        return
    wrong = [(f"message.parts[{place}]", text) for place, part in enumerate(message.parts) for text in _wrong_with(part, limits)]
    if limits.depth is not None and _is_deeper(message.metadata, limits.depth):
        wrong.append(("message.metadata", f"is nested deeper than {limits.depth} levels"))
    if wrong:
        raise InvalidParamsError(fields=tuple(wrong))


def _wrong_with(part: Part, limits: Limits) -> Iterator[str]:
    if limits.part_bytes is not None and len(part.to_json()) > limits.part_bytes:
        yield f"has more than {limits.part_bytes} bytes"
    if limits.depth is not None and _is_deeper([part.data, part.metadata], limits.depth + 1):
        yield f"is nested deeper than {limits.depth} levels"


def _is_deeper(value: object, room: int) -> bool:
    """Whether objects and lists are nested more often than that."""
    inside = value.values() if is_object(value) else value if is_list(value) else None
    return inside is not None and (room == 0 or any(_is_deeper(each, room - 1) for each in inside))


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
    check_input(order.message.parts, surface.agent.inputs(skill))
    if order.accepted_modes:
        check_output(order.accepted_modes, surface.agent.outputs(skill))


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
