"""All that is wrong with a request is named in one answer, over both bindings and in both dialects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from integration.serving import build_test_app
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
    """Read the error of a JSON-RPC answer."""
    return response.json()["error"]  # type: ignore[no-any-return]  # JSON


LISTS = [("ListTasks", "", "statusTimestampAfter"), ("tasks/list", "/v1", "lastUpdatedAfter")]


def find_wrong_list_fields(client: httpx.Client, method: str, prefix: str, params: Mapping[str, Any]) -> list[str]:
    """Ask for a list over both bindings, and read which places both say are wrong."""
    called = extract_error(client.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    assert called["code"] == -32602
    got = client.get(f"{prefix}/tasks", params=params)
    assert got.status_code == 400
    named = [called["data"]["fields"], got.json()["data"]["fields"]] if prefix else []
    named = named or [called["data"][0]["fieldViolations"], got.json()["error"]["details"][0]["fieldViolations"]]
    over_jsonrpc, over_http = ([each["field"] for each in places] for places in named)
    assert over_jsonrpc == over_http
    return over_jsonrpc


@pytest.mark.parametrize(("method", "prefix", "after"), LISTS, ids=["1.0", "0.3"])
def test_all_that_is_wrong_with_a_list_is_named_at_once(client: httpx.Client, method: str, prefix: str, after: str) -> None:
    """What is of a wrong type, what is out of range, a word that nobody knows, and a token that nobody has given out: in one answer."""
    wrong = {"pageSize": "many", "historyLength": -1, "status": "RESTING", "pageToken": "??", after: "then", "includeArtifacts": "perhaps"}
    assert sorted(find_wrong_list_fields(client, method, prefix, wrong)) == sorted(wrong)
    assert find_wrong_list_fields(client, method, prefix, {"status": "RESTING", "page_token": "??"}) == ["status", "pageToken"]


@pytest.mark.parametrize(("method", "prefix", "after"), LISTS, ids=["1.0", "0.3"])
def test_a_token_of_another_list_is_named_beside_what_else_is_wrong(client: httpx.Client, method: str, prefix: str, after: str) -> None:
    """Where the filters are known; where one of them is wrong, nobody can tell of which list the token is."""
    for _ in range(2):
        client.post("/", json={**CALL, "params": {"message": {**MESSAGE, "contextId": "c-token"}}})
    token = client.get("/tasks", params={"contextId": "c-token", "pageSize": 1}).json()["nextPageToken"]
    assert find_wrong_list_fields(client, method, prefix, {"pageSize": 0, "pageToken": token}) == ["pageSize", "pageToken"]
    assert find_wrong_list_fields(client, method, prefix, {after: "then", "contextId": "c-token", "pageToken": token}) == [after]


def test_what_is_wrong_with_a_message_is_named_beside_what_its_webhook_lacks(client: httpx.Client) -> None:
    """Members of a request are looked at one by one; what was left out for the next look is not called missing."""
    wrong = {"message": {**MESSAGE, "role": "ROLE_ROBOT"}, "configuration": {"historyLength": -1}}
    for response in (client.post("/", json={**CALL, "params": wrong}), client.post("/message:send", json=wrong)):
        error = response.json()["error"]
        info = error.get("data", error.get("details"))[0]
        assert [each["field"] for each in info["fieldViolations"]] == ["configuration.historyLength", "message.role"]


INCOMPLETE_CALLS: dict[str, tuple[dict[str, object] | bytes, str, str]] = {
    "no version": ({"method": "GetTask"}, "jsonrpc", 'must be "2.0"'),
    "an id of another kind": ({**CALL, "id": {}}, "id", "must be a text, a number or null"),
    "no method": ({"jsonrpc": "2.0"}, "method", "must be the name of a method"),
    "an unknown method": ({**CALL, "method": "Nothing"}, "method", "There is no method 'Nothing' here"),
    "a method of another version": ({**CALL, "method": "message/send"}, "method", "does not exist in the requested version"),
    "several calls": (b"[]", "", "must be one call: an object"),
    "half a surrogate": (b'"\\ud800"', "", "Invalid JSON: unexpected end of hex escape at line 1 column 8"),
    "too deep": (b"[" * 1000, "", "Invalid JSON: recursion limit exceeded at line 1 column 202"),
}


@pytest.mark.parametrize(("body", "field", "text"), INCOMPLETE_CALLS.values(), ids=INCOMPLETE_CALLS.keys())
def test_what_is_wrong_with_a_call_is_named(client: httpx.Client, body: dict[str, object] | bytes, field: str, text: str) -> None:
    """The member of the envelope, and what it must be; where it is no JSON, or none that can be kept, the place in it."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = extract_error(client.post("/", content=content, headers={**JSON, "A2A-Version": "1.0"}))["data"]
    assert [violation for each in found for violation in each["fieldViolations"]] == [{"field": field, "description": text}]


def test_what_is_wrong_with_a_document_is_named(client: httpx.Client) -> None:
    """A body that is no JSON says where it ends to be some."""
    error = client.post("/message:send", content=b'{"a": nope}', headers=JSON).json()["error"]
    assert error["details"][0]["fieldViolations"] == [{"field": "", "description": "Invalid JSON: expected ident at line 1 column 8"}]
