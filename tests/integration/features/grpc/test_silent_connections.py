"""``a2a-gen serve`` with a gRPC port, where silent clients open more connections than the process
has descriptors.
"""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import httpx
from integration.serve_command import run_serve, write_project

from a2a_runtime.testing.ports import find_free_port

DESCRIPTORS = 160
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FORMS = (b"", PREFACE[:12], PREFACE + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
"""Nothing, half of the beginning of HTTP/2, and a beginning without calls."""

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def test_silent_connections_leave_descriptors(tmp_path: Path) -> None:
    """Probes and calls over HTTP are answered meanwhile."""
    write_project(tmp_path, 'dialects = ["1.0"]\nsurfaces = [{ path = "/" }]\nstore = "memory"')
    port = find_free_port()
    grpc_port = find_free_port()
    arguments = ("--port", str(port), "--grpc", f"127.0.0.1:{grpc_port}")
    url = f"http://127.0.0.1:{port}"
    with (
        httpx.Client(
            base_url=url, trust_env=False, timeout=10, headers={"Connection": "close"}
        ) as client,
        run_serve(
            tmp_path,
            lambda: client.get("/livez"),
            httpx.TransportError,
            *arguments,
            descriptors=DESCRIPTORS,
        ),
        contextlib.ExitStack() as stack,
    ):
        for form in FORMS:
            for _ in range(DESCRIPTORS):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", grpc_port)))
                with contextlib.suppress(ConnectionError):  # it is one too many
                    connection.sendall(form)
            assert client.get("/livez").status_code == httpx.codes.OK
            reply = client.post(
                "/message:send", json={"message": MESSAGE}, headers={"A2A-Version": "1.0"}
            )
            assert "HI" in reply.text
