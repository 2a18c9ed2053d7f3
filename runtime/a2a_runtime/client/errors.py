"""Errors between a client and an agent, and the mapping of errors on the wire to exceptions.

An agent that understood the request and rejects it raises one of the contract's errors
(``a2a_contract.errors``). All other failures:

    A2AClientError
     ├─ DiscoveryError               no usable card or interface
     │   ├─ CardNotFoundError        no card at any of the URLs
     │   ├─ InvalidCardError         the document is not a card
     │   ├─ CardNotTrustedError      no signature by a trusted key (``client.signatures``)
     │   ├─ MissingCredentialsError  the card requires credentials that were not given
     │   ├─ UntrustedOriginError     the card leads to another origin, which would get credentials
     │   └─ NoInterfaceError         the card lists no interface that this client can use
     ├─ TokenError                   an authorization server returned no token
     ├─ TransportError               the connection; also a ConnectionError
     │   ├─ ConnectError             not connected: nothing was sent
     │   ├─ ResponseTimeoutError     no response in time; also a TimeoutError
     │   ├─ ConnectionLostError      broken before the response was complete
     │   │   └─ StreamLostError      a stream broke and could not be resumed
     │   └─ ClosedError              the client was closed
     └─ ResponseError                a response, but not of this protocol
         ├─ InvalidResponseError     the body cannot be parsed
         ├─ ResponseTooLargeError    larger than ``ResponseLimits`` allow
         └─ UnexpectedStatusError    an HTTP status without a meaning in the protocol
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic.alias_generators import to_snake
from pydantic_core import from_json, to_json

from a2a_contract import errors
from a2a_contract.binding import Operation
from a2a_contract.errors import ERRORS, A2AError
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.jsonrpc import ErrorObject, parse_error_object
from a2a_contract.operations import CANCEL_TASK, GET_EXTENDED_AGENT_CARD, LIST_TASKS


class A2AClientError(Exception):
    """The root: the agent gave no usable response."""


class DiscoveryError(A2AClientError):
    """The agent's interface is unknown; pass its URL as ``ClientOptions(interface_url=...)`` if you
    know it.
    """

    status: int | None = None
    """HTTP status of the response without a card, if there was one."""


class CardNotFoundError(DiscoveryError):
    """No card at the URLs where cards are published; check the URL, or pass the URL of the card
    itself.
    """


class InvalidCardError(DiscoveryError):
    """The document at the card's URL is not a card; report it to the operator of the agent."""


class MissingCredentialsError(DiscoveryError):
    """The card requires security schemes without credentials; pass credentials for one of those in
    the text.
    """


class UntrustedOriginError(DiscoveryError):
    """The card leads to an origin that may not receive credentials; add it to
    ``ClientOptions(trusted_origins=...)`` if it belongs to the agent.
    """


class TokenError(A2AClientError):
    """The authorization server returned no token; the text has the reason, and no secret."""


class NoInterfaceError(DiscoveryError):
    """The card lists no interface of a version and binding that this client may use; loosen the
    pin.
    """


class TransportError(A2AClientError, ConnectionError):
    """The connection to the agent failed."""


class ConnectError(TransportError):
    """No connection could be opened, so nothing was sent; check the URL and that the agent runs,
    then retry.
    """


class ResponseTimeoutError(TransportError, TimeoutError):
    """No response in time; the agent may still work on it.

    Raise the timeout, stream, or send with ``wait=False`` and poll.
    """


class ConnectionLostError(TransportError):
    """The connection broke before the response was complete; the request may have been
    processed.
    """


class StreamLostError(ConnectionLostError):
    """A stream broke and could not be resumed; ``task_id`` and ``cursor`` allow a later
    ``subscribe`` or ``get``.
    """

    def __init__(
        self, message: str, *, task_id: str | None = None, cursor: str | None = None
    ) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.cursor = cursor


class ClosedError(TransportError):
    """The client was closed; create a new one."""


class ResponseError(A2AClientError):
    """The response is not one of this protocol; check that the URL is that of an agent."""

    def __init__(self, message: str, excerpt: str = "") -> None:
        if excerpt:
            message = f"{message}: {excerpt!r}"
        super().__init__(message)
        self.excerpt = excerpt


class InvalidResponseError(ResponseError):
    """The body of a response does not match the agent's dialect; ``excerpt`` is its beginning."""


class ResponseTooLargeError(ResponseError):
    """A response, or one event of a stream, exceeds ``ResponseLimits``; raise them if you trust the
    agent.
    """


class UnexpectedStatusError(ResponseError):
    """An HTTP ``status`` without a meaning in the protocol, often of a proxy; ``excerpt`` is the
    beginning of the body.
    """

    def __init__(self, status: int, message: str, excerpt: str = "") -> None:
        super().__init__(message, excerpt)
        self.status = status


# Wire errors to exceptions: the reason decides, then the code, then the HTTP status. Agents write
# errors in many shapes; missing parts are derived from the rest. A response without a JSON object
# is not from an agent: its status counts only if it means the same for every HTTP server.

_EXCERPT_BYTES = 200
_NO_REASON = "The agent rejects the request without a reason"

