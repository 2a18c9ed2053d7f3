"""Exceptions for the error responses of an agent."""

from __future__ import annotations

import pytest
from pydantic_core import from_json, to_json

from a2a_contract.binding import Operation
from a2a_contract.dialects import DIALECTS, Dialect
from a2a_contract.errors import (
    ERRORS,
    A2AError,
    EnvelopeError,
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
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
from a2a_contract.jsonrpc import ErrorObject, parse_error_object
from a2a_contract.operations import (
    CANCEL_TASK,
    GET_EXTENDED_AGENT_CARD,
    GET_TASK,
    LIST_TASKS,
    SEND_MESSAGE,
)
from a2a_runtime.client.errors import UnexpectedStatusError, error_from_http, error_from_jsonrpc
from a2a_runtime.http.errors import render_error
from a2a_runtime.service.context import ProtocolBinding

EVERY = [(error, dialect) for error in ERRORS for dialect in DIALECTS.values()]
BARE = "bare"
"""The shape of errors that say neither a reason nor details."""


def ours(kind: type[A2AError]) -> A2AError:
    """Make an error that has everything."""
    return kind(
        "what happened", details={"task_id": "t-1"}, fields=(("message.parts", "is empty"),)
    )


def is_equivalent(back: Exception, kind: type[A2AError], dialect: Dialect) -> bool:
    """Return whether an error came back as itself, or as an error that is equal on the wire in a
    dialect without reasons.
    """
    row = ERRORS[kind].in_dialect(dialect.name)
    says_why = row.reason is not None and dialect.error_body != BARE
    return type(back) is kind or (
        not says_why
        and isinstance(back, A2AError)
        and ERRORS[type(back)].in_dialect(dialect.name).code == row.code
    )


@pytest.mark.parametrize(
    ("kind", "dialect"), EVERY, ids=[f"{error.__name__}-{dialect.name}" for error, dialect in EVERY]
)
def test_every_error_survives_jsonrpc(kind: type[A2AError], dialect: Dialect) -> None:
    """The client reads the error that the server writes, in every dialect; without a reason it may
    be another error of the same code.
    """
    response = render_error(ours(kind), dialect.name, ProtocolBinding.JSONRPC)
    back = error_from_jsonrpc(
        dialect.name, parse_error_object(from_json(response.body)["error"]), response.status
    )
    assert is_equivalent(back, kind, dialect)
    says_where = dialect.error_body != BARE or not issubclass(kind, EnvelopeError)
    assert back.fields == ((("message.parts", "is empty"),) if says_where else ())
    if dialect.error_body == "jsonrpc" or (
        ERRORS[kind].reason is not None and dialect.error_body != BARE
    ):
        assert back.details["task_id"] == "t-1"


OVER_HTTP = [(error, dialect) for error, dialect in EVERY if dialect.http_prefixes]


@pytest.mark.parametrize(
    ("kind", "dialect"),
    OVER_HTTP,
    ids=[f"{error.__name__}-{dialect.name}" for error, dialect in OVER_HTTP],
)
def test_every_error_survives_http(kind: type[A2AError], dialect: Dialect) -> None:
    """Without a reason in the body, status and operation determine the error."""
    response = render_error(ours(kind), dialect.name, ProtocolBinding.HTTP)
    back = error_from_http(dialect.name, GET_TASK, response.status, response.body)
    assert isinstance(back, A2AError)
    if ERRORS[kind].reason is not None or dialect.error_body == "jsonrpc":
        assert is_equivalent(back, kind, dialect)


PLAIN: dict[str, tuple[Operation, int, object, type[Exception]]] = {
    "0.3 SDK: unknown task": (GET_TASK, 404, {"message": "Task not found"}, TaskNotFoundError),
    "0.3 SDK: unknown task to cancel": (
        CANCEL_TASK,
        404,
        {"message": "Task not found"},
        TaskNotFoundError,
    ),
    "0.3 SDK: cannot be canceled": (CANCEL_TASK, 409, {"message": "no"}, TaskNotCancelableError),
    "0.3 SDK: wrong parameters": (GET_TASK, 422, {"message": "no"}, InvalidParamsError),
    "0.3 SDK: not offered": (GET_TASK, 501, {"message": "no"}, UnsupportedOperationError),
    "0.3 SDK: no extended card": (
        GET_EXTENDED_AGENT_CARD,
        404,
        {"message": "no"},
        ExtendedAgentCardNotConfiguredError,
    ),
    "no such path": (LIST_TASKS, 404, {"detail": "Not Found"}, MethodNotFoundError),
    "framework": (GET_TASK, 500, {"detail": "Internal Server Error"}, InternalError),
    "reason of another spelling": (
        GET_TASK,
        400,
        {"error": {"code": 400, "details": [{"reason": "INVALID_PARAMS"}]}},
        InvalidParamsError,
    ),
    "code in a body without an envelope": (
        GET_TASK,
        400,
        {"code": -32001, "message": "no"},
        TaskNotFoundError,
    ),
    "code in an envelope": (
        GET_TASK,
        200,
        {"jsonrpc": "2.0", "error": {"code": -32001, "message": "no"}},
        TaskNotFoundError,
    ),
    "strange status": (GET_TASK, 418, {"message": "teapot"}, A2AError),
    "gateway: 401": (GET_TASK, 401, "<html>", UnauthenticatedError),
    "gateway: 403": (GET_TASK, 403, "<html>", PermissionDeniedError),
    "gateway: 413": (GET_TASK, 413, "<html>", PayloadTooLargeError),
    "gateway: 429": (GET_TASK, 429, "", RateLimitedError),
    "gateway: 503": (GET_TASK, 503, "", UnavailableError),
    "gateway: 404": (GET_TASK, 404, "<html>", UnexpectedStatusError),
    "gateway: 500": (GET_TASK, 500, "<html>", UnexpectedStatusError),
    "gateway: 502": (GET_TASK, 502, "bad gateway", UnexpectedStatusError),
    "redirect": (GET_TASK, 302, "", UnexpectedStatusError),
    "a list": (GET_TASK, 400, [1], UnexpectedStatusError),
}


@pytest.mark.parametrize(("operation", "status", "body", "kind"), PLAIN.values(), ids=PLAIN.keys())
def test_plain_http_errors_are_understood(
    operation: Operation, status: int, body: object, kind: type[Exception]
) -> None:
    """Peers write errors in many shapes; what is no agent never speaks for one."""
    raw = body.encode() if isinstance(body, str) else to_json(body)
    assert type(error_from_http("v0_3_proto", operation, status, raw)) is kind


def test_texts_survive() -> None:
    """The agent's own words are what the caller reads."""
    assert str(error_from_jsonrpc("v0_3", ErrorObject(-32001, "Gone", "long ago"))) == "Gone"
    assert error_from_jsonrpc("v0_3", ErrorObject(-32001, "", "long ago")).details == {
        "data": "long ago"
    }
    assert str(error_from_http("v1_0", GET_TASK, 404, b'{"message": "Gone"}')) == "Gone"
    unknown = error_from_jsonrpc("v1_0", ErrorObject(-1, "Strange"))
    assert (type(unknown), str(unknown), unknown.details) == (A2AError, "Strange", {"code": "-1"})
    assert (
        str(error_from_jsonrpc("v1_0", parse_error_object({"code": "x", "message": 5})))
        == '{"code":"x","message":5}'
    )
    assert (
        str(error_from_jsonrpc("v1_0", parse_error_object({}), 599))
        == "The agent rejects the request without a reason"
    )
    assert "teapot" in str(error_from_http("v1_0", GET_TASK, 418, b"I am a teapot"))


def test_a_bare_404_is_about_a_task_only_where_there_is_one() -> None:
    """A web framework without the path says the same; a code or reason of the protocol counts all
    the same.
    """
    for body in (b'{"detail":"Not Found"}', b"<html>", b"{}"):
        error = error_from_http("v1_0", SEND_MESSAGE, 404, body, has_task=False)
        assert isinstance(error, UnexpectedStatusError)
        assert error.status == 404
    assert isinstance(
        error_from_http("v1_0", SEND_MESSAGE, 404, b'{"detail":"Not Found"}'), TaskNotFoundError
    )
    assert isinstance(
        error_from_http(
            "v0_3_proto", SEND_MESSAGE, 404, b'{"code":-32001,"message":"gone"}', has_task=False
        ),
        TaskNotFoundError,
    )
