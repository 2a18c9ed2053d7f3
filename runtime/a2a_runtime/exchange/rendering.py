"""How an error looks on the wire: one function from an error, a dialect and a binding to a status, headers and a body.

error_body   JSON-RPC                                               HTTP+JSON
status       {"code", "message", "data": [google.protobuf.Any]}     {"error": {"code", "status", "message", "details": [Any]}}
jsonrpc      {"code", "message", "data": {reason, details, fields}} the same, without an envelope
bare         {"code", "message", "data": {fields}}                   the same, without an envelope; what is no call has no data
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from a2a_contract.calls import NO_ID, CallId
from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import DOMAIN, ERRORS, A2AError, EnvelopeError, ErrorRow, MethodNotAllowedError
from a2a_runtime.auth.gate import ChallengeError, ScopeError
from a2a_runtime.auth.rates import TooOftenError
from a2a_runtime.exchange.failure import row_class
from a2a_runtime.service.call import BindingKind

_ANY = "type.googleapis.com/google.rpc."
_FIELDS = 100
"""How many wrong places an answer names at most: a request can have millions."""
_LENGTH = 1000
"""How long one text about them may be: it can hold names that the client chose."""


class Shown(NamedTuple):
    """An error as it is sent."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def show(error: A2AError, dialect: str, binding: BindingKind, call_id: CallId = NO_ID) -> Shown:
    """Write an error as a dialect shows it over a binding."""
    row = ERRORS[row_class(type(error))].in_dialect(dialect)
    if binding is BindingKind.JSONRPC:
        shown = b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (call_id, to_json(_jsonrpc(error, row, dialect)))
        return Shown(row.jsonrpc_status, shown, tuple(_headers(error)))
    body = _status(error, row) if _is_status(dialect) else _jsonrpc(error, row, dialect)
    return Shown(row.http, to_json(body), tuple(_headers(error)))


def _headers(error: A2AError) -> list[tuple[bytes, bytes]]:
    if isinstance(error, ChallengeError | ScopeError):
        return [(b"www-authenticate", error.challenge.encode("latin-1", "replace"))]
    if isinstance(error, TooOftenError):
        return [(b"retry-after", str(error.after).encode())]
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
