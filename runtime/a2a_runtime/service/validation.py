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
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import Message, Part, SendMessageConfiguration, SendMessageRequest, TaskPushNotificationConfig
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.auth.gate import InsufficientScopeError
from a2a_runtime.caller import TaskScope
from a2a_runtime.execution.replay import EMPTY_REQUEST_INFO, RequestInfo
from a2a_runtime.service.context import CallContext
from a2a_runtime.stores.base import IdempotencyKey
from a2a_runtime.surface import Limits, Surface

# Media types: what a message may contain, and in what the answer may come. Pure.
#
# A type may end in a wildcard (``image/*``). A word without a slash, which clients of the first versions send, stands for all types of that name.
# Parameters (``; charset=utf-8``) make no difference. A file that does not say what it is may be anything.
#

TEXT = "text/plain"
JSON = "application/json"
_ANY = "*"


def detect_media_type(part: Part) -> str | None:
    """Say of which media type a part is, as far as it says so itself."""
    if part.media_type:
        return part.media_type
    if part.text is not None:
        return TEXT
    return JSON if part.data is not None else None


def check_input_types(parts: Sequence[Part], offered: Sequence[str]) -> None:
    """Refuse a message with parts that its skill does not take, and name every one of them."""
    wrong = [
        (f"message.parts[{place}]", f"{media_type} is not one of {', '.join(offered)}")
        for place, part in enumerate(parts)
        if (media_type := detect_media_type(part)) not in offered and media_type is not None and not is_offered_type(media_type, offered)
    ]
    if wrong:
        raise ContentTypeNotSupportedError(fields=tuple(wrong))


def check_output_types(accepted: Sequence[str], offered: Sequence[str]) -> None:
    """Refuse a client that can take nothing of what its skill gives."""
    if not any(is_offered_type(media_type, offered) for media_type in accepted):
        wrong = ("configuration.acceptedOutputModes", f"The skill gives {', '.join(offered)}")
        raise ContentTypeNotSupportedError(fields=(wrong,))


def is_offered_type(media_type: str, offered: Sequence[str]) -> bool:
    """Whether a media type is one of some others; wildcards count on both sides."""
    return media_type in offered or any(_is_overlapping(_split_media_type(media_type), _split_media_type(other)) for other in offered)


def _split_media_type(media_type: str) -> tuple[str, str]:
    kind, _, form = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, form or _ANY


