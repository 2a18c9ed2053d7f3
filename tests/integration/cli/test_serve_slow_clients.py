"""``a2a-gen serve`` and clients that hold their connection: they do not end their request, or do
not read its answer.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from integration.outcome_agent import serve_on_socket

import a2a_runtime.features.server.protocol as server
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.auth.authentication import Identity
from a2a_runtime.auth.authenticators import ApiKeyAuthenticator, digest_key
from a2a_runtime.auth.gate import AuthGate, OpenGate
from a2a_runtime.surface import Limits, Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

PLACES = 4
VERSION = {"A2A-Version": "1.0"}
LENGTH = b"Content-Length: 1000000\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CARD = b"/gated/.well-known/agent-card.json"


def build_request(method: bytes, path: bytes, headers: bytes) -> bytes:
    """Build the head of a request whose body never comes."""
    return b"%b %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % (method, path, headers)


FORMS = {
    "without credentials": (build_request(b"POST", b"/gated", LENGTH), 401),
    "of a foreign page": (
        build_request(b"POST", b"/open", LENGTH + b"Origin: https://evil.example\r\n"),
        403,
    ),
    "unknown path": (build_request(b"POST", b"/nothing", LENGTH), 404),
    "probe with a body": (build_request(b"GET", b"/livez", LENGTH), 200),
    "card with a body": (build_request(b"GET", CARD, LENGTH), 200),
    "chunked": (build_request(b"POST", b"/gated", CHUNKED), 401),
    "waits to go on": (
        build_request(b"POST", b"/gated", LENGTH + b"Expect: 100-continue\r\n"),
        401,
    ),
}


class CrowdedProtocol(server.BoundedHttpProtocol):
    """A protocol with few places, and little time to read."""

    max_connections = PLACES
    send_timeout = 0.3


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """A client of two agents that repeat what they get, one of them behind a gate."""
    agent = Agent("echo", description="Repeats.")

    @agent.skill
    async def echo(ctx):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a handler
        """Repeat."""
        return ctx.text

    gate = AuthGate(ApiKeyAuthenticator({digest_key("k" * 40): Identity("me")}))
    surfaces = (
        Surface(agent, path="/gated", gate=gate),
        Surface(agent, path="/open", gate=OpenGate(), limits=Limits(concurrency=PLACES)),
    )
    with serve_on_socket(
        create_app(*surfaces, store="memory", settings=FAST_SETTINGS), protocol=CrowdedProtocol
    ) as client:
        yield client


@pytest.fixture
def connect(client: httpx.Client) -> Iterator[Callable[..., socket.socket]]:
    """A function that connects to the server, with a small window if a client is not to read; all
    are closed at the end.
    """
    with contextlib.ExitStack() as stack:

        def connect(*, window: int = 0) -> socket.socket:
            connection = stack.enter_context(socket.socket())
            if window:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
            connection.settimeout(20)
            connection.connect(("127.0.0.1", client.base_url.port or 0))
            return connection

        yield connect


def read_head(connection: socket.socket) -> bytes:
    """Read until the end of the headers, or some more."""
    said = b""
    while b"\r\n\r\n" not in said:
        piece = connection.recv(65_536)
        assert piece, said
        said += piece
    return said.lower()


def wait_until_reset(connection: socket.socket) -> None:
    """Send a byte now and then until the server has closed its side."""
    connection.settimeout(0.05)
    with contextlib.suppress(ConnectionError):
        while True:
            connection.sendall(b"x")
            with contextlib.suppress(TimeoutError):
                while connection.recv(65_536):
                    pass


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_before_the_end_of_its_request_frees_the_connection(
    client: httpx.Client,
    connect: Callable[..., socket.socket],
    form: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It announces that the connection is closed, which gives way to others at once, and is closed
    soon.
    """
    monkeypatch.setattr(server, "CLOSING_SECONDS", 60.0)
    head, status = FORMS[form]
    for _ in range(3 * PLACES):
        holder = connect()
        holder.sendall(head)
        said = read_head(holder)
        assert said.startswith(b"http/1.1 %d " % status)
        assert b"\r\nconnection: close\r\n" in said
        holder.sendall(b"x")
    for path in ("/livez", "/open/.well-known/agent-card.json"):
        assert client.get(path, headers={"Connection": "close"}).status_code == httpx.codes.OK
    monkeypatch.setattr(server, "CLOSING_SECONDS", 0.05)
    last = connect()
    last.sendall(head)
    wait_until_reset(last)


def test_a_client_that_writes_first_reads_its_answer(connect: Callable[..., socket.socket]) -> None:
    """The rest of its request is read and dropped, so that no reset takes the answer from it."""
    writer = connect()
    writer.sendall(FORMS["without credentials"][0])
    for _ in range(40):
        writer.sendall(b"x" * 25_000)
    assert read_head(writer).startswith(b"http/1.1 401 ")
    while writer.recv(65_536):
        pass


def test_a_connection_is_kept_where_the_request_has_ended(
    connect: Callable[..., socket.socket],
) -> None:
    """A connection serves the next request, also after a refusal."""
    kept = connect()
    for _ in range(2):
        kept.sendall(build_request(b"POST", b"/gated", b"Content-Length: 1\r\n") + b"x")
        head = read_head(kept)
        assert head.startswith(b"http/1.1 401 ")
        assert b"connection: close" not in head
        body = head.partition(b"\r\n\r\n")[2]
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += kept.recv(length)


@pytest.fixture(scope="module")
def large_task(client: httpx.Client) -> str:
    """The path of a task whose answer no buffer of the machine holds."""
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x" * 4_000_000}]}
    reply = client.post("/open/message:send", json={"message": message}, headers=VERSION)
    return f"/open/tasks/{reply.json()['task']['id']}"


def test_a_client_that_reads_nothing_is_closed(
    client: httpx.Client, connect: Callable[..., socket.socket], large_task: str
) -> None:
    """And its answer is not kept: it counts for the concurrency of the agent until then."""
    request = build_request(b"GET", large_task.encode(), b"A2A-Version: 1.0\r\n")
    for _ in range(3):
        readers = [connect(window=4096) for _ in range(PLACES)]
        for reader in readers:
            reader.sendall(request)
        for reader in readers:
            read_head(reader)
        while (
            client.get(large_task, headers={**VERSION, "Connection": "close"}).status_code
            != httpx.codes.OK
        ):
            pass
        for reader in readers:
            wait_until_reset(reader)


def test_a_client_that_reads_slowly_gets_all(
    connect: Callable[..., socket.socket], large_task: str
) -> None:
    """A little now and then is enough."""
    reader = connect(window=65_536)
    reader.sendall(
        build_request(b"GET", large_task.encode(), b"A2A-Version: 1.0\r\nConnection: close\r\n")
    )
    received = 0
    began = time.monotonic()
    while piece := reader.recv(65_536):
        received += len(piece)
        time.sleep(0.01)  # the slowness of this client
    assert received > 8_000_000
    assert time.monotonic() - began > CrowdedProtocol.send_timeout
