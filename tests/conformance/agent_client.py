"""A client of the agent under test, and assertions about responses on the wire.

Codes, statuses and names of errors are written down here once more, as the specifications have
them: a test that took them from the generated tables would only hold that a table is what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import httpx
import pytest
from conformance.agent import ADA, BOB
from google.protobuf.json_format import ParseError
from integration.dialect_client import DialectBinding, DialectClient, parse_body, parse_sse

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import DIALECTS

Json = Any  # what a test reads from the wire has no type until the test has looked at it


class ErrorRow(NamedTuple):
    """An error on the wire: JSON-RPC code, HTTP status, gRPC status."""

    code: int
    http: int
    grpc: str


ERROR_ROWS: Mapping[str, ErrorRow] = {
    "TaskNotFoundError": ErrorRow(-32001, 404, "NOT_FOUND"),
    "TaskNotCancelableError": ErrorRow(-32002, 409, "FAILED_PRECONDITION"),
    "PushNotificationNotSupportedError": ErrorRow(-32003, 400, "UNIMPLEMENTED"),
    "UnsupportedOperationError": ErrorRow(-32004, 400, "UNIMPLEMENTED"),
    "ContentTypeNotSupportedError": ErrorRow(-32005, 415, "INVALID_ARGUMENT"),
    "InvalidAgentResponseError": ErrorRow(-32006, 502, "INTERNAL"),
    "ExtendedAgentCardNotConfiguredError": ErrorRow(-32007, 400, "FAILED_PRECONDITION"),
    "ExtensionSupportRequiredError": ErrorRow(-32008, 400, "FAILED_PRECONDITION"),
    "VersionNotSupportedError": ErrorRow(-32009, 400, "UNIMPLEMENTED"),
    "InvalidParamsError": ErrorRow(-32602, 400, "INVALID_ARGUMENT"),
    "MethodNotFoundError": ErrorRow(-32601, 404, "UNIMPLEMENTED"),
}
"""Section 5.4 of 1.0, whose codes 0.3 has too."""

STATUSES_0_3 = {"ExtendedAgentCardNotConfiguredError": 404}
"""Where 0.3 over HTTP+JSON answers with another status: what is not there is not found, as the
official SDK has it.
"""


@dataclass(frozen=True)
class AgentClient(DialectClient):
    """An authenticated client in one dialect over one binding."""

    headers: Mapping[str, str] = field(default_factory=lambda: ADA)

    def build_request(
        self, operation: Operation, request: WireModel, **headers: str
    ) -> tuple[str, str, dict[str, Any]]:
        """Say how an operation is asked for, by whom."""
        method, url, options = super().build_request(operation, request, **headers)
        return method, url, {**options, "headers": {**self.headers, **options["headers"]}}

    def at_path(self, path: str) -> AgentClient:
        """Go to another surface."""
        return replace(self, path=path)

    def with_headers(self, **headers: str) -> AgentClient:
        """Say more in every request; a version takes the place of the one that the client names
        itself.
        """
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        names_version = any(name.lower().endswith("-version") for name in more)
        kept = {
            name: value
            for name, value in self.headers.items()
            if not (names_version and name.lower().endswith("-version"))
        }
        return replace(self, headers={**kept, **more})

    @property
    def version(self) -> str:
        """The version of the dialect."""
        return DIALECTS[self.dialect_binding.dialect].version or ""

    @property
    def bob(self) -> AgentClient:
        """The same client with the credentials of another user."""
        return replace(self, headers={**self.headers, **BOB})

    def call_wire(self, operation: Operation, request: WireModel) -> Json:
        """Ask for an operation, and get the answer as it stands on the wire, without the
        envelope.
        """
        response = self.call_raw(operation, request)
        body = response.json()
        assert response.is_success, body
        assert not (self.dialect_binding.is_jsonrpc and "error" in body), body
        if self.dialect_binding.is_jsonrpc:
            return body["result"]
        return body

    def stream_wire(
        self, operation: Operation, request: WireModel, **headers: str
    ) -> Iterator[Json]:
        """Ask for a stream, and get the data of its events as they stand on the wire, without the
        envelopes.
        """
        method, url, options = self.build_request(operation, request, **headers)
        with self.http.stream(method, url, **options) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), response.read()
            for _, _, data in parse_sse(response.iter_lines()):
                body = json.loads(data)
                yield body["result"] if self.dialect_binding.is_jsonrpc else body

    def post_document(self, operation: Operation, document: Mapping[str, object]) -> httpx.Response:
        """Send a request of 1.0 as it stands here, as the body of HTTP+JSON if it is the message of
        a POST.
        """
        call = operation.calls[self.dialect_binding.dialect]
        if self.dialect_binding.is_jsonrpc:
            body = {"jsonrpc": "2.0", "id": 1, "method": call.method, "params": document}
            return self.http.post(self.path or "/", json=body, headers=dict(self.headers))
        if not self.dialect_binding.is_grpc:
            return self.http.post(
                self.path + call.http[0].path, json=document, headers=dict(self.headers)
            )
        try:
            return self.http.post(
                self.path + self.dialect_binding.grpc_method(operation).path,
                json=document,
                headers=dict(self.headers),
            )
        except ParseError as error:
            pytest.skip(f"no message has this: {error}")

    def expect_error(self, operation: Operation, request: WireModel, name: str) -> httpx.Response:
        """Ask for an operation, and check that the response is the error of this name in the form
        of the binding.
        """
        response = self.call_raw(operation, request)
        assert_error(response, self.dialect_binding, name)
        return response


def assert_error(response: httpx.Response, binding: DialectBinding, name: str) -> None:
    """See that an answer is the error of this name."""
    row = ERROR_ROWS[name]
    body = parse_body(response)
    assert response.headers["content-type"].startswith(("application/json", "text/event-stream"))
    if binding.is_grpc:
        error = body.get("error", body)
        assert error.get("status", error.get("grpc")) == row.grpc, body
        assert error["message"]
        assert binding.is_1_x or error["code"] == row.code
    elif binding.is_jsonrpc:
        assert (response.status_code, body["error"]["code"]) == (200, row.code), body
        assert body["error"]["message"]
    elif binding.is_1_x:
        error = body["error"]
        assert (response.status_code, error["code"], error["status"]) == (
            row.http,
            row.http,
            row.grpc,
        ), body
        assert error["message"]
    else:
        assert body["code"] == row.code, body
        assert response.status_code == STATUSES_0_3.get(name, row.http)
        assert body["message"]


def parse_error_info(response: httpx.Response, binding: DialectBinding) -> Json:
    """Read the ErrorInfo of an error of 1.0."""
    error = parse_body(response)["error"]
    infos = error["data" if binding.is_jsonrpc else "details"]
    return next(
        each for each in infos if each["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    )


def parse_field_errors(response: httpx.Response, binding: DialectBinding) -> list[str]:
    """Read which fields are said to be wrong."""
    body = parse_body(response)
    error = body.get("error", body)
    if binding.is_1_x:
        infos = error["data" if binding.is_jsonrpc else "details"]
        return [each["field"] for info in infos for each in info.get("fieldViolations", ())]
    return [each["field"] for each in error["data"]["fields"]]
