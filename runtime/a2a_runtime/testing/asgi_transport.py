"""ASGI transport for httpx clients in the same process, with real streaming.

    async with run_app(create_app(*make_surfaces(MyService()))) as transport:
        async with MyAgentClient("http://agent", transport=transport) as client:
            report = await client.generate_report(ReportRequest(topic="tea"))

The transport of httpx waits for the complete response: a stream that waits for its reader would never end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import httpx
from litestar import Litestar
from litestar.types import HTTPReceiveMessage, HTTPScope, HTTPSendMessage

_MessageQueue: TypeAlias = "asyncio.Queue[HTTPSendMessage | BaseException | None]"


@asynccontextmanager
async def run_app(app: Litestar) -> AsyncGenerator[httpx.AsyncBaseTransport, None]:
    """Start an app, provide a transport to it, and stop it."""
    running = app.lifespan()
    await running.__aenter__()
    try:
        yield _StreamingAsgiTransport(app)
    finally:
        await running.__aexit__(None, None, None)  # without the test's exception: the app would turn it into an exception group


class _StreamingAsgiTransport(httpx.AsyncBaseTransport):
    def __init__(self, app: Litestar) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass a request to the app, and return as soon as the response starts."""
        body = await request.aread()
        messages: _MessageQueue = asyncio.Queue()
        gone = asyncio.Event()
        task = asyncio.create_task(self._run(request, body, messages, gone))
        try:
            start = await messages.get()
        except asyncio.CancelledError:
            await _disconnect(task, gone)
            raise
        if isinstance(start, BaseException):
            raise start
        if start is None or start["type"] != "http.response.start":
            raise httpx.RemoteProtocolError("app: no response")
        return httpx.Response(start["status"], headers=list(start["headers"]), stream=_ResponseStream(messages, task, gone))

    async def _run(self, request: httpx.Request, body: bytes, messages: _MessageQueue, disconnected: asyncio.Event) -> None:
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
            await self._app(_build_scope(request), receive, send)  # type: ignore[arg-type]  # an app takes WebSockets too
            messages.put_nowait(None)
        except Exception as error:  # noqa: BLE001 - whatever the app raises is raised where it was called
            messages.put_nowait(error)


class _ResponseStream(httpx.AsyncByteStream):
    def __init__(self, messages: _MessageQueue, task: asyncio.Task[None], disconnected: asyncio.Event) -> None:
        self._messages, self._task, self._disconnected = messages, task, disconnected

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
        async with asyncio.timeout(5):
            await asyncio.wait((task,))


def _build_scope(request: httpx.Request) -> HTTPScope:
    scope: dict[str, object] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 123),
        "root_path": "",
        "state": {},
    }
    return scope  # type: ignore[return-value]  # without the members that Litestar adds
