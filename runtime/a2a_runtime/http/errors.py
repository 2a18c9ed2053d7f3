"""From whatever is raised while a request is answered to the error of the contract that the caller is told.

What the protocol has no name for is an internal error: its text is fixed, and what happened stands in the log. The same goes for errors of the
runtime's own that speak to an operator (a store that is away says where it is).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

from pydantic import AliasChoices, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from a2a_contract.base import WireModel
from a2a_contract.binding import AnyBinding
from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import (
    DOMAIN,
    ERRORS,
    A2AError,
    EnvelopeError,
    ErrorRow,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    NotACallError,
    ParseError,
    UnavailableError,
)
from a2a_contract.field_paths import MAX_FIELD_ERRORS, field_paths
from a2a_contract.jsonrpc import NO_ID, CallId, CallProblem, InvalidCallError
from a2a_contract.operations import LIST_TASKS
from a2a_runtime.auth.gate import ChallengeError, InsufficientScopeError
from a2a_runtime.auth.rate_limit import TooManyRequestsError
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.service.tasks import parse_task_query

log = logging.getLogger(__name__)

_NOT_JSON = "json_invalid"  # Pydantic's name for it
_METHOD = "method"
_FAULTS: dict[CallProblem, type[A2AError]] = {
    CallProblem.NOT_JSON: ParseError,
    CallProblem.NOT_AN_OBJECT: NotACallError,
    CallProblem.NOT_A_CALL: InvalidRequestError,
    CallProblem.UNKNOWN_METHOD: MethodNotFoundError,
    CallProblem.WRONG_PARAMS: InvalidParamsError,
}


def to_protocol_error(error: Exception) -> A2AError:
    """Say what the caller is told about an error; what only the operator may know goes to the log."""
    match error:
        case A2AError():
            return _without_secrets(error)
        case InvalidCallError():
            return _FAULTS[error.problem](fields=error.fields, details=_call_details(error))
        case ValidationError():
            return to_validation_error(error)
        case _:
            log.error("a request failed", exc_info=error)
            return InternalError()


def _call_details(error: InvalidCallError) -> dict[str, str]:
    """Name what dialects with words of their own for it name: a method that nobody has, or the one member that is missing."""
    if error.problem is CallProblem.UNKNOWN_METHOD and error.method is not None:
        return {_METHOD: error.method}
    if error.problem is CallProblem.NOT_A_CALL and error.method is None:
        return {"member": _METHOD}
    members = [place for place, _ in error.fields if place.isidentifier()]
    return {_METHOD: error.method, "member": members[0]} if members and error.method is not None else {}


def find_row_class(error: type[A2AError]) -> type[A2AError]:
    """Find which row of the table of errors is meant by a class of errors that may be narrower."""
    return next(each for each in error.__mro__ if each in ERRORS)


def _without_secrets(error: A2AError) -> A2AError:
    kind = find_row_class(type(error))
    if not issubclass(kind, InternalError | UnavailableError):
        return error
    log.error("a request failed", exc_info=error)
    return error if type(error) is kind else kind()


def to_validation_error(error: ValidationError, request: type[WireModel] | None = None) -> A2AError:
    """Say what is wrong with a request that is not what its type wants."""
    if error.error_count() > MAX_FIELD_ERRORS:
        return InvalidParamsError(fields=field_paths(error))
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found and found[0]["type"] == _NOT_JSON:
        return ParseError(fields=field_paths(error))
    return InvalidParamsError(fields=field_paths(error, of=request))


# How an error looks on the wire: one function from an error, a dialect and a binding to a status, headers and a body.
#
# error_body   JSON-RPC                                               HTTP+JSON
# status       {"code", "message", "data": [google.protobuf.Any]}     {"error": {"code", "status", "message", "details": [Any]}}
# jsonrpc      {"code", "message", "data": {reason, details, fields}} the same, without an envelope
# bare         {"code", "message", "data": {fields}}                   the same, without an envelope; what is no call has no data
#

_ANY = "type.googleapis.com/google.rpc."
_FIELDS = 100
"""How many wrong places an answer names at most: a request can have millions."""
_LENGTH = 1000
"""How long one text about them may be: it can hold names that the client chose."""


class ErrorResponse(NamedTuple):
    """An error as it is sent."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def render_error(error: A2AError, dialect: str, binding: ProtocolBinding, call_id: CallId = NO_ID) -> ErrorResponse:
    """Write an error as a dialect shows it over a binding."""
    row = ERRORS[find_row_class(type(error))].in_dialect(dialect)
    if binding is ProtocolBinding.JSONRPC:
        shown = b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (call_id, to_json(_jsonrpc(error, row, dialect)))
        return ErrorResponse(row.jsonrpc_status, shown, tuple(_headers(error)))
    body = _status(error, row) if _is_status(dialect) else _jsonrpc(error, row, dialect)
    return ErrorResponse(row.http, to_json(body), tuple(_headers(error)))


