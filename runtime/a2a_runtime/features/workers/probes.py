"""Probes of a worker for orchestrators, over a small HTTP server of their own port.

    GET /livez     200 while the event loop of the worker runs
    GET /ready     200 while the worker fetches jobs and reaches the database, else 503

Both answer with the state in one word, as JSON: the names of queues and skills are for those who
can read the log. Anything else is 404, and nothing but the first line of a request is read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

from a2a_runtime.features.workers.worker import WorkerState
from a2a_runtime.plugin import LIVE_PATH, READY_PATH

_READ_SECONDS = 5.0
_MAX_LINE_BYTES = 4096


@asynccontextmanager
async def serve_probes(state: WorkerState, host: str, port: int) -> AsyncGenerator[int]:
    """Serve the probes of a worker and yield the port; 0 takes a free one."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):  # a line that is too long is a ValueError
            async with asyncio.timeout(_READ_SECONDS):
                line = await reader.readline()
                writer.write(build_response(line.decode("latin-1"), state))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, port, limit=_MAX_LINE_BYTES)
    async with server:
        yield server.sockets[0].getsockname()[1]


def build_response(request_line: str, state: WorkerState) -> bytes:
    """Build the response to the first line of a request."""
    method, path = (*request_line.split(" "), "", "")[:2]
    probes = {LIVE_PATH: True, READY_PATH: state.is_ready and state.is_connected}
    passes = probes.get(path.partition("?")[0]) if method in {"GET", "HEAD"} else None
    if passes is None:
        status = HTTPStatus.NOT_FOUND
    elif passes:
        status = HTTPStatus.OK
    else:
        status = HTTPStatus.SERVICE_UNAVAILABLE
    word = "ready" if passes else "not ready"
    if path.startswith(LIVE_PATH):
        word = "alive"
    body = b"" if status is HTTPStatus.NOT_FOUND else json.dumps({"status": word}).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    if method == "HEAD":
        return head.encode()
    return head.encode() + body
