"""The checklist of producers: the gate."""

from __future__ import annotations

import socket

import httpx
import pytest
from conformance.mesh.producer import Consumer, message

MISSING = "Authentication required: missing Authorization: Bearer <token> header"
EMPTY = "Authentication required: empty bearer token in Authorization header"
INVALID = {
    "nothing": ("", MISSING),
    "another scheme": ("Authorization: Basic YWRhOmxvdmVsYWNl\r\n", MISSING),
    "no token": ("Authorization: Bearer\r\n", EMPTY),
    "blanks": ("Authorization: Bearer    \r\n", EMPTY),
}


@pytest.mark.requirement("mesh", "A1", "A2", "A3", "D29")
@pytest.mark.parametrize(("header", "text"), INVALID.values(), ids=INVALID.keys())
def test_a_request_without_a_token_is_refused(client: httpx.Client, header: str, text: str) -> None:
    """The error precedes the body: it has no id, and the body makes no difference."""
    host = client.base_url.host
    port = client.base_url.port or 80
    with socket.create_connection((host, port), 5) as connection:
        request = (
            f"POST /agents/guarded HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: "
            f"close\r\n{header}Content-Length: 4\r\n\r\nnope"
        )
        connection.sendall(request.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 401 ")
    assert httpx.Response(401, content=body).json() == {
        "jsonrpc": "2.0",
        "error": {"code": -32001, "message": text},
        "id": None,
    }


@pytest.mark.requirement("mesh", "A4")
@pytest.mark.parametrize("header", ["Bearer junk", "bEaReR t"], ids=["any token", "any spelling"])
def test_any_token_is_enough(client: httpx.Client, header: str) -> None:
    """The token is not verified, and all clients with a token are one owner."""
    guarded = Consumer(client, "/agents/guarded", {"authorization": header})
    task = guarded.task("tasks/send", message=message("hi"))
    assert task["status"]["state"] == "completed"
    other = Consumer(client, "/agents/guarded", {"authorization": "Bearer another"})
    assert other.task("tasks/get", id=task["id"]) == task
