"""What an agent's refusal stands for: one function from the wire to the contract's errors for each binding.

The reason says it best, then the code, then the HTTP status. Agents write errors in many shapes; whatever a shape lacks is made up from the rest, but
a status of something that is no agent never becomes an answer of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic.alias_generators import to_snake
from pydantic_core import from_json, to_json

from a2a_contract.answers import Refusal, refusal
from a2a_contract.errors import (
    ERRORS,
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
)
from a2a_contract.kinds import is_list, is_object
from a2a_contract.operation import Operation
from a2a_contract.operations import CANCEL_TASK, GET_EXTENDED_AGENT_CARD, LIST_TASKS
from a2a_runtime.client.errors import StatusError

_EXCERPT = 200
_UNSAID = "The agent refuses, and does not say why"

# What a status means whoever sends it.
_ANYBODY: Mapping[int, type[A2AError]] = {
    HTTPStatus.UNAUTHORIZED: UnauthenticatedError,
    HTTPStatus.FORBIDDEN: PermissionDeniedError,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: PayloadTooLargeError,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimitedError,
    HTTPStatus.SERVICE_UNAVAILABLE: UnavailableError,
}
# What it means where an agent sends it, with a body of JSON that says no more.
_AGENT: Mapping[int, type[A2AError]] = {
    **_ANYBODY,
    HTTPStatus.BAD_REQUEST: InvalidRequestError,
    HTTPStatus.NOT_FOUND: MethodNotFoundError,
    HTTPStatus.METHOD_NOT_ALLOWED: MethodNotAllowedError,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ContentTypeNotSupportedError,
    HTTPStatus.UNPROCESSABLE_ENTITY: InvalidParamsError,
    HTTPStatus.INTERNAL_SERVER_ERROR: InternalError,
    HTTPStatus.NOT_IMPLEMENTED: UnsupportedOperationError,
}


def _reasons() -> Mapping[str, type[A2AError]]:
    """List the words for errors: the contract's reasons, and the names of the errors as peers write them where the contract has no reason."""
    found: dict[str, type[A2AError]] = {}
    for error, row in ERRORS.items():
        name = to_snake(error.__name__).upper()
        found.update({name: error, name.removesuffix("_ERROR"): error})
        found.update({row.reason: error} if row.reason else {})
    return found


def _codes(dialect: str) -> Mapping[int, type[A2AError]]:
    """List the errors by code; of those that share one, the first is the one that needs no reason."""
    return {row.in_dialect(dialect).code: error for error, row in reversed(list(ERRORS.items()))}


_REASONS = _reasons()


def error_of(dialect: str, said: Refusal, status: int = HTTPStatus.OK) -> A2AError:
    """Make the error that a JSON-RPC answer tells of."""
    details, fields, reason = _details(said.data)
    kind = _REASONS.get(reason or "") or _codes(dialect).get(said.code or 0) or _AGENT.get(status, A2AError)
    if kind is A2AError and said.code is not None:
        details = {**details, "code": str(said.code)}
    silent = _UNSAID if kind is A2AError else ""
    return kind(said.message or silent, details=details, fields=fields)


def error_of_http(dialect: str, operation: Operation, status: int, body: bytes) -> Exception:
    """Make the error that an HTTP answer tells of, whatever its body is."""
    said = _object(body)
    if said is None:
        known, excerpt = _ANYBODY.get(status), body[:_EXCERPT].decode("utf-8", "replace")
        return known() if known else StatusError(status, f"The answer has HTTP status {status}", excerpt)
    inner = said.get("error")
    told = refusal(inner if is_object(inner) else said)
    details, fields, reason = _details(_data(inner if is_object(inner) else said))
    kind = _REASONS.get(reason or "") or _codes(dialect).get(told.code or 0) or _by_status(operation, status, names_places=bool(fields))
    return kind(told.message or _text(said), details=details, fields=fields)


def _by_status(operation: Operation, status: int, *, names_places: bool) -> type[A2AError]:
    """Choose by what was asked, and by what is said of it, where a status has several meanings."""
    if status == HTTPStatus.BAD_REQUEST and names_places:
        return InvalidParamsError
    if status == HTTPStatus.NOT_FOUND and operation.name == GET_EXTENDED_AGENT_CARD.name:
        return ExtendedAgentCardNotConfiguredError
    if status == HTTPStatus.NOT_FOUND and operation.name != LIST_TASKS.name:
        return TaskNotFoundError
    if status == HTTPStatus.CONFLICT and operation.name == CANCEL_TASK.name:
        return TaskNotCancelableError
    return _AGENT.get(status, A2AError)


def _object(body: bytes) -> dict[str, object] | None:
    try:
        said: object = from_json(body)
    except ValueError:
        return None
    return said if is_object(said) else None


def _text(said: Mapping[str, object]) -> str:
    """Find a text where frameworks write one."""
    return next((text for name in ("message", "detail", "error", "title") if isinstance(text := said.get(name), str)), "")


def _data(error: Mapping[str, object]) -> object:
    return error.get("details", error.get("data"))


def _details(data: object) -> tuple[dict[str, str], tuple[tuple[str, str], ...], str | None]:
    """Read the facts, the wrong places and the reason out of a list of typed details, or of one free object."""
    details: dict[str, str] = {}
    fields: list[tuple[str, str]] = []
    reason: str | None = None
    for each in data if is_list(data) else [data]:
        if not is_object(each):
            details.update({"data": _as_text(each)} if each is not None else {})
            continue
        reason = reason or _word(each.get("reason"))
        fields += _fields(each.get("fieldViolations")) + _fields(each.get("fields"))
        metadata = each.get("metadata") if is_list(data) else {name: value for name, value in each.items() if name not in ("reason", "fields")}
        details.update({to_snake(name): _as_text(value) for name, value in metadata.items()} if is_object(metadata) else {})
    return details, tuple(fields), reason


def _fields(places: object) -> list[tuple[str, str]]:
    found = [each for each in places if is_object(each)] if is_list(places) else []
    return [(_as_text(each.get("field", "")), _as_text(each.get("description", ""))) for each in found]


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
