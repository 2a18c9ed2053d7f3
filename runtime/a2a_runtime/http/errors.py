"""Errors of a request: from an exception to an error of the contract, to a response.

An exception that the protocol has no error for is an internal error: its text is fixed, and the
exception is logged. So are errors of the runtime that are written for the operator (a store that is
unavailable names its address).

``error_body`` of a dialect decides how an error looks:

    error_body              document
    status     JSON-RPC     {"code", "message", "data": [google.protobuf.Any]}
               HTTP+JSON    {"error": {"code", "status", "message", "details": [Any]}}
    jsonrpc    JSON-RPC     {"code", "message", "data": {reason, details, fields}}
               HTTP+JSON    the same, without an envelope
    bare       JSON-RPC     {"code", "message", "data": {fields}}
               HTTP+JSON    the same, without an envelope; no data if the request is not a call
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
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
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    NotACallError,
    ParseError,
    UnauthenticatedError,
    UnavailableError,
)
from a2a_contract.field_paths import MAX_FIELD_ERRORS, MAX_LISTED_FIELDS, field_paths
from a2a_contract.jsonrpc import NO_ID, CallId, CallProblem, InvalidCallError
from a2a_contract.operations import LIST_TASKS
from a2a_contract.rows import ErrorRow
from a2a_runtime.auth.gate import InsufficientScopeError
from a2a_runtime.auth.rate_limit import TooManyRequestsError
from a2a_runtime.errors import HasErrorData
from a2a_runtime.ports.wire_variant import WireVariant
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.service.tasks import parse_task_query

log = logging.getLogger(__name__)

Fields: TypeAlias = tuple[tuple[str, str], ...]
"""Field errors: the path of a field, and a text."""

_NOT_JSON = "json_invalid"  # an error type of Pydantic
_METHOD = "method"
_TYPE_PREFIX = "type.googleapis.com/google.rpc."
_MAX_TEXT_CHARS = 1000
"""Length of a path or text in a field error: it can hold names that the client chose."""
_CALL_ERRORS: dict[CallProblem, type[A2AError]] = {
    CallProblem.NOT_JSON: ParseError,
    CallProblem.NOT_AN_OBJECT: NotACallError,
    CallProblem.NOT_A_CALL: InvalidRequestError,
    CallProblem.UNKNOWN_METHOD: MethodNotFoundError,
    CallProblem.WRONG_PARAMS: InvalidParamsError,
}


def to_protocol_error(error: Exception) -> A2AError:
    """Convert an exception to the error that the client sees; details for the operator are
    logged.
    """
    match error:
        case A2AError():
            return _hide_details(error)
        case InvalidCallError():
            return _CALL_ERRORS[error.problem](fields=error.fields, details=_call_details(error))
        case ValidationError():
            return to_validation_error(error)
        case _:
            log.error("request failed", exc_info=error)
            return InternalError()


def name_outcome(error: type[A2AError] | None) -> str:
    """Name the outcome of a request: ``ok``, or the reason of its error."""
    if error is None:
        return "ok"
    return ERRORS[find_row_class(error)].reason or error.__name__


def _call_details(error: InvalidCallError) -> dict[str, str]:
    """Name the unknown method or the first missing member: the mesh dialect has texts of its own
    for them.
    """
    if error.problem is CallProblem.UNKNOWN_METHOD and error.method is not None:
        return {_METHOD: error.method}
    if error.problem is CallProblem.NOT_A_CALL and error.method is None:
        return {"member": _METHOD}
    members = [path for path, _ in error.fields if path.isidentifier()]
    if members and error.method is not None:
        return {_METHOD: error.method, "member": members[0]}
    return {}


def find_row_class(error: type[A2AError]) -> type[A2AError]:
    """Find the class in the error table that an error class is, or is derived from."""
    return next(each for each in error.__mro__ if each in ERRORS)


def _hide_details(error: A2AError) -> A2AError:
    kind = find_row_class(type(error))
    if not issubclass(kind, InternalError | UnavailableError):
        return error
    if issubclass(kind, InternalError):
        log.error("request failed", exc_info=error)
    else:  # a store logs its outage once, not for each request
        log.debug("request refused: %s", error)
    if type(error) is kind:
        return error
    return kind()


def to_validation_error(error: ValidationError, request: type[WireModel] | None = None) -> A2AError:
    """Convert validation errors to field errors, or to a parse error."""
    if error.error_count() > MAX_FIELD_ERRORS:
        return InvalidParamsError(fields=field_paths(error))
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if found and found[0]["type"] == _NOT_JSON:
        return ParseError(fields=field_paths(error))
    return InvalidParamsError(fields=field_paths(error, of=request))


class ErrorResponse(NamedTuple):
    """An error as it is sent."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def render_error(
    error: A2AError,
    dialect: str,
    binding: ProtocolBinding,
    call_id: CallId = NO_ID,
    variants: Sequence[WireVariant] = (),
) -> ErrorResponse:
    """Render an error as in a dialect, over a binding, with the statuses of variants."""
    row = ERRORS[find_row_class(type(error))].in_dialect(dialect)
    if binding is ProtocolBinding.JSONRPC:
        body = b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (
            call_id,
            to_json(_error_object(error, row, dialect)),
        )
        return ErrorResponse(row.jsonrpc_status, body, _headers(error))
    if _is_status(dialect):
        status = {
            "code": row.http,
            "status": _select_status(error, row, variants),
            "message": row.text(error),
            "details": _status_details(error, row),
        }
        return ErrorResponse(row.http, to_json({"error": status}), _headers(error))
    return ErrorResponse(row.http, to_json(_error_object(error, row, dialect)), _headers(error))


