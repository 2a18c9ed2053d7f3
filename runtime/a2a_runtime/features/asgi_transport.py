"""ASGI transport for httpx clients in the same process, with real streaming.

Loaded where the explorer or a test calls an app of its own process.

The transport of httpx waits for the complete response: a stream that waits for its reader would
never end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

import httpx
from litestar.types import HTTPReceiveMessage, HTTPScope, HTTPSendMessage

_MessageQueue: TypeAlias = "asyncio.Queue[HTTPSendMessage | BaseException | None]"
BuildScope: TypeAlias = Callable[[httpx.Request], HTTPScope]
"""Builds the scope of a request."""
_CLOSING_SECONDS = 5


class StreamingAsgiTransport(httpx.AsyncBaseTransport):
    """Requests to an app of this process."""

    def __init__(self, app: Callable[..., Any], build_scope: BuildScope) -> None:
        self._app = app
        self._build_scope = build_scope

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request to the app, and return as soon as the response starts."""
        body = await request.aread()
        scope = self._build_scope(request)
        messages: _MessageQueue = asyncio.Queue()
        gone = asyncio.Event()
        task = asyncio.create_task(self._run(scope, body, messages, gone))
        try:
            start = await messages.get()
        except asyncio.CancelledError:
            await _disconnect(task, gone)
            raise
        if isinstance(start, BaseException):
            raise start
        if start is None or start["type"] != "http.response.start":
            raise httpx.RemoteProtocolError("app: no response")
        return httpx.Response(
            start["status"],
            headers=list(start["headers"]),
            stream=_ResponseStream(messages, task, gone),
        )

    async def _run(
        self, scope: HTTPScope, body: bytes, messages: _MessageQueue, disconnected: asyncio.Event
    ) -> None:
        sent = False

        async def receive() -> HTTPReceiveMessage:
            nonlocal sent
            if not sent:
                sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await disconnected.wait()
            return {"type": "http.disconnect"}

        async def send(message: HTTPSendMessage) -> None:
            messages.put_nowait(message)

        try:
            await self._app(scope, receive, send)
            messages.put_nowait(None)
        # broad: whatever the app raises is raised where it was called
        except Exception as error:  # noqa: BLE001
            messages.put_nowait(error)


class _ResponseStream(httpx.AsyncByteStream):
    def __init__(
        self, messages: _MessageQueue, task: asyncio.Task[None], disconnected: asyncio.Event
    ) -> None:
        self._messages = messages
        self._task = task
        self._disconnected = disconnected

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._messages.get()
            if isinstance(message, BaseException):
                raise message
            if message is None or message["type"] != "http.response.body":
                return
            if message["body"]:
                yield message["body"]
            if not message["more_body"]:
                return

    async def aclose(self) -> None:
        await _disconnect(self._task, self._disconnected)


async def _disconnect(task: asyncio.Task[None], disconnected: asyncio.Event) -> None:
    """Signal a disconnect, and wait for the app to end."""
    disconnected.set()
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await asyncio.wait((task,))


def copy_target(request: httpx.Request, path: str) -> MutableMapping[str, Any]:
    """Build the members of a scope that name the target of a request."""
    raw_path = request.url.raw_path.split(b"?")[0]
    if path != request.url.path:
        raw_path = path.encode()
    return {
        "method": request.method,
        "path": path,
        "raw_path": raw_path,
        "query_string": request.url.query,
    }
