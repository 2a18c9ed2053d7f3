"""Every kind of response behind the usual middleware of hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
from integration.hosts.users import MESSAGE, build_agent
from integration.outcome_agent import serve_on_socket
from litestar import Litestar
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.config.compression import CompressionConfig
from litestar.config.cors import CORSConfig
from litestar.middleware import ASGIMiddleware
from litestar.middleware.session.server_side import ServerSideSessionConfig
from litestar.types import ASGIApp, Receive, Scope, Send
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response

from a2a_runtime.auth import OpenGate
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.starlette import mount_agents
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS

PAGE = "https://page.example"
HOST = "agent.example"
HEADERS = {"A2A-Version": "1.0", "Host": HOST}
SETTINGS = replace(FAST_SETTINGS, cors_origins=(PAGE,))


class TimingMiddleware(BaseHTTPMiddleware):
    """The sample of the manuals of Starlette and FastAPI."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Add a header to the response."""
        response = await call_next(request)
        response.headers["X-Process-Time"] = "1"
        return response


class LitestarTiming(ASGIMiddleware):
    """The same in Litestar."""

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Add a header to the response."""

        async def send_with_header(message: Any) -> None:  # noqa: ANN401 - of ASGI
            if message["type"] == "http.response.start":
                message["headers"].append((b"x-process-time", b"1"))
            await send(message)

        await next_app(scope, receive, send_with_header)


def build_starlette(middleware: Middleware) -> object:
    """Build a host of Starlette with one middleware."""
    host = Starlette(middleware=[middleware])
    mount_agents(host, "/agent", Surface(build_agent(), gate=OpenGate()), settings=SETTINGS)
    return host


def build_litestar(**options: Any) -> object:  # noqa: ANN401 - of the host
    """Build a host of Litestar with some options."""
    plugin = A2APlugin(
        Surface(build_agent(), "/agent", gate=OpenGate()), store="memory", settings=SETTINGS
    )
    return Litestar(plugins=[plugin], **options)


HOSTS: Mapping[str, tuple[Callable[[], object], str]] = {
    "Starlette, a header": (
        lambda: build_starlette(Middleware(TimingMiddleware)),
        "x-process-time",
    ),
    "Starlette, GZip": (lambda: build_starlette(Middleware(GZipMiddleware, minimum_size=1)), ""),
    "Starlette, CORS": (
        lambda: build_starlette(Middleware(CORSMiddleware, allow_origins=[PAGE])),
        "access-control-allow-origin",
    ),
    "Starlette, hosts": (
        lambda: build_starlette(Middleware(TrustedHostMiddleware, allowed_hosts=[HOST])),
        "",
    ),
    "Litestar, a header": (lambda: build_litestar(middleware=[LitestarTiming()]), "x-process-time"),
    "Litestar, gzip": (
        lambda: build_litestar(compression_config=CompressionConfig("gzip", minimum_size=1)),
        "",
    ),
    "Litestar, CORS": (
        lambda: build_litestar(cors_config=CORSConfig(allow_origins=[PAGE])),
        "access-control-allow-origin",
    ),
    "Litestar, hosts": (lambda: build_litestar(allowed_hosts=AllowedHostsConfig([HOST])), ""),
    "Litestar, sessions": (
        lambda: build_litestar(middleware=[ServerSideSessionConfig().middleware]),
        "",
    ),
}
"""How each host is built, and the header that its middleware adds."""


@pytest.mark.parametrize("name", HOSTS)
def test_every_kind_of_response_passes(name: str) -> None:
    """Cards, results and errors as JSON, streams of both bindings, and the rest of a stream."""
    build, header = HOSTS[name]
    origin = {"Origin": PAGE} if header.startswith("access-control") else {}
    with serve_on_socket(build()) as client:

        def ask(verb: str, path: str, body: object = None, **headers: str) -> httpx.Response:
            response = client.request(
                verb, f"/agent{path}", json=body, headers={**HEADERS, **origin, **headers}
            )
            assert not header or header in response.headers
            return response

        call = {"jsonrpc": "2.0", "id": 1, "params": MESSAGE}
        assert ask("GET", "/.well-known/agent-card.json").json()["name"] == "who"
        task = ask("POST", "/message:send", MESSAGE).json()["task"]
        assert (
            ask("POST", "", {**call, "method": "SendMessage"}).json()["result"]["task"]["status"][
                "state"
            ]
            == "TASK_STATE_COMPLETED"
        )
        assert ask("GET", f"/tasks/{task['id']}").json()["id"] == task["id"]
        assert ask("GET", "/tasks/unknown").status_code == httpx.codes.NOT_FOUND
        stream = ask("POST", "/message:stream", MESSAGE).text
        assert "TASK_STATE_COMPLETED" in stream
        assert (
            "TASK_STATE_COMPLETED"
            in ask("POST", "", {**call, "method": "SendStreamingMessage"}).text
        )
        rest = ask("POST", f"/tasks/{task['id']}:subscribe", **{"Last-Event-ID": "1"}).text
        assert "TASK_STATE_COMPLETED" in rest
        assert rest.count("data:") == stream.count("data:") - 1
