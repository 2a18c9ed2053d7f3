"""What can go wrong between a client and an agent, beside what the agent itself says is wrong.

An agent that understood the request and refuses it raises one of the contract's errors (``a2a_contract.errors``). These are for everything else:

    A2AClientError
     ├─ DiscoveryError               there is no telling how to talk to the agent
     │   ├─ CardNotFoundError        no card where cards are
     │   ├─ CardUnreadableError      what is there is no card
     │   ├─ CardNotTrustedError      nobody who is trusted has signed it (``client.signatures``)
     │   ├─ NoProofError             it asks for proofs that were not given
     │   ├─ ForeignHostError         its card leads to another host, which would be told our secrets
     │   └─ NoInterfaceError         the card lists no address that this client can use
     ├─ TokenError                   an authorization server gives no token
     ├─ LineError                    the connection; also a ConnectionError
     │   ├─ UnreachableError         nobody was reached: nothing was sent
     │   ├─ SilenceError             no answer in time; also a TimeoutError
     │   ├─ LostError                broken before the answer was whole
     │   │   └─ StreamLostError      a stream broke and could not be taken up again
     │   └─ ClosedError              the client was closed
     └─ AnswerError                  there is an answer, but not of this protocol
         ├─ UnreadableAnswerError    its body cannot be read
         ├─ OversizeAnswerError      it is larger than the client takes
         └─ StatusError              an HTTP status that says nothing in the protocol
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from pydantic.alias_generators import to_snake
from pydantic_core import from_json, to_json

from a2a_contract.binding import Operation
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
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.jsonrpc import ErrorObject, parse_error_object
from a2a_contract.operations import CANCEL_TASK, GET_EXTENDED_AGENT_CARD, LIST_TASKS


class A2AClientError(Exception):
    """The root: why there is no answer of the agent."""


class DiscoveryError(A2AClientError):
    """There is no telling how to talk to the agent; give its address with ``ClientOptions(at=...)`` if you know it."""


class CardNotFoundError(DiscoveryError):
    """There is no card where cards are found; check the URL, or give the URL of the card itself."""


class InvalidCardError(DiscoveryError):
    """There is something where the card should be, but it is no card; ask whoever runs the agent."""


class MissingCredentialsError(DiscoveryError):
    """The card asks for schemes for which there is no proof; give one of those that the text names."""


class UntrustedHostError(DiscoveryError):
    """The card leads to a host that may not see our secrets; name it in ``ClientOptions(hosts=...)`` if it is the agent's."""


class TokenError(A2AClientError):
    """The authorization server gives no token; the text says why, and no secret."""


class NoInterfaceError(DiscoveryError):
    """The card lists no address of a version and binding that this client may use; loosen the pins, or ask for another interface."""


class TransportError(A2AClientError, ConnectionError):
    """The connection to the agent failed."""


class ConnectError(TransportError):
    """No connection could be made, so nothing was sent; check the URL and that the agent runs, and try again."""


class ResponseTimeoutError(TransportError, TimeoutError):
    """The agent did not answer in time, and may still be at it; raise the timeout, stream, or send with ``wait=False`` and ask later."""


class ConnectionLostError(TransportError):
    """The connection broke before the answer was whole; what was asked may have been done."""


class StreamLostError(ConnectionLostError):
    """A stream broke and could not be taken up again; ``task_id`` and ``cursor`` say where, for ``subscribe`` or ``get`` later."""

    def __init__(self, message: str, *, task_id: str | None = None, cursor: str | None = None) -> None:
        super().__init__(message)
        self.task_id, self.cursor = task_id, cursor


class ClosedError(TransportError):
    """The client was closed; make a new one."""


class ResponseError(A2AClientError):
    """The agent, or something before it, answered what is not of this protocol; check that the URL is that of an agent."""


class InvalidResponseError(ResponseError):
    """The body of an answer is not what the agent's dialect says; ``excerpt`` is how it begins."""

    def __init__(self, message: str, excerpt: str = "") -> None:
        super().__init__(f"{message}: {excerpt!r}" if excerpt else message)
        self.excerpt = excerpt


class ResponseTooLargeError(ResponseError):
    """An answer, or one line of a stream, is larger than ``Limits`` allow; raise them if you trust the agent."""


class UnexpectedStatusError(ResponseError):
    """An HTTP status without a meaning in the protocol, from a proxy perhaps; ``status`` is it, and ``excerpt`` how its body begins."""

    def __init__(self, status: int, message: str, excerpt: str = "") -> None:
        super().__init__(f"{message}: {excerpt!r}" if excerpt else message)
        self.status, self.excerpt = status, excerpt


# What an agent's refusal stands for: one function from the wire to the contract's errors for each binding.
#
# The reason says it best, then the code, then the HTTP status. Agents write errors in many shapes; whatever a shape lacks is made up from the rest,
# but
# a status of something that is no agent never becomes an answer of one.
#

_EXCERPT_BYTES = 200
_NO_REASON = "The agent refuses, and does not say why"

