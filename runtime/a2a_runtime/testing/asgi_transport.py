"""ASGI transport for httpx clients in the same process, with real streaming.

async with run_app(create_app(*make_surfaces(MyService()))) as transport:
    async with MyAgentClient("http://agent", transport=transport) as client:
        report = await client.generate_report(ReportRequest(topic="tea"))
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
from litestar import Litestar
from litestar.types import HTTPScope

from a2a_runtime.features.asgi_transport import StreamingAsgiTransport


@asynccontextmanager
async def run_app(app: Litestar) -> AsyncGenerator[httpx.AsyncBaseTransport, None]:
    """Start an app, provide a transport to it, and stop it."""
    running = app.lifespan()
    await running.__aenter__()
    try:
        yield StreamingAsgiTransport(app, _build_scope)
    finally:
        # without the test's exception: the app would turn it into an exception group
        await running.__aexit__(None, None, None)


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
