"""Rendering of errors: every error of the contract in every dialect and binding."""

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
def test_every_error_is_rendered_from_its_row(kind: type[A2AError], dialect: str) -> None:
    """Code, status, reason and text are those of the dialect's row; the call id is echoed."""
    row = ERRORS[kind].in_dialect(dialect)
    error = kind(details=DETAILS)
    status, body, _ = render_error(error, dialect, ProtocolBinding.JSONRPC, b'"r-1"')
    rendered = json.loads(body)
    assert (status, rendered["jsonrpc"], rendered["id"]) == (row.jsonrpc_status, "2.0", "r-1")
    assert (rendered["error"]["code"], rendered["error"]["message"]) == (row.code, row.text(error))

    status, body, _ = render_error(error, dialect, ProtocolBinding.HTTP)
    rendered = json.loads(body)
    assert status == row.http
    if DIALECTS[dialect].error_body == "status":
        assert (rendered["error"]["code"], rendered["error"]["status"], rendered["error"]["message"]) == (row.http, row.grpc, row.text(error))
    else:
        assert (rendered["code"], rendered["message"]) == (row.code, row.text(error))


def test_an_error_of_1_0_carries_its_reason() -> None:
    """An ErrorInfo has reason, domain and details, with member names as on the wire."""
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_FOUND", "domain": DOMAIN, "metadata": {"taskId": "t-1"}}
    error = TaskNotFoundError(details={"task_id": "t-1"})
    assert json.loads(render_error(error, "v1_0", ProtocolBinding.JSONRPC, b"1").body)["error"]["data"] == [info]
    assert json.loads(render_error(error, "v1_0", ProtocolBinding.HTTP).body)["error"]["details"] == [info]
    assert json.loads(render_error(error, "v0_3", ProtocolBinding.HTTP).body)["data"] == {"reason": "TASK_NOT_FOUND", "taskId": "t-1"}


def test_field_errors_are_limited() -> None:
    """Each field error is a field violation, up to 100."""
    error = InvalidParamsError(fields=tuple((f"parts[{number}]", "wrong") for number in range(5000)))
    (found,) = json.loads(render_error(error, "v1_0", ProtocolBinding.HTTP).body)["error"]["details"]
    assert found["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert found["fieldViolations"][0] == {"field": "parts[0]", "description": "wrong"}
    assert len(found["fieldViolations"]) == 100


def test_some_errors_have_headers() -> None:
    """A challenge has ``WWW-Authenticate``, a method error has ``Allow``."""
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
def test_internal_details_go_to_the_log(error: Exception, kind: type[A2AError], caplog: pytest.LogCaptureFixture) -> None:
    """The response has a fixed text."""
    with caplog.at_level(logging.ERROR):
        error_for_client = to_protocol_error(error)
    assert type(error_for_client) is kind
    assert error_for_client.message == kind.default_message
    assert str(error) in caplog.text


def test_a_subclass_of_a_row_keeps_its_text() -> None:
    """Errors for the caller keep their text, whichever class of the runtime they are."""
    error_for_client = to_protocol_error(TaskTerminalError("The task has ended (COMPLETED)"))
    assert json.loads(render_error(error_for_client, "v1_0", ProtocolBinding.HTTP).body)["error"]["message"] == "The task has ended (COMPLETED)"
