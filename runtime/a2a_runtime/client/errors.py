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
from a2a_contract.json_types import is_list, is_object
from a2a_contract.jsonrpc import Refusal, refusal
from a2a_contract.operations import CANCEL_TASK, GET_EXTENDED_AGENT_CARD, LIST_TASKS


class A2AClientError(Exception):
    """The root: why there is no answer of the agent."""


class DiscoveryError(A2AClientError):
    """There is no telling how to talk to the agent; give its address with ``ClientOptions(at=...)`` if you know it."""


class CardNotFoundError(DiscoveryError):
    """There is no card where cards are found; check the URL, or give the URL of the card itself."""


class CardUnreadableError(DiscoveryError):
    """There is something where the card should be, but it is no card; ask whoever runs the agent."""


class NoProofError(DiscoveryError):
    """The card asks for schemes for which there is no proof; give one of those that the text names."""


class ForeignHostError(DiscoveryError):
    """The card leads to a host that may not see our secrets; name it in ``ClientOptions(hosts=...)`` if it is the agent's."""


class TokenError(A2AClientError):
    """The authorization server gives no token; the text says why, and no secret."""


class NoInterfaceError(DiscoveryError):
    """The card lists no address of a version and binding that this client may use; loosen the pins, or ask for another interface."""


class LineError(A2AClientError, ConnectionError):
    """The connection to the agent failed."""


class UnreachableError(LineError):
    """No connection could be made, so nothing was sent; check the URL and that the agent runs, and try again."""


class SilenceError(LineError, TimeoutError):
    """The agent did not answer in time, and may still be at it; raise the timeout, stream, or send with ``wait=False`` and ask later."""


class LostError(LineError):
    """The connection broke before the answer was whole; what was asked may have been done."""


class StreamLostError(LostError):
    """A stream broke and could not be taken up again; ``task_id`` and ``cursor`` say where, for ``subscribe`` or ``get`` later."""

    def __init__(self, message: str, *, task_id: str | None = None, cursor: str | None = None) -> None:
        super().__init__(message)
        self.task_id, self.cursor = task_id, cursor


class ClosedError(LineError):
    """The client was closed; make a new one."""


class AnswerError(A2AClientError):
    """The agent, or something before it, answered what is not of this protocol; check that the URL is that of an agent."""


class UnreadableAnswerError(AnswerError):
    """The body of an answer is not what the agent's dialect says; ``excerpt`` is how it begins."""

    def __init__(self, message: str, excerpt: str = "") -> None:
        super().__init__(f"{message}: {excerpt!r}" if excerpt else message)
        self.excerpt = excerpt


class OversizeAnswerError(AnswerError):
    """An answer, or one line of a stream, is larger than ``Limits`` allow; raise them if you trust the agent."""


class StatusError(AnswerError):
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