def _is_overlapping(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return all(mine == theirs or _ANY in {mine, theirs} for mine, theirs in zip(one, other, strict=True))


# How large a message may be, beyond the size of its request. Pure.


def check_sizes(message: Message, limits: Limits) -> None:
    """Refuse a message with too many parts, or with one that is too large or too deep, and name every place."""
    if len(message.parts) > limits.parts:
        raise InvalidParamsError(fields=(("message.parts", f"A message has at most {limits.parts} parts, this one {len(message.parts)}"),))
    if limits.part_bytes is None and limits.depth is None:
        return
    wrong = [(f"message.parts[{place}]", text) for place, part in enumerate(message.parts) for text in _find_size_errors(part, limits)]
    if limits.depth is not None and _is_deeper(message.metadata, limits.depth):
        wrong.append(("message.metadata", f"is nested deeper than {limits.depth} levels"))
    if wrong:
        raise InvalidParamsError(fields=tuple(wrong))


def _find_size_errors(part: Part, limits: Limits) -> Iterator[str]:
    if limits.part_bytes is not None and len(part.to_json()) > limits.part_bytes:
        yield f"has more than {limits.part_bytes} bytes"
    if limits.depth is not None and _is_deeper([part.data, part.metadata], limits.depth + 1):
        yield f"is nested deeper than {limits.depth} levels"


def _is_deeper(value: object, max_depth: int) -> bool:
    """Whether objects and lists are nested more often than that."""
    inside = value.values() if is_json_object(value) else value if is_json_array(value) else None
    return inside is not None and (max_depth == 0 or any(_is_deeper(each, max_depth - 1) for each in inside))


SKILL_ID = "skillId"
"""Member of the metadata of a request, or of its message, that names the skill that is meant."""

_DEFAULT_CONFIGURATION = SendMessageConfiguration()


class SendCommand(NamedTuple):
    """A message that may be acted upon, and how it is to be answered. A plain tuple: one is made for every message."""

    scope: TaskScope
    message: Message
    skill_id: str | None
    """The skill that the request names."""
    accepted_media_types: list[str] | None
    history_length: int | None
    return_immediately: bool
    """Whether to answer before the task has ended."""
    push_config: TaskPushNotificationConfig | None
    idempotency: IdempotencyKey | None
    request_info: RequestInfo
    """What else the request says, for the handler."""


def parse_send_request(request: SendMessageRequest, context: CallContext) -> SendCommand:
    """Read what a message asks for, or refuse what no skill of the surface could do."""
    surface = context.surface
    if not surface.required_extensions.issubset(context.extensions):
        missing = ", ".join(sorted(surface.required_extensions.difference(context.extensions)))
        raise ExtensionSupportRequiredError(f"Extension support is required: {missing}", details={"extensions": missing})
    check_sizes(request.message, surface.limits)
    said = request.configuration or _DEFAULT_CONFIGURATION
    push = said.task_push_notification_config
    if push is not None:
        require_push_notifications(surface)
    return SendCommand(
        context.task_scope(request.tenant),
        request.message,
        _find_skill_id(request),
        said.accepted_output_modes,
        context.limit_history(said.history_length),
        bool(said.return_immediately),
        push,
        _build_idempotency_key(request, context),
        build_request_info(request, context),
    )


def select_skill(command: SendCommand, context: CallContext) -> SkillDefinition:
    """Choose the skill for a new task: the one that is named, or the first; one that the caller must not know of is not there."""
    skills = context.surface.skills
    skill = _find_first_skill(skills.values(), context) if command.skill_id is None else skills.get(command.skill_id)
    if skill is None or not skill.is_visible_to(context.caller):
        shown = ", ".join(name for name, each in skills.items() if not each.only_extended)
        raise InvalidParamsError(fields=((f"metadata.{SKILL_ID}", f"There is no skill {command.skill_id!r}; there are {shown}"),))
    require_permission(skill, context)
    check_media_types(command, context.surface, skill)
    return skill


def _find_first_skill(skills: Iterable[SkillDefinition], context: CallContext) -> SkillDefinition | None:
    for skill in skills:
        if skill.is_visible_to(context.caller):
            return skill
    return None


def require_permission(skill: SkillDefinition, context: CallContext) -> None:
    """Refuse a caller who does not satisfy what a skill requires, and say what is missing."""
    if skill.security_requirements and not skill.is_usable_by(context.caller):
        wanted = skill.security_requirements[0].schemes or {}
        missing = frozenset(scope for scopes in wanted.values() for scope in scopes.list_ or ()) - context.caller.scopes - context.caller.roles
        raise InsufficientScopeError(missing) if missing else PermissionDeniedError(f"This skill needs {', '.join(wanted)}")


def check_media_types(command: SendCommand, surface: Surface, skill: SkillDefinition) -> None:
    """Refuse a message that the skill cannot take, or whose sender cannot take the answer; a sender that names no types takes everything."""
    check_input_types(command.message.parts, surface.agent.resolve_input_modes(skill))
    if command.accepted_media_types:
        check_output_types(command.accepted_media_types, surface.agent.resolve_output_modes(skill))


def require_streaming(surface: Surface) -> None:
    """Refuse a stream of an agent that has none."""
    if not surface.agent.capabilities.streaming:
        raise UnsupportedOperationError("This agent does not stream")


def require_push_notifications(surface: Surface) -> None:
    """Refuse webhooks of an agent that calls none."""
    if not surface.agent.capabilities.push_notifications:
        raise PushNotificationNotSupportedError


def _find_skill_id(request: SendMessageRequest) -> str | None:
    for metadata in (request.metadata, request.message.metadata):
        if metadata and (named := metadata.get(SKILL_ID)) is not None:
            return str(named)
    return None


def build_request_info(request: SendMessageRequest, context: CallContext) -> RequestInfo:
    """Collect what a handler may want to know beside the message; which skill is meant, it knows."""
    modes = request.configuration.accepted_output_modes if request.configuration else None
    if not (request.metadata or modes or context.extensions):
        return EMPTY_REQUEST_INFO
    metadata = {name: value for name, value in (request.metadata or {}).items() if name != SKILL_ID}
    return RequestInfo(metadata, tuple(modes or ()), context.active_extensions)


def _build_idempotency_key(request: SendMessageRequest, context: CallContext) -> IdempotencyKey | None:
    """Read the key under which the message is taken only once: one of the sender's own, also where a team shares its tasks.

    Keys and message ids cannot be taken for one another, nor can those of two people.
    """
    message, who = request.message, context.caller.subject if context.caller.team else ""
    if context.idempotency_key:
        return IdempotencyKey(f"key:{len(who)}:{who}:{context.idempotency_key}", _digest(request.to_json()), message.context_id or "")
    if context.surface.deduplicate_messages:
        return IdempotencyKey(f"message:{len(who)}:{who}:{message.message_id}", _digest(message.to_json()), message.context_id or "")
    return None


def _digest(request: bytes) -> bytes:
    return blake2b(request, digest_size=16).digest()