def _headers(error: A2AError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, ChallengeError | InsufficientScopeError):
        return [(b"www-authenticate", error.challenge.encode("latin-1", "replace"))]
    if isinstance(error, TooManyRequestsError):
        return [(b"retry-after", str(error.retry_after_seconds).encode())]
    if isinstance(error, MethodNotAllowedError):
        return [(b"allow", error.details.get("allow", "").encode("latin-1", "replace"))]
    return []


def _is_status(dialect: str) -> bool:
    return DIALECTS[dialect].error_body == "status"


def _status(error: A2AError, row: ErrorRow) -> Mapping[str, object]:
    return {"error": {"code": row.http, "status": row.grpc, "message": row.text(error), "details": _any(error, row)}}


def _jsonrpc(error: A2AError, row: ErrorRow, dialect: str) -> Mapping[str, object]:
    data: object = _any(error, row) if _is_status(dialect) else _plain(error, row, is_bare=DIALECTS[dialect].error_body == "bare")
    shown: dict[str, object] = {"code": row.code, "message": row.text(error)}
    return {**shown, "data": data} if data else shown


def _any(error: A2AError, row: ErrorRow) -> list[Mapping[str, object]]:
    details: list[Mapping[str, object]] = []
    if row.reason is not None:
        metadata = {"metadata": _details(error)} if error.details else {}
        details.append({"@type": _ANY + "ErrorInfo", "reason": row.reason, "domain": DOMAIN, **metadata})
    if error.fields:
        details.append({"@type": _ANY + "BadRequest", "fieldViolations": _violations(error)})
    return details


def _plain(error: A2AError, row: ErrorRow, *, is_bare: bool) -> Mapping[str, object]:
    reason: dict[str, object] = {} if row.reason is None else {"reason": row.reason}
    fields: dict[str, object] = {"fields": _violations(error)} if error.fields else {}
    if is_bare:
        return {} if isinstance(error, EnvelopeError) else fields
    return {**reason, **_details(error), **fields}


def _details(error: A2AError) -> dict[str, str]:
    return {to_camel(name): text[:_LENGTH] for name, text in error.details.items()}


def _violations(error: A2AError) -> list[Mapping[str, str]]:
    return [{"field": place[:_LENGTH], "description": text[:_LENGTH]} for place, text in error.fields[:_FIELDS]]


# Everything that is wrong with a request, in one answer.
#
# What its type refuses, what it lacks, and what its members say of one another can each be asked only when the one before is content. So a request
# that
# is refused is read again without the members that were named, until nothing new is found. Only who is refused pays for that.
#

Fields: TypeAlias = tuple[tuple[str, str], ...]

_LAST_LOOK: Mapping[str, Callable[[Any, Collection[str]], object]] = {LIST_TASKS.name: parse_task_query}
"""What refuses canonical requests whose members do not go together, by operation; it is told which were left out."""


def collect_field_errors(binding: AnyBinding, said: Mapping[str, object], found: Fields) -> Fields:
    """List what was found wrong with a request, and whatever else is."""
    left_out: frozenset[str] = frozenset()
    new = found
    while new and len(found) <= MAX_FIELD_ERRORS:
        left_out |= _spellings(binding.request, {_member(place) for place, _ in new})
        rest = {name: value for name, value in said.items() if name not in left_out}
        # A member that was left out is missing now, which is nobody's fault.
        new = tuple((place, text) for place, text in _faults(binding, rest, left_out) if _member(place) not in left_out)
        found += new
    return found


def _faults(binding: AnyBinding, said: Mapping[str, object], left_out: Collection[str]) -> Fields:
    try:
        request = binding.parse(binding.request.model_validate_json(to_json(said)))
        if (look := _LAST_LOOK.get(binding.operation.name)) is not None:
            look(request, left_out)
    except ValidationError as error:
        return field_paths(error, of=binding.request)
    except InvalidParamsError as error:
        return tuple(error.fields)
    return ()


def _member(place: str) -> str:
    return place.partition(".")[0].partition("[")[0]


def _spellings(request: type[WireModel], members: set[str]) -> frozenset[str]:
    """List every name under which a reader takes some members: what is left out under one must not come back under another."""
    names = frozenset(members)
    for name, field in request.model_fields.items():
        others = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.validation_alias]
        known = frozenset(each for each in (name, field.alias, *others) if isinstance(each, str))
        if not known.isdisjoint(names):
            names |= known
    return names