class ErrorStatus(NamedTuple):
    """An error as a google.rpc.Status, with the headers that belong to it."""

    code: str
    message: str
    details: list[Mapping[str, object]]
    headers: tuple[tuple[bytes, bytes], ...]


def render_status(
    error: A2AError, dialect: str, variants: Sequence[WireVariant] = ()
) -> ErrorStatus:
    """Render an error as over gRPC.

    Clients of dialects without typed details find the name of the error at the beginning of its
    text.
    """
    kind = find_row_class(type(error))
    row = ERRORS[kind].in_dialect(dialect)
    status = row.grpc
    text = row.text(error)
    if _is_status(dialect):
        status = _select_status(error, row, variants)
    else:
        text = f"{kind.__name__}: {text}"
    return ErrorStatus(status, text, _status_details(error, row), _headers(error))


def _select_status(error: A2AError, row: ErrorRow, variants: Sequence[WireVariant]) -> str:
    """Select the gRPC status of an error, which a variant may have otherwise."""
    status = row.grpc
    for variant in variants:
        status = variant.select_status(error, status)
    return status


def _headers(error: A2AError) -> tuple[tuple[bytes, bytes], ...]:
    match error:
        case UnauthenticatedError() | InsufficientScopeError():
            # A gate of the user may know no challenge.
            challenge = getattr(error, "challenge", "") or "Bearer"
            return ((b"www-authenticate", challenge.encode("latin-1", "replace")),)
        case TooManyRequestsError():
            return ((b"retry-after", str(error.retry_after_seconds).encode()),)
        case MethodNotAllowedError():
            return ((b"allow", error.details.get("allow", "").encode("latin-1", "replace")),)
        case _:
            return ()


def _is_status(dialect: str) -> bool:
    return DIALECTS[dialect].error_body == "status"


def _error_object(error: A2AError, row: ErrorRow, dialect: str) -> Mapping[str, object]:
    data: object
    if _is_status(dialect):
        data = _status_details(error, row)
    else:
        data = _plain_data(error, row, is_bare=DIALECTS[dialect].error_body == "bare")
    written: dict[str, object] = {"code": row.code, "message": row.text(error)}
    if data:
        written["data"] = data
    return written


def _status_details(error: A2AError, row: ErrorRow) -> list[Mapping[str, object]]:
    details: list[Mapping[str, object]] = []
    if row.reason is not None:
        info: dict[str, object] = {
            "@type": _TYPE_PREFIX + "ErrorInfo",
            "reason": row.reason,
            "domain": DOMAIN,
        }
        if error.details:
            info["metadata"] = _details(error)
        details.append(info)
    if error.fields:
        details.append(
            {"@type": _TYPE_PREFIX + "BadRequest", "fieldViolations": _field_errors(error)}
        )
    return details


def _plain_data(error: A2AError, row: ErrorRow, *, is_bare: bool) -> Mapping[str, object]:
    fields: dict[str, object] = {"fields": _field_errors(error)} if error.fields else {}
    if is_bare:
        if isinstance(error, EnvelopeError):
            return {}
        return fields
    further: Mapping[str, object] = error.data if isinstance(error, HasErrorData) else {}
    return {
        **({} if row.reason is None else {"reason": row.reason}),
        **_details(error),
        **fields,
        **further,
    }


def _details(error: A2AError) -> dict[str, str]:
    return {to_camel(name): text[:_MAX_TEXT_CHARS] for name, text in error.details.items()}


def _field_errors(error: A2AError) -> list[Mapping[str, str]]:
    return [
        {"field": path[:_MAX_TEXT_CHARS], "description": text[:_MAX_TEXT_CHARS]}
        for path, text in error.fields[:MAX_LISTED_FIELDS]
    ]


_CROSS_FIELD_CHECKS: Mapping[str, Callable[[Any, Collection[str]], object]] = {
    LIST_TASKS.name: parse_task_query
}
"""Checks of members against each other in canonical requests, by operation; the second argument
names the members that were left out.
"""


def collect_field_errors(
    binding: AnyBinding, members: Mapping[str, object], found: Fields
) -> Fields:
    """Collect all field errors of a request, beginning with those that were found.

    Wrong types, missing members and checks between members each hide the next kind. So the request
    is parsed again without the members that are wrong, until no new error is found. Only invalid
    requests pay for it.
    """
    left_out: frozenset[str] = frozenset()
    new = found
    while new and len(found) <= MAX_FIELD_ERRORS:
        left_out |= _all_names(binding.request, {_top_member(path) for path, _ in new})
        rest = {name: value for name, value in members.items() if name not in left_out}
        # A member that was left out is missing now, which is no error of the request.
        new = tuple(
            (path, text)
            for path, text in _find_field_errors(binding, rest, left_out)
            if _top_member(path) not in left_out
        )
        found += new
    return found


def _find_field_errors(
    binding: AnyBinding, members: Mapping[str, object], left_out: Collection[str]
) -> Fields:
    try:
        request = binding.parse(binding.request.model_validate_json(to_json(members)))
        if (check := _CROSS_FIELD_CHECKS.get(binding.operation.name)) is not None:
            check(request, left_out)
    except ValidationError as error:
        return field_paths(error, of=binding.request)
    except InvalidParamsError as error:
        return tuple(error.fields)
    return ()


def _top_member(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]


def _all_names(request: type[WireModel], members: set[str]) -> frozenset[str]:
    """Add the aliases of members: a member that is left out under one name must not come back under
    another.
    """
    names = frozenset(members)
    for name, field in request.model_fields.items():
        others: Sequence[object] = [field.validation_alias]
        if isinstance(field.validation_alias, AliasChoices):
            others = field.validation_alias.choices
        known = frozenset(each for each in (name, field.alias, *others) if isinstance(each, str))
        if not known.isdisjoint(names):
            names |= known
    return names
