"""Rendering of errors: every error of the contract in every dialect over every binding."""

from __future__ import annotations

import json
import logging

import pytest

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import (
    DOMAIN,
    ERRORS,
    A2AError,
    InternalError,
    InvalidParamsError,
    MethodNotAllowedError,
    TaskNotFoundError,
    UnavailableError,
)
from a2a_runtime.auth.gate import ChallengeError
from a2a_runtime.errors import StoreUnavailableError, TaskTerminalError, UnsupportedStoreError
from a2a_runtime.http.errors import render_error, to_protocol_error
from a2a_runtime.service.context import ProtocolBinding

DETAILS = {"task_id": "t-1", "method": "x"}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_rendered_by_its_row(kind: type[A2AError], dialect: str) -> None:
    """Code, status, reason and text come from the row of the dialect; the id of the call comes
    back.
    """
    row = ERRORS[kind].in_dialect(dialect)
    error = kind(details=DETAILS)
    status, body, _ = render_error(error, dialect, ProtocolBinding.JSONRPC, b'"r-1"')
    body_json = json.loads(body)
    assert (status, body_json["jsonrpc"], body_json["id"]) == (row.jsonrpc_status, "2.0", "r-1")
    assert (body_json["error"]["code"], body_json["error"]["message"]) == (
        row.code,
        row.text(error),
    )

    status, body, _ = render_error(error, dialect, ProtocolBinding.HTTP)
    body_json = json.loads(body)
    assert status == row.http
    if DIALECTS[dialect].error_body == "status":
        assert (
            body_json["error"]["code"],
            body_json["error"]["status"],
            body_json["error"]["message"],
        ) == (row.http, row.grpc, row.text(error))
    else:
        assert (body_json["code"], body_json["message"]) == (row.code, row.text(error))


def test_an_error_of_1_0_carries_its_reason() -> None:
    """An ErrorInfo says reason, domain and details, with names in the spelling of the wire."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "TASK_NOT_FOUND",
        "domain": DOMAIN,
        "metadata": {"taskId": "t-1"},
    }
    error = TaskNotFoundError(details={"task_id": "t-1"})
    assert json.loads(render_error(error, "v1_0", ProtocolBinding.JSONRPC, b"1").body)["error"][
        "data"
    ] == [info]
    assert json.loads(render_error(error, "v1_0", ProtocolBinding.HTTP).body)["error"][
        "details"
    ] == [info]
    assert json.loads(render_error(error, "v0_3", ProtocolBinding.HTTP).body)["data"] == {
        "reason": "TASK_NOT_FOUND",
        "taskId": "t-1",
    }


def test_field_errors_are_listed() -> None:
    """Each field error is a field violation, after the reason and up to a limit."""
    error = InvalidParamsError(
        fields=tuple((f"parts[{number}]", "wrong") for number in range(5000))
    )
    info, found = json.loads(render_error(error, "v1_0", ProtocolBinding.HTTP).body)["error"][
        "details"
    ]
    assert info["reason"] == "INVALID_PARAMS"
    assert found["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert found["fieldViolations"][0] == {"field": "parts[0]", "description": "wrong"}
    assert len(found["fieldViolations"]) == 100


def test_some_errors_have_headers() -> None:
    """A challenge names the authentication scheme, and a method that is not allowed comes with
    those that are.
    """
    assert render_error(ChallengeError("Bearer"), "v1_0", ProtocolBinding.HTTP).headers == (
        (b"www-authenticate", b"Bearer"),
    )
    assert render_error(
        MethodNotAllowedError(details={"allow": "GET"}), "v1_0", ProtocolBinding.HTTP
    ).headers == ((b"allow", b"GET"),)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("password=hunter2"), InternalError),
        (StoreUnavailableError("cannot reach db.internal:5432"), UnavailableError),
        (UnsupportedStoreError("MyStore lacks due"), InternalError),
    ],
    ids=["unknown", "store unavailable", "unsupported store"],
)
def test_details_for_the_operator_are_logged_only(
    error: Exception, kind: type[A2AError], caplog: pytest.LogCaptureFixture
) -> None:
    """The client gets a fixed text, the log has everything; an outage is no error of each
    request.
    """
    with caplog.at_level(logging.DEBUG, "a2a_runtime.http.errors"):
        converted = to_protocol_error(error)
    assert [record.levelname for record in caplog.records] == [
        "DEBUG" if kind is UnavailableError else "ERROR"
    ]
    assert type(converted) is kind
    assert converted.message == kind.default_message
    assert str(error) in caplog.text


def test_subclasses_of_an_error_keep_their_message() -> None:
    """An error of the runtime is rendered by the row of its base class, with its own text."""
    converted = to_protocol_error(TaskTerminalError("The task has ended (COMPLETED)"))
    assert (
        json.loads(render_error(converted, "v1_0", ProtocolBinding.HTTP).body)["error"]["message"]
        == "The task has ended (COMPLETED)"
    )
