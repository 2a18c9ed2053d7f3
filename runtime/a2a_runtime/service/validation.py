"""Checks of a message before anything is stored: skill, media types, sizes, extensions. Pure.

A media type may end in a wildcard (``image/*``). A word without a slash, as early clients send it,
means all types of that name. Parameters
(``; charset=utf-8``) are ignored. A file without a media type passes every check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b

from msgspec import Struct

from a2a_contract.errors import (
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import (
    Message,
    Part,
    SendMessageConfiguration,
    SendMessageRequest,
    TaskPushNotificationConfig,
)
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.auth.gate import InsufficientScopeError
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.card_extensions import SKILL_ID
from a2a_runtime.engine.replay import EMPTY_REQUEST_INFO, RequestInfo
from a2a_runtime.service.context import CallContext
from a2a_runtime.stores.models import IdempotencyKey
from a2a_runtime.surface import Limits, Surface

TEXT = "text/plain"
_NO_SKILL = "There is no skill for this caller"
JSON = "application/json"
_ANY = "*"

_DEFAULT_CONFIGURATION = SendMessageConfiguration()


class SendCommand(Struct, frozen=True):
    """A valid send request."""

    scope: TaskScope
    message: Message
    skill_id: str | None
    accepted_media_types: list[str] | None
    history_length: int | None
    return_immediately: bool
    push_config: TaskPushNotificationConfig | None
    idempotency_key: IdempotencyKey | None
    request_info: RequestInfo


def parse_send_request(request: SendMessageRequest, context: CallContext) -> SendCommand:
    """Check a request as far as no skill is involved, and build its command."""
    surface = context.surface
    if surface.required_extensions and not surface.required_extensions.issubset(context.extensions):
        missing = ", ".join(sorted(surface.required_extensions.difference(context.extensions)))
        raise ExtensionSupportRequiredError(
            f"Extension support is required: {missing}", details={"extensions": missing}
        )
    check_sizes(request.message, surface.limits)
    configuration = request.configuration or _DEFAULT_CONFIGURATION
    push_config = configuration.task_push_notification_config
    if push_config is not None:
        require_push_notifications(surface)
    skill_id = None
    if request.metadata or request.message.metadata:
        skill_id = _find_skill_id(request)
    idempotency_key = None
    if context.idempotency_key or surface.deduplicate_messages:
        idempotency_key = _build_idempotency_key(request, context)
    return SendCommand(
        context.task_scope(request.tenant),
        request.message,
        skill_id,
        configuration.accepted_output_modes,
        context.limit_history(configuration.history_length),
        bool(configuration.return_immediately),
        push_config,
        idempotency_key,
        build_request_info(request, context),
    )


def find_skill(command: SendCommand, context: CallContext) -> SkillDefinition | None:
    """Find the skill that a message names, or the only one; ``None`` for one that names none of
    several, see ``routing``.

    Skills that are invisible to the caller do not exist.
    """
    skills = context.surface.skills
    selection_error = context.surface.agent.selection_error
    if command.skill_id is not None:
        selected = skills.get(command.skill_id)
        if selected is not None and selected.is_visible_to(context.caller):
            return selected
        if selection_error is not None:
            raise selection_error(command.skill_id)
        problem = f"There is no skill {command.skill_id!r}"
        raise build_selection_error(context, problem if command.skill_id else _NO_SKILL)
    if selection_error is not None:
        raise selection_error(None)
    visible: SkillDefinition | None = None
    for skill in skills.values():
        if skill.is_visible_to(context.caller):
            if visible is not None:
                return None
            visible = skill
    if visible is None:
        raise build_selection_error(context, _NO_SKILL)
    return visible


def build_selection_error(context: CallContext, problem: str) -> InvalidParamsError:
    """Build the error of a message whose skill is unknown, with the skills that the caller can
    name.
    """
    names = ", ".join(
        name for name, each in context.surface.skills.items() if each.is_visible_to(context.caller)
    )
    return InvalidParamsError(
        fields=((f"metadata.{SKILL_ID}", f"{problem}; there are {names}" if names else problem),)
    )


def require_permission(skill: SkillDefinition, context: CallContext) -> None:
    """Raise for a caller who does not satisfy the requirements of a skill, with the missing
    scopes.
    """
    if skill.security_requirements and not skill.is_usable_by(context.caller):
        schemes = skill.security_requirements[0].schemes or {}
        required: set[str] = set()
        for scopes in schemes.values():
            required.update(scopes.list_ or ())
        missing = frozenset(required - context.caller.scopes - context.caller.roles)
        if missing:
            raise InsufficientScopeError(missing)
        raise PermissionDeniedError(f"This skill needs {', '.join(schemes)}")


def check_media_types(command: SendCommand, surface: Surface, skill: SkillDefinition) -> None:
    """Check the media types of a message and of its reply; a client that accepts no types in
    particular accepts all.
    """
    if skill.contract is None or not skill.contract.reads_parts:
        check_input_types(command.message.parts, surface.agent.resolve_input_modes(skill))
    if command.accepted_media_types:
        check_output_types(command.accepted_media_types, surface.agent.resolve_output_modes(skill))


def require_streaming(surface: Surface) -> None:
    """Raise if the agent does not declare streaming."""
    if surface.agent.capabilities.streaming is False:
        raise UnsupportedOperationError("This agent does not stream")


def require_push_notifications(surface: Surface) -> None:
    """Raise if the agent does not declare push notifications."""
    if not surface.agent.capabilities.push_notifications:
        raise PushNotificationNotSupportedError


def _find_skill_id(request: SendMessageRequest) -> str | None:
    for metadata in (request.metadata, request.message.metadata):
        if metadata and (skill_id := metadata.get(SKILL_ID)) is not None:
            return str(skill_id)
    return None


def build_request_info(request: SendMessageRequest, context: CallContext) -> RequestInfo:
    """Collect the members of a request that the handler can read beside the message."""
    modes = request.configuration.accepted_output_modes if request.configuration else None
    caller = context.caller.to_json()
    metadata = request.metadata or {}
    if SKILL_ID in metadata:
        metadata = {name: value for name, value in metadata.items() if name != SKILL_ID}
    if not (metadata or modes or context.extensions or caller):
        return EMPTY_REQUEST_INFO
    return RequestInfo(
        metadata,
        tuple(modes or ()),
        context.active_extensions if context.extensions else (),
        caller=caller,
    )


def _build_idempotency_key(request: SendMessageRequest, context: CallContext) -> IdempotencyKey:
    """Build the key under which a message is accepted once.

    It holds the subject where a team shares its tasks. Prefix and lengths keep keys and message ids
    apart, and those of different subjects.
    """
    message = request.message
    subject = context.caller.subject if context.caller.team else ""
    if context.idempotency_key:
        return IdempotencyKey(
            f"key:{len(subject)}:{subject}:{context.idempotency_key}",
            _digest(request.to_json()),
            message.context_id or "",
        )
    return IdempotencyKey(
        f"message:{len(subject)}:{subject}:{message.message_id}",
        _digest(message.to_json()),
        message.context_id or "",
    )


def _digest(request: bytes) -> bytes:
    return blake2b(request, digest_size=16).digest()


def detect_media_type(part: Part) -> str | None:
    """Return the media type of a part; ``None`` for a file without one."""
    if part.media_type:
        return part.media_type
    if part.text is not None:
        return TEXT
    if part.data is not None:
        return JSON
    return None


def check_input_types(parts: Sequence[Part], offered: Sequence[str]) -> None:
    """Raise field errors for all parts that the skill does not accept."""
    errors: list[tuple[str, str]] = []
    for index, part in enumerate(parts):
        media_type = part.media_type or (TEXT if part.text is not None else detect_media_type(part))
        if (
            media_type is not None
            and media_type not in offered
            and not is_offered_type(media_type, offered)
        ):
            errors.append(
                (f"message.parts[{index}]", f"{media_type} is not one of {', '.join(offered)}")
            )
    if errors:
        raise ContentTypeNotSupportedError(fields=tuple(errors))


def check_output_types(accepted: Sequence[str], offered: Sequence[str]) -> None:
    """Raise if the client accepts no media type of the skill."""
    if accepted[0] not in offered and not any(
        is_offered_type(media_type, offered) for media_type in accepted
    ):
        raise ContentTypeNotSupportedError(
            fields=(
                ("configuration.acceptedOutputModes", f"The skill returns {', '.join(offered)}"),
            )
        )


def is_offered_type(media_type: str, offered: Sequence[str]) -> bool:
    """Return whether a media type matches one of the offered types; wildcards count on both
    sides.
    """
    return media_type in offered or any(
        _is_overlapping(_split_media_type(media_type), _split_media_type(other))
        for other in offered
    )


def _split_media_type(media_type: str) -> tuple[str, str]:
    kind, _, form = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, form or _ANY


def _is_overlapping(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return all(
        mine == theirs or _ANY in {mine, theirs} for mine, theirs in zip(one, other, strict=True)
    )


def check_sizes(message: Message, limits: Limits) -> None:
    """Raise field errors for too many parts, and for all parts that are too large or nested too
    deep.
    """
    if len(message.parts) > limits.parts:
        raise InvalidParamsError(
            fields=(
                (
                    "message.parts",
                    f"A message has at most {limits.parts} parts, this one {len(message.parts)}",
                ),
            )
        )
    if limits.part_bytes is None and limits.depth is None:
        return
    errors: list[tuple[str, str]] = []
    for index, part in enumerate(message.parts):
        errors += [(f"message.parts[{index}]", text) for text in _find_size_errors(part, limits)]
    if limits.depth is not None and _is_deeper(message.metadata, limits.depth):
        errors.append(("message.metadata", f"is nested deeper than {limits.depth} levels"))
    if errors:
        raise InvalidParamsError(fields=tuple(errors))


def _find_size_errors(part: Part, limits: Limits) -> Iterator[str]:
    if limits.part_bytes is not None and len(part.to_json()) > limits.part_bytes:
        yield f"has more than {limits.part_bytes} bytes"
    if limits.depth is not None and _is_deeper([part.data, part.metadata], limits.depth + 1):
        yield f"is nested deeper than {limits.depth} levels"


def _is_deeper(value: object, max_depth: int) -> bool:
    """Return whether objects and lists are nested deeper than the limit."""
    inside: Iterable[object]
    if is_json_object(value):
        inside = value.values()
    elif is_json_array(value):
        inside = value
    else:
        return False
    return max_depth == 0 or any(_is_deeper(each, max_depth - 1) for each in inside)
