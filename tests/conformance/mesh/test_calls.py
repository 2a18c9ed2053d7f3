"""The checklist of producers: calls, as far as they are alike for all methods."""

from __future__ import annotations

import httpx
import pytest
from conformance.mesh.producer import Consumer, message

NO_CALLS = {
    "not JSON": (b"not json", 400, -32700, "Parse error", None),
    "empty": (b"", 400, -32700, "Parse error", None),
    "not UTF-8": (b'{"method": "\xff"}', 400, -32700, "Parse error", None),
    "list": (b"[]", 400, -32700, "Parse error", None),
    "batch": (
        b'[{"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}]',
        400,
        -32700,
        "Parse error",
        None,
    ),
    "text": (b'"tasks/get"', 400, -32700, "Parse error", None),
    "no method": (
        b'{"id": 7}',
        200,
        -32600,
        "Invalid Request: 'method' field is required and must be a string",
        7,
    ),
    "number as method": (
        b'{"id": "a", "method": 5}',
        200,
        -32600,
        "Invalid Request: 'method' field is required and must be a string",
        "a",
    ),
    "unknown method": (
        b'{"id": [1], "method": "tasks/list"}',
        200,
        -32601,
        "Method not implemented: tasks/list",
        [1],
    ),
}


@pytest.mark.requirement("mesh", "J1", "J2", "D14", "D15")
@pytest.mark.parametrize(
    ("body", "status", "code", "text", "call_id"), NO_CALLS.values(), ids=NO_CALLS.keys()
)
def test_an_invalid_call_is_refused(
    client: httpx.Client, body: bytes, status: int, code: int, text: str, call_id: object
) -> None:
    """An unreadable body is 400; every other error is a JSON-RPC response."""
    response = client.post("/agents/echo", content=body)
    assert response.status_code == status
    assert response.json() == {
        "jsonrpc": "2.0",
        "id": call_id,
        "error": {"code": code, "message": text},
    }


@pytest.mark.requirement("mesh", "J3")
@pytest.mark.parametrize("call_id", [1, "abc", 1.5, True, None, {"a": [1]}, 2**70, ""], ids=repr)
def test_any_id_comes_back(client: httpx.Client, call_id: object) -> None:
    """The id of a call is any JSON value, and comes back with results and with errors; there is
    never a member for the other one.
    """
    echo = Consumer(client)
    answer = echo.post("tasks/send", {"message": message("x")}, call_id).json()
    refusal = echo.post("tasks/get", {}, call_id).json()
    assert (answer["id"], answer.keys()) == (call_id, {"jsonrpc", "id", "result"})
    assert (refusal["id"], refusal.keys()) == (call_id, {"jsonrpc", "id", "error"})


@pytest.mark.requirement("mesh", "D16")
def test_a_call_without_an_id_is_answered(client: httpx.Client) -> None:
    """There are no notifications: the answer has null for the id."""
    answer = client.post(
        "/agents/echo", json={"method": "tasks/send", "params": {"message": message("x")}}
    ).json()
    assert (answer["id"], answer["result"]["status"]["state"]) == (None, "completed")


@pytest.mark.requirement("mesh", "D16")
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "nonsense", None], ids=repr
)
def test_the_content_type_is_ignored(client: httpx.Client, content_type: str | None) -> None:
    """A body is read whatever it says that it is, and whatever version of JSON-RPC it names."""
    headers = {} if content_type is None else {"content-type": content_type}
    body = (
        b'{"jsonrpc": "1.0", "id": 1, "method": "tasks/send", '
        b'"params": {"message": {"parts": [{"type": "text", "text": "x"}]}}}'
    )
    assert (
        client.post("/agents/echo", content=body, headers=headers).json()["result"]["status"][
            "state"
        ]
        == "completed"
    )


@pytest.mark.requirement("mesh", "D12")
@pytest.mark.parametrize("path", ["/agents/echo", "/agents/echo/"], ids=["plain", "with a slash"])
def test_calls_are_answered_where_they_are_sent(client: httpx.Client, path: str) -> None:
    """A call gets its answer at its own URL: consumers follow no redirect."""
    assert (
        Consumer(client, path).task("tasks/send", message=message("x"))["status"]["state"]
        == "completed"
    )


@pytest.mark.requirement("mesh", "G1", "X1", "R1", "D17")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/resubscribe"])
@pytest.mark.parametrize(
    "params",
    [{}, {"id": ""}, {"id": 0}, {"id": None}, {"id": {}}, {"id": 7}, [], "x", None],
    ids=repr,
)
def test_a_task_id_is_required(client: httpx.Client, method: str, params: object) -> None:
    """The error is a single response, also for a streaming method."""
    response = client.post(
        "/agents/echo", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    )
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["message"]) == (
        200,
        -32602,
        f"Invalid params: 'id' is required for {method}",
    )


@pytest.mark.requirement("mesh", "G2", "X2", "R2")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/resubscribe"])
def test_a_task_has_to_exist(client: httpx.Client, method: str) -> None:
    """An unknown task is an error response, also for a stream."""
    assert Consumer(client).error(method, {"id": "unknown"}) == {
        "code": -32602,
        "message": "Unknown task id: unknown",
    }
