"""Field errors: one response lists all of them, in both bindings and dialects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from integration.outcome_agent import build_test_app
from litestar.testing import TestClient

JSON = {"content-type": "application/json"}
MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
CALL = {"jsonrpc": "2.0", "id": "r-1", "method": "SendMessage", "params": {"message": MESSAGE}}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of an open agent."""
    with TestClient(build_test_app()) as client:
        yield client


def extract_error(response: httpx.Response) -> Mapping[str, Any]:
    """Return the error of a JSON-RPC response."""
    return response.json()["error"]  # type: ignore[no-any-return]  # JSON


LISTS = [("ListTasks", "", "statusTimestampAfter"), ("tasks/list", "/v1", "lastUpdatedAfter")]


def find_wrong_list_fields(
    client: httpx.Client, method: str, prefix: str, params: Mapping[str, Any]
) -> list[str]:
    """List tasks over both bindings, and return the fields with errors, which must be the same."""
    called = extract_error(
        client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    )
    assert called["code"] == -32602
    got = client.get(f"{prefix}/tasks", params=params)
    assert got.status_code == 400
    errors = [called["data"]["fields"], got.json()["data"]["fields"]] if prefix else []
    errors = errors or [
        called["data"][1]["fieldViolations"],
        got.json()["error"]["details"][1]["fieldViolations"],
    ]
    over_jsonrpc, over_http = ([each["field"] for each in fields] for fields in errors)
    assert over_jsonrpc == over_http
    return over_jsonrpc


@pytest.mark.parametrize(("method", "prefix", "after"), LISTS, ids=["1.0", "0.3"])
def test_all_field_errors_of_a_list_are_reported_at_once(
    client: httpx.Client, method: str, prefix: str, after: str
) -> None:
    """A wrong type, a value out of range, an unknown state and an unknown token, in one
    response.
    """
    wrong = {
        "pageSize": "many",
        "historyLength": -1,
        "status": "RESTING",
        "pageToken": "??",
        after: "then",
        "includeArtifacts": "perhaps",
    }
    assert sorted(find_wrong_list_fields(client, method, prefix, wrong)) == sorted(wrong)
    assert find_wrong_list_fields(
        client, method, prefix, {"status": "RESTING", "page_token": "??"}
    ) == ["status", "pageToken"]


@pytest.mark.parametrize(("method", "prefix", "after"), LISTS, ids=["1.0", "0.3"])
def test_a_token_of_another_list_is_reported_with_other_errors(
    client: httpx.Client, method: str, prefix: str, after: str
) -> None:
    """If the filters are valid; otherwise it is unknown to which list the token belongs."""
    for _ in range(2):
        client.post("/", json={**CALL, "params": {"message": {**MESSAGE, "contextId": "c-token"}}})
    token = client.get("/tasks", params={"contextId": "c-token", "pageSize": 1}).json()[
        "nextPageToken"
    ]
    assert find_wrong_list_fields(client, method, prefix, {"pageSize": 0, "pageToken": token}) == [
        "pageSize",
        "pageToken",
    ]
    assert find_wrong_list_fields(
        client, method, prefix, {after: "then", "contextId": "c-token", "pageToken": token}
    ) == [after]


def test_field_errors_of_several_members_are_reported_together(client: httpx.Client) -> None:
    """A member with an error is removed before the request is validated again, and not reported as
    missing.
    """
    wrong = {"message": {**MESSAGE, "role": "ROLE_ROBOT"}, "configuration": {"historyLength": -1}}
    for response in (
        client.post("/", json={**CALL, "params": wrong}),
        client.post("/message:send", json=wrong),
    ):
        error = response.json()["error"]
        info = error.get("data", error.get("details"))[1]
        assert [each["field"] for each in info["fieldViolations"]] == [
            "configuration.historyLength",
            "message.role",
        ]


INCOMPLETE_CALLS: dict[str, tuple[dict[str, object] | bytes, str, str]] = {
    "no version": ({"method": "GetTask"}, "jsonrpc", 'must be "2.0"'),
    "an id of another kind": ({**CALL, "id": {}}, "id", "must be a text, a number or null"),
    "no method": ({"jsonrpc": "2.0"}, "method", "must be the name of a method"),
    "an unknown method": (
        {**CALL, "method": "Nothing"},
        "method",
        "There is no method 'Nothing' here",
    ),
    "a method of another version": (
        {**CALL, "method": "message/send"},
        "method",
        "does not exist in the requested version",
    ),
    "several calls": (b"[]", "", "must be one call: an object"),
    "half a surrogate": (
        b'"\\ud800"',
        "",
        "Invalid JSON: unexpected end of hex escape at line 1 column 8",
    ),
    "too deep": (b"[" * 1000, "", "Invalid JSON: recursion limit exceeded at line 1 column 202"),
}


@pytest.mark.parametrize(
    ("body", "field", "text"), INCOMPLETE_CALLS.values(), ids=INCOMPLETE_CALLS.keys()
)
def test_field_errors_of_the_envelope_are_reported(
    client: httpx.Client, body: dict[str, object] | bytes, field: str, text: str
) -> None:
    """Each error states the member and its requirement; invalid JSON states the position."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = extract_error(
        client.post("/", content=content, headers={**JSON, "A2A-Version": "1.0"})
    )["data"]
    assert [violation for each in found for violation in each["fieldViolations"]] == [
        {"field": field, "description": text}
    ]


def test_field_errors_of_a_document_are_reported(client: httpx.Client) -> None:
    """A body that is no JSON says where it ends to be some."""
    error = client.post("/message:send", content=b'{"a": nope}', headers=JSON).json()["error"]
    assert error["details"][0]["fieldViolations"] == [
        {"field": "", "description": "Invalid JSON: expected ident at line 1 column 8"}
    ]
