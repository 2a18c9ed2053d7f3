"""Asking the agent under test, and reading what it answers as it stands on the wire.

Codes, statuses and names of errors are written down here once more, as the specifications have them: a test that took them from the generated tables
would only hold that a table is what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import httpx
from conformance.agent import ADA, BOB
from integration.dialect_client import DialectBinding, DialectClient, parse_sse

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation

Json = Any  # what a test reads from the wire has no type until the test has looked at it


class Row(NamedTuple):
    """How an error looks: JSON-RPC code, HTTP status, gRPC status."""

    code: int
    http: int
    grpc: str


ROWS: Mapping[str, Row] = {
    "TaskNotFoundError": Row(-32001, 404, "NOT_FOUND"),
    "TaskNotCancelableError": Row(-32002, 409, "FAILED_PRECONDITION"),
    "PushNotificationNotSupportedError": Row(-32003, 400, "UNIMPLEMENTED"),
    "UnsupportedOperationError": Row(-32004, 400, "UNIMPLEMENTED"),
    "ContentTypeNotSupportedError": Row(-32005, 415, "INVALID_ARGUMENT"),
    "InvalidAgentResponseError": Row(-32006, 502, "INTERNAL"),
    "ExtendedAgentCardNotConfiguredError": Row(-32007, 400, "FAILED_PRECONDITION"),
    "ExtensionSupportRequiredError": Row(-32008, 400, "FAILED_PRECONDITION"),
    "VersionNotSupportedError": Row(-32009, 400, "UNIMPLEMENTED"),
    "InvalidParamsError": Row(-32602, 400, "INVALID_ARGUMENT"),
    "MethodNotFoundError": Row(-32601, 404, "UNIMPLEMENTED"),
}
"""Section 5.4 of 1.0, whose codes 0.3 has too."""

STATUSES_0_3 = {"ExtendedAgentCardNotConfiguredError": 404}
"""Where 0.3 over HTTP+JSON answers with another status: what is not there is not found, as the official SDK has it."""


@dataclass(frozen=True)
class Asker(DialectClient):
    """Somebody with a name who talks in one dialect over one binding."""

    said: Mapping[str, str] = field(default_factory=lambda: ADA)

    def build_request(self, operation: Operation, request: WireModel, **headers: str) -> tuple[str, str, dict[str, Any]]:
        """Say how an operation is asked for, by whom."""
        method, url, options = super().build_request(operation, request, **headers)
        return method, url, {**options, "headers": {**self.said, **options["headers"]}}

    def at(self, path: str) -> Asker:
        """Go to another surface."""
        return replace(self, path=path)

    def but(self, **headers: str) -> Asker:
        """Say more in every request."""
        return replace(self, said={**self.said, **{name.replace("_", "-"): value for name, value in headers.items()}})

    @property
    def bob(self) -> Asker:
        """Somebody else, who talks in the same way."""
        return replace(self, said={**self.said, **BOB})

    def wire(self, operation: Operation, request: WireModel) -> Json:
        """Ask for an operation, and get the answer as it stands on the wire, without the envelope."""
        response = self.call_raw(operation, request)
        body = response.json()
        assert response.is_success, body
        assert not (self.dialect_binding.is_jsonrpc and "error" in body), body
        return body["result"] if self.dialect_binding.is_jsonrpc else body

    def frames(self, operation: Operation, request: WireModel, **headers: str) -> Iterator[Json]:
        """Ask for a stream, and get the data of its events as they stand on the wire, without the envelopes."""
        method, url, options = self.build_request(operation, request, **headers)
        with self.client.stream(method, url, **options) as response:
            assert response.headers["content-type"].startswith("text/event-stream"), response.read()
            for _, _, data in parse_sse(response.iter_lines()):
                body = json.loads(data)
                yield body["result"] if self.dialect_binding.is_jsonrpc else body

    def refused(self, operation: Operation, request: WireModel, name: str) -> httpx.Response:
        """Ask for an operation, and see that it is refused with an error of this name, in the shape of the voice."""
        response = self.call_raw(operation, request)
        check_refusal(response, self.dialect_binding, name)
        return response


def check_refusal(response: httpx.Response, voice: DialectBinding, name: str) -> None:
    """See that an answer is the error of this name."""
    row, body = ROWS[name], response.json()
    assert response.headers["content-type"].startswith("application/json")
    if voice.is_jsonrpc:
        assert (response.status_code, body["error"]["code"]) == (200, row.code), body
        assert body["error"]["message"]
    elif voice.dialect == "v1_0":
        error = body["error"]
        assert (response.status_code, error["code"], error["status"]) == (row.http, row.http, row.grpc), body
        assert error["message"]
    else:
        assert body["code"] == row.code, body
        assert response.status_code == STATUSES_0_3.get(name, row.http)
        assert body["message"]


def reason_of(response: httpx.Response, voice: DialectBinding) -> Json:
    """Read the ErrorInfo of an error of 1.0."""
    error = response.json()["error"]
    infos = error["data" if voice.is_jsonrpc else "details"]
    return next(each for each in infos if each["@type"] == "type.googleapis.com/google.rpc.ErrorInfo")


def fields_of(response: httpx.Response, voice: DialectBinding) -> list[str]:
    """Read which fields are said to be wrong."""
    body = response.json()
    error = body.get("error", body)
    if voice.dialect == "v1_0":
        infos = error["data" if voice.is_jsonrpc else "details"]
        return [each["field"] for info in infos for each in info.get("fieldViolations", ())]
    return [each["field"] for each in error["data"]["fields"]]
