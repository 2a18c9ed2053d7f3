"""``a2a-gen serve`` before any credentials are checked: bounds up to the end of the headers, over a
socket.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from a2a_runtime.testing.ports import find_free_port

SERVE = """
import os
import sys
sys.modules.update(dict.fromkeys(os.environ["HIDDEN_MODULES"].split()))
import a2a_runtime.features.server.protocol as protocol
from a2a_runtime.cli.serve import command
protocol.HEAD_TIMEOUT_SECONDS = float(os.environ["HEAD_SECONDS"])
command()
"""
APP = """
import asyncio

async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            await send({"type": (await receive())["type"] + ".complete"})
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"] == "/slow":
        await asyncio.sleep(1.5)
    said = f"{len(body)} {sorted(name.decode() for name, _ in scope['headers'])}".encode()
    headers = [(b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an app that says what it got; a head may take one second."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "app.py").write_text(APP)
    yield from serve_app(folder)


def serve_app(
    folder: Path, *options: str, head_seconds: float = 1.0, hidden: str = ""
) -> Iterator[int]:
    """Serve the app of a folder, and give its port; a module may be hidden, as on systems that do
    not have it.
    """
    port = find_free_port()
    command = [sys.executable, "-c", SERVE, "app:asgi", "--port", str(port), *options]
    environment = {**os.environ, "HEAD_SECONDS": str(head_seconds), "HIDDEN_MODULES": hidden}
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, env=environment)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0


def converse(port: int, *pieces: bytes) -> bytes:
    """Send some bytes, and read until the server closes the connection; its reset counts as an
    end.
    """
    said = b""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
        contextlib.suppress(ConnectionError),
    ):
        for piece in pieces:
            connection.sendall(piece)
        while data := connection.recv(65_536):
            said += data
    return said


def test_a_head_has_a_size(port: int) -> None:
    """Headers, their number and the path are bounded; the rest of an endless header is never
    read.
    """
    assert converse(port, b"GET / HTTP/1.1\r\nx: " + b"a" * 70_000 + b"\r\n\r\n").startswith(
        b"HTTP/1.1 431 "
    )
    assert converse(port, b"GET / HTTP/1.1\r\n" + b"x: 1\r\n" * 101 + b"\r\n").startswith(
        b"HTTP/1.1 431 "
    )
    assert converse(port, b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 4")
    sent = 0
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
        contextlib.suppress(ConnectionError),
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nx: ")
        for _ in range(1000):
            connection.sendall(b"a" * 65_536)
            sent += 65_536
    assert sent < 32_000_000  # what the buffers of the machine hold


@pytest.mark.parametrize(
    "beginning",
    [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"],
    ids=["silence", "half a head", "no head", "half a second head"],
)
def test_a_head_has_a_deadline(port: int, beginning: bytes) -> None:
    """Whatever it begins with, and also after a first answer: the connection is closed, with a
    status if no answer is open.
    """
    began = time.monotonic()
    said = converse(port, beginning)
    assert b"HTTP/1.1 408 " in said
    assert time.monotonic() - began < 20
    assert said.startswith(b"HTTP/1.1 200 ") == beginning.endswith(b"HT")


def test_blank_lines_after_an_answer_are_no_request(port: int) -> None:
    """They end the time that a kept connection may be idle, and begin the deadline of the next
    head.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        said = b""
        while not said.endswith(b"['host']") and (
            piece := connection.recv(65_536)
        ):  # head and body may come by themselves
            said += piece
        assert said.startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 408 ")


def test_a_drip_has_the_same_deadline(port: int) -> None:
    """A byte now and then is no progress."""
    began = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
        contextlib.suppress(ConnectionError),
    ):
        for each in b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20:
            connection.sendall(bytes([each]))
            time.sleep(0.2)
    assert time.monotonic() - began < 20


def test_many_half_requests_do_not_stop_it(port: int) -> None:
    """More than there are descriptors: those that wait are served when the deadline of the others
    has passed.
    """
    with ThreadPoolExecutor(300) as pool:
        halves = [pool.submit(converse, port, b"GET / HTTP/1.1\r\n") for _ in range(300)]
        with httpx.Client(timeout=30, trust_env=False) as client:
            assert client.get(f"http://127.0.0.1:{port}/").status_code == httpx.codes.OK
        assert all(not half.result() or b" 408 " in half.result() for half in halves)


def test_usual_requests_pass(port: int) -> None:
    """Large bodies, long answers, some requests in one write, a head just below the limit; only the
    head is counted.
    """
    url = f"http://127.0.0.1:{port}/"
    with httpx.Client(timeout=30, trust_env=False) as client:
        assert client.post(url, content=b"x" * 3_000_000).text.startswith("3000000 ")
        assert client.get(url, headers={"x": "a" * 60_000}).status_code == httpx.codes.OK
        assert client.get(f"{url}slow").status_code == httpx.codes.OK
    small = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"
    large = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n" + b"x" * 90_000
    assert (
        converse(
            port, small + large + small.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        ).count(b"HTTP/1.1 200 ")
        == 3
    )


def test_two_hosts_are_refused(port: int) -> None:
    """A request with two Host headers is refused at every path of every app."""
    assert converse(port, b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n").startswith(
        b"HTTP/1.1 400 "
    )


def test_trailers_are_no_headers(port: int) -> None:
    """Trailers come after the body; the gate reads headers only."""
    head = (
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    )
    said = converse(port, head, b"Authorization: Bearer later\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200 ")
    assert b"authorization" not in said


@pytest.fixture
def crowded_port(tmp_path: Path) -> Iterator[int]:
    """The port of the same app with at most four connections, and a long time for a head, where the
    descriptors of a process cannot be counted.
    """
    (tmp_path / "app.py").write_text(APP)
    yield from serve_app(tmp_path, "--max-connections", "4", head_seconds=60, hidden="resource")


def test_connections_are_limited(crowded_port: int) -> None:
    """A waiting connection gives way to a new one; a request that is being answered does not, and
    the new one is refused. On Windows too.
    """
    with contextlib.ExitStack() as stack:

        def connect(data: bytes) -> socket.socket:
            connection = stack.enter_context(
                socket.create_connection(("127.0.0.1", crowded_port), timeout=30)
            )
            connection.sendall(data)
            return connection

        halves = [connect(b"GET / HTTP/1.1\r\nHost: x\r\n") for _ in range(20)]
        url = f"http://127.0.0.1:{crowded_port}"
        assert httpx.get(url, trust_env=False).status_code == 200
        assert halves[0].recv(100).startswith(b"HTTP/1.1 408 ")
        idle = connect(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(1000).startswith(b"HTTP/1.1 200 ")
        slow = [connect(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n") for _ in range(4)]
        for _ in range(100):  # until all of them are being answered
            if (refused := converse(crowded_port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(
                b"HTTP/1.1 503 "
            ):
                break
        assert refused.startswith(b"HTTP/1.1 503 ")
        assert [each.recv(1000)[:13] for each in slow] == [b"HTTP/1.1 200 "] * 4
