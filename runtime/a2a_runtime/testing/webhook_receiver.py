"""Webhook receiver on a local socket with scripted responses: late, invalid, or none.

async with WebhookReceiver(lambda request: WebhookResponse(503 if request.number == 1 else 204)) as
receiver:
    …                                        # deliver something to receiver.url
    assert [request.json() for request in receiver.requests] == […]
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self

_CHUNK_BYTES = 1024


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One request with its number from 1; header names are in lower case."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> object:
        """Parse the body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """A response after a delay; the body is sent in chunks with a delay before each."""

    status: int = HTTPStatus.NO_CONTENT
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    delay_seconds: float = 0.0
    chunk_delay_seconds: float = 0.0
    should_disconnect: bool = False  # instead of a response


class WebhookReceiver:
    """Listens on a free port; ``requests`` has the received requests."""

    def __init__(
        self,
        respond: Callable[[WebhookRequest], WebhookResponse] | None = None,
        *,
        port: int = 0,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.requests: list[WebhookRequest] = []
        self._respond = respond or _respond_no_content
        self._ssl_context = ssl_context
        self.port = port
        self._connections: set[asyncio.StreamWriter] = set()
        self._has_new_request, self._is_closed = asyncio.Event(), asyncio.Event()

    @property
    def url(self) -> str:
        """The URL of the webhook."""
        return f"{'https' if self._ssl_context else 'http'}://127.0.0.1:{self.port}/hook"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._handle_connection, "127.0.0.1", self.port, ssl=self._ssl_context
        )
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        self._is_closed.set()
        for connection in self._connections:
            connection.transport.abort()
        # closing takes a few iterations of the event loop
        while self._connections:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await self._server.wait_closed()

    async def wait_for_requests(
        self, count: int, timeout_seconds: float = 10.0
    ) -> list[WebhookRequest]:
        """Wait until that many requests have arrived."""
        async with asyncio.timeout(timeout_seconds):
            while len(self.requests) < count:
                self._has_new_request.clear()
                await self._has_new_request.wait()
        return self.requests

    async def _handle_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._connections.add(writer)
        try:
            while await self._handle_request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, OSError):
            # the client disconnected
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _handle_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        method, path, _ = first.split(" ")
        call = WebhookRequest(
            len(self.requests) + 1,
            method,
            path,
            headers,
            await reader.readexactly(int(headers.get("content-length", 0))),
        )
        self.requests.append(call)
        self._has_new_request.set()
        reply = self._respond(call)
        await self._sleep(reply.delay_seconds)
        if reply.should_disconnect:
            return False
        await self._write_response(writer, reply)
        return True

    async def _write_response(
        self, writer: asyncio.StreamWriter, response: WebhookResponse
    ) -> None:
        length = (
            {}
            if response.status == HTTPStatus.NO_CONTENT
            else {"Content-Length": str(len(response.body))}
        )
        headers = [f"{name}: {value}" for name, value in {**length, **response.headers}.items()]
        writer.write(
            "\r\n".join(
                [
                    f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}",
                    *headers,
                    "",
                    "",
                ]
            ).encode("latin-1")
        )
        for start in range(0, len(response.body), _CHUNK_BYTES):
            await self._sleep(response.chunk_delay_seconds)
            writer.write(response.body[start : start + _CHUNK_BYTES])
            await writer.drain()
        await writer.drain()

    async def _sleep(self, seconds: float) -> None:
        """Wait, at most until the receiver closes."""
        if seconds:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._is_closed.wait()


def _respond_no_content(_call: WebhookRequest) -> WebhookResponse:
    return WebhookResponse()