# What a status means whoever sends it.
_PROXY_STATUSES: Mapping[int, type[A2AError]] = {
    HTTPStatus.UNAUTHORIZED: UnauthenticatedError,
    HTTPStatus.FORBIDDEN: PermissionDeniedError,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: PayloadTooLargeError,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimitedError,
    HTTPStatus.SERVICE_UNAVAILABLE: UnavailableError,
}
# What it means where an agent sends it, with a body of JSON that says no more.
_AGENT_STATUSES: Mapping[int, type[A2AError]] = {
    **_PROXY_STATUSES,
    HTTPStatus.BAD_REQUEST: InvalidRequestError,
    HTTPStatus.NOT_FOUND: MethodNotFoundError,
    HTTPStatus.METHOD_NOT_ALLOWED: MethodNotAllowedError,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ContentTypeNotSupportedError,
    HTTPStatus.UNPROCESSABLE_ENTITY: InvalidParamsError,
    HTTPStatus.INTERNAL_SERVER_ERROR: InternalError,
    HTTPStatus.NOT_IMPLEMENTED: UnsupportedOperationError,
}


def _build_reasons() -> Mapping[str, type[A2AError]]:
    """List the words for errors: the contract's reasons, and the names of the errors as peers write them where the contract has no reason."""
    found: dict[str, type[A2AError]] = {}
    for error, row in ERRORS.items():
        name = to_snake(error.__name__).upper()
        found.update({name: error, name.removesuffix("_ERROR"): error})
        found.update({row.reason: error} if row.reason else {})
    return found


def _build_codes(dialect: str) -> Mapping[int, type[A2AError]]:
    """List the errors by code; of those that share one, the first is the one that needs no reason."""
    return {row.in_dialect(dialect).code: error for error, row in reversed(list(ERRORS.items()))}


_REASONS = _build_reasons()


def error_from_jsonrpc(dialect: str, error: ErrorObject, status: int = HTTPStatus.OK) -> A2AError:
    """Make the error that a JSON-RPC answer tells of."""
    details, fields, reason = _parse_details(error.data)
    kind = _REASONS.get(reason or "") or _build_codes(dialect).get(error.code or 0) or _AGENT_STATUSES.get(status, A2AError)
    if kind is A2AError and error.code is not None:
        details = {**details, "code": str(error.code)}
    silent = _NO_REASON if kind is A2AError else ""
    return kind(error.message or silent, details=details, fields=fields)


def error_from_http(dialect: str, operation: Operation, status: int, body: bytes) -> Exception:
    """Make the error that an HTTP answer tells of, whatever its body is."""
    said = _parse_object(body)
    if said is None:
        known, excerpt = _PROXY_STATUSES.get(status), body[:_EXCERPT_BYTES].decode("utf-8", "replace")
        return known() if known else UnexpectedStatusError(status, f"The answer has HTTP status {status}", excerpt)
    inner = said.get("error")
    told = parse_error_object(inner if is_json_object(inner) else said)
    details, fields, reason = _parse_details(_get_data(inner if is_json_object(inner) else said))
    kind = _REASONS.get(reason or "") or _build_codes(dialect).get(told.code or 0) or _select_by_status(operation, status, has_fields=bool(fields))
    return kind(told.message or _find_text(said), details=details, fields=fields)


def _select_by_status(operation: Operation, status: int, *, has_fields: bool) -> type[A2AError]:
    """Choose by what was asked, and by what is said of it, where a status has several meanings."""
    if status == HTTPStatus.BAD_REQUEST and has_fields:
        return InvalidParamsError
    if status == HTTPStatus.NOT_FOUND and operation.name == GET_EXTENDED_AGENT_CARD.name:
        return ExtendedAgentCardNotConfiguredError
    if status == HTTPStatus.NOT_FOUND and operation.name != LIST_TASKS.name:
        return TaskNotFoundError
    if status == HTTPStatus.CONFLICT and operation.name == CANCEL_TASK.name:
        return TaskNotCancelableError
    return _AGENT_STATUSES.get(status, A2AError)


def _parse_object(body: bytes) -> dict[str, object] | None:
    try:
        said: object = from_json(body)
    except ValueError:
        return None
    return said if is_json_object(said) else None


def _find_text(error: Mapping[str, object]) -> str:
    """Find a text where frameworks write one."""
    return next((text for name in ("message", "detail", "error", "title") if isinstance(text := error.get(name), str)), "")


def _get_data(error: Mapping[str, object]) -> object:
    return error.get("details", error.get("data"))


def _parse_details(data: object) -> tuple[dict[str, str], tuple[tuple[str, str], ...], str | None]:
    """Read the facts, the wrong places and the reason out of a list of typed details, or of one free object."""
    details: dict[str, str] = {}
    fields: list[tuple[str, str]] = []
    reason: str | None = None
    for each in data if is_json_array(data) else [data]:
        if not is_json_object(each):
            details.update({"data": _to_text(each)} if each is not None else {})
            continue
        reason = reason or _to_text_or_none(each.get("reason"))
        fields += _parse_fields(each.get("fieldViolations")) + _parse_fields(each.get("fields"))
        metadata = each.get("metadata") if is_json_array(data) else {name: value for name, value in each.items() if name not in ("reason", "fields")}
        details.update({to_snake(name): _to_text(value) for name, value in metadata.items()} if is_json_object(metadata) else {})
    return details, tuple(fields), reason


def _parse_fields(values: object) -> list[tuple[str, str]]:
    found = [each for each in values if is_json_object(each)] if is_json_array(values) else []
    return [(_to_text(each.get("field", "")), _to_text(each.get("description", ""))) for each in found]


def _to_text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