# The statuses of errors that are more than an error object: authentication, limits, availability.
# Any web server sends 405 and 408.
_COMMON_STATUSES = (HTTPStatus.OK, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.REQUEST_TIMEOUT)
_TRANSPORT_STATUSES: Mapping[int, type[A2AError]] = {
    row.jsonrpc_status: error
    for error, row in reversed([*ERRORS.items()])
    if row.jsonrpc_status not in _COMMON_STATUSES
}
_AGENT_STATUSES: Mapping[int, type[A2AError]] = {
    **{
        row.http: error
        for error, row in reversed([*ERRORS.items()])
        if row.http not in {HTTPStatus.CONFLICT, HTTPStatus.BAD_GATEWAY}
    },
    HTTPStatus.BAD_REQUEST: errors.InvalidRequestError,
    HTTPStatus.UNPROCESSABLE_ENTITY: errors.InvalidParamsError,
    HTTPStatus.NOT_IMPLEMENTED: errors.UnsupportedOperationError,
}


def _build_reasons() -> Mapping[str, type[A2AError]]:
    """List errors by the contract's reasons, and by their names as peers write them where the
    contract has no reason.
    """
    found: dict[str, type[A2AError]] = {}
    for error, row in ERRORS.items():
        name = to_snake(error.__name__).upper()
        found.update({name: error, name.removesuffix("_ERROR"): error})
        if row.reason:
            found[row.reason] = error
    return found


_REASONS = _build_reasons()


def _find_error(dialect: str, reason: str | None, code: int | None) -> type[A2AError] | None:
    """Find an error by reason, else by code; of those that share a code, the first one needs no
    reason.
    """
    return _REASONS.get(reason or "") or next(
        (error for error, row in ERRORS.items() if row.in_dialect(dialect).code == (code or 0)),
        None,
    )


def error_from_jsonrpc(dialect: str, error: ErrorObject, status: int = HTTPStatus.OK) -> A2AError:
    """Build the exception of a JSON-RPC error object."""
    details, fields, reason = _parse_details(error.data)
    kind = _find_error(dialect, reason, error.code) or _AGENT_STATUSES.get(status, A2AError)
    if kind is A2AError and error.code is not None:
        details = {**details, "code": str(error.code)}
    default = _NO_REASON if kind is A2AError else ""
    return kind(error.message or default, details=details, fields=fields)


def error_from_http(
    dialect: str, operation: Operation, status: int, body: bytes, *, has_task: bool = True
) -> Exception:
    """Build the exception of an HTTP error response, whatever its body is; a bare 404 to a request
    about no task is that of a web framework.
    """
    try:
        document: object = from_json(body)
    except ValueError:
        document = None
    if not is_json_object(document):
        known = _TRANSPORT_STATUSES.get(status)
        if known:
            return known()
        return UnexpectedStatusError(
            status,
            f"Unexpected HTTP status {status}",
            body[:_EXCERPT_BYTES].decode("utf-8", "replace"),
        )
    inner = document.get("error")
    error = inner if is_json_object(inner) else document
    parsed = parse_error_object(error)
    details, fields, reason = _parse_details(error.get("details", error.get("data")))
    known = _find_error(dialect, reason, parsed.code)
    if known is None and status == HTTPStatus.NOT_FOUND and not has_task:
        return UnexpectedStatusError(
            status,
            f"Unexpected HTTP status {status}",
            body[:_EXCERPT_BYTES].decode("utf-8", "replace"),
        )
    kind = known or _select_by_status(operation, status, has_fields=bool(fields))
    return kind(parsed.message or _find_text(document), details=details, fields=fields)


def _select_by_status(operation: Operation, status: int, *, has_fields: bool) -> type[A2AError]:
    """Choose by operation and field errors where a status has several meanings."""
    match status:
        case HTTPStatus.BAD_REQUEST if has_fields:
            return errors.InvalidParamsError
        case HTTPStatus.NOT_FOUND if operation.name == GET_EXTENDED_AGENT_CARD.name:
            return errors.ExtendedAgentCardNotConfiguredError
        case HTTPStatus.NOT_FOUND if operation.name != LIST_TASKS.name:
            return errors.TaskNotFoundError
        case HTTPStatus.CONFLICT if operation.name == CANCEL_TASK.name:
            return errors.TaskNotCancelableError
        case _:
            return _AGENT_STATUSES.get(status, A2AError)


def _find_text(error: Mapping[str, object]) -> str:
    """Find a message in one of the members where frameworks write it."""
    for name in ("message", "detail", "error", "title"):
        text = error.get(name)
        if isinstance(text, str):
            return text
    return ""


def _parse_details(data: object) -> tuple[dict[str, str], tuple[tuple[str, str], ...], str | None]:
    """Read details, field errors and the reason from a list of typed details, or from one free
    object.
    """
    details: dict[str, str] = {}
    fields: list[tuple[str, str]] = []
    reason: str | None = None
    listed = data if is_json_array(data) else [data]
    for each in listed:
        if not is_json_object(each):
            if each is not None:
                details["data"] = _to_text(each)
            continue
        given = each.get("reason")
        reason = reason or (given if isinstance(given, str) else None)
        fields += _parse_fields(each.get("fieldViolations")) + _parse_fields(each.get("fields"))
        if is_json_array(data):
            metadata = each.get("metadata")
        else:
            metadata = {**each}
            metadata.pop("reason", None)
            metadata.pop("fields", None)
        if is_json_object(metadata):
            details.update((to_snake(name), _to_text(value)) for name, value in metadata.items())
    return details, tuple(fields), reason


def _parse_fields(values: object) -> list[tuple[str, str]]:
    if not is_json_array(values):
        return []
    found = [each for each in values if is_json_object(each)]
    return [
        (_to_text(each.get("field", "")), _to_text(each.get("description", ""))) for each in found
    ]


def _to_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return to_json(value).decode()
