"""Errors as bytes: every error of the contract in every dialect over every binding."""

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
def test_every_error_is_shown_as_its_row_says(kind: type[A2AError], dialect: str) -> None:
    """Code, status, reason and text come from the row of the dialect; the id of the call comes back."""
    row = ERRORS[kind].in_dialect(dialect)
    error = kind(details=DETAILS)
    status, body, _ = render_error(error, dialect, ProtocolBinding.JSONRPC, b'"r-1"')
    shown = json.loads(body)
    assert (status, shown["jsonrpc"], shown["id"]) == (row.jsonrpc_status, "2.0", "r-1")
    assert (shown["error"]["code"], shown["error"]["message"]) == (row.code, row.text(error))

    status, body, _ = render_error(error, dialect, ProtocolBinding.HTTP)
    shown = json.loads(body)
    assert status == row.http
    if DIALECTS[dialect].error_body == "status":
        assert (shown["error"]["code"], shown["error"]["status"], shown["error"]["message"]) == (row.http, row.grpc, row.text(error))
    else:
        assert (shown["code"], shown["message"]) == (row.code, row.text(error))


def test_an_error_of_1_0_carries_its_reason() -> None:
    """An ErrorInfo says reason, domain and details, with names in the spelling of the wire."""
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND", "domain": DOMAIN, "metadata": {"taskId": "t-1"}}
    error = TaskNotFoundError(details={"task_id": "t-1"})
    assert json.loads(render_error(error, "v1_0", ProtocolBinding.JSONRPC, b"1").body)["error"]["data"] == [info]
    assert json.loads(render_error(error, "v1_0", ProtocolBinding.HTTP).body)["error"]["details"] == [info]
    assert json.loads(render_error(error, "v0_3", ProtocolBinding.HTTP).body)["data"] == {"reason": "TASK_NOT_FOUND", "taskId": "t-1"}


def test_wrong_places_are_named() -> None:
    """Each wrong place of a request is a field violation, but not without end."""
    error = InvalidParamsError(fields=tuple((f"parts[{number}]", "wrong") for number in range(5000)))
    (found,) = json.loads(render_error(error, "v1_0", ProtocolBinding.HTTP).body)["error"]["details"]
    assert found["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert found["fieldViolations"][0] == {"field": "parts[0]", "description": "wrong"}
    assert len(found["fieldViolations"]) == 100


def test_headers_come_with_what_they_belong_to() -> None:
    """A challenge says how to prove who one is, and what a path does not take comes with what it takes."""
    assert render_error(ChallengeError("Bearer"), "v1_0", ProtocolBinding.HTTP).headers == ((b"www-authenticate", b"Bearer"),)
    assert render_error(MethodNotAllowedError(details={"allow": "GET"}), "v1_0", ProtocolBinding.HTTP).headers == ((b"allow", b"GET"),)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RuntimeError("password=hunter2"), InternalError),
        (StoreUnavailableError("cannot reach db.internal:5432"), UnavailableError),
        (UnsupportedStoreError("MyStore lacks due"), InternalError),
    ],
    ids=["unknown", "store away", "wrong store"],
)
def test_what_only_the_operator_may_know_goes_to_the_log(error: Exception, kind: type[A2AError], caplog: pytest.LogCaptureFixture) -> None:
    """The caller gets a fixed text, the log everything."""
    with caplog.at_level(logging.ERROR):
        told = to_protocol_error(error)
    assert type(told) is kind
    assert told.message == kind.default_message
    assert str(error) in caplog.text


def test_an_error_that_is_narrower_than_its_row_keeps_its_words() -> None:
    """Errors that speak to the caller keep their text, whatever class of the runtime they are."""
    told = to_protocol_error(TaskTerminalError("The task has ended (COMPLETED)"))
    assert json.loads(render_error(told, "v1_0", ProtocolBinding.HTTP).body)["error"]["message"] == "The task has ended (COMPLETED)"
