"""Requests whose body does not arrive."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import httpx
import pytest
from conformance.security.guarded_apps import build_guarded_agent
from integration.outcome_agent import serve_on_socket

from a2a_contract.errors import ERRORS, RateLimitedError, RequestTimeoutError, UnavailableError
from a2a_runtime.app import create_app
from a2a_runtime.auth.rate_limit import ANY_OPERATION, RateLimit, RateLimiter
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

PATHS = ("/", "/message:send", "/v1/message:send", "/skills/shout")
LONG_BODY_TIMEOUT = Limits(body_seconds=None)


@contextmanager
def serve(limits: Limits, rates: RateLimiter | None = None) -> Iterator[httpx.Client]:
    """Serve an agent with limits."""
    with serve_on_socket(
        create_app(
            Surface(build_guarded_agent(), limits=limits, rate_limiter=rates),
            store="memory",
            settings=FAST_SETTINGS,
        ),
        grace_seconds=0.1,
    ) as client:
        yield client


def send_half_request(client: httpx.Client, path: str) -> socket.socket:
    """Send half a request."""
    connection = socket.create_connection(("127.0.0.1", client.base_url.port or 0), timeout=10)
    connection.sendall(
        b"POST %b HTTP/1.1\r\nhost: x\r\n"
        b"content-type: application/json\r\ncontent-length: 90\r\n\r\n[" % path.encode()
    )
    return connection


def read_response(connection: socket.socket) -> tuple[bytes, bytes]:
    """Read the head and the body of a response."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.partition(b":")[2])
        for line in head.lower().splitlines()
        if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head.lower(), body


def read_status(connection: socket.socket) -> int:
    """Read the status of a response."""
    return int(read_response(connection)[0].split()[1])


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_does_not_arrive_is_refused(path: str) -> None:
    """In the format of the dialect, and the connection is closed; other requests are served."""
    with serve(Limits(body_seconds=0.1)) as client:
        with closing(send_half_request(client, path)) as connection:
            head, body = read_response(connection)
            assert connection.recv(1) == b""
        row = ERRORS[RequestTimeoutError]
        assert int(head.split()[1]) == row.http
        assert b"connection: close" in head
        assert "not received within 0.1 s" in json.dumps(json.loads(body))
        assert client.post("/skills/shout", json="x").json() == "x"


@pytest.mark.parametrize("path", PATHS)
def test_an_incomplete_request_counts_for_the_concurrency_limit(path: str) -> None:
    """A request with half a body holds a slot until its client disconnects."""
    with serve(Limits(body_seconds=None, concurrency=2)) as client:
        with closing(send_half_request(client, path)), closing(send_half_request(client, path)):
            with closing(send_half_request(client, path)) as third:
                assert read_status(third) == ERRORS[UnavailableError].http
            assert client.get("/.well-known/agent-card.json").status_code == 200
        while (
            client.post("/skills/shout", json="x").status_code != 200
        ):  # the server notices the disconnects a little later
            pass


def test_a_body_is_not_read_over_the_rate_limit() -> None:
    """A caller over the combined rate limit is refused before its body is read."""
    with serve(LONG_BODY_TIMEOUT, RateLimiter({ANY_OPERATION: RateLimit(2, 3600)})) as client:
        statuses = [client.post("/skills/shout", json="x").status_code for _ in range(4)]
        assert statuses == [200, 200, 429, 429]
        with closing(send_half_request(client, "/")) as connection:
            assert read_status(connection) == ERRORS[RateLimitedError].http
