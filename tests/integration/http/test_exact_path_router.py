"""The exact-path router: its responses are those of Litestar's router, and it passes by nothing of
a host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from integration.outcome_agent import build_test_agent
from litestar import Litestar, Request, Response
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.config.compression import CompressionConfig
from litestar.config.cors import CORSConfig
from litestar.config.csrf import CSRFConfig
from litestar.datastructures import Cookie, ResponseHeader
from litestar.testing import TestClient
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from a2a_runtime.app import create_app
from a2a_runtime.auth.gate import OpenGate
from a2a_runtime.http.exact_paths import ExactPathRouter
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.settings import Settings
from a2a_runtime.surface import RouteOptions, Surface

PATHS = [
    "/agent",
    "/agent/",
    "/agent/.well-known/agent-card.json",
    "/agent/.well-known/agent-card.json/",
    "/agent/tasks",
    "/agent/tasks/none",
    "/agent/message:send",
    "/agent/v1/card",
    "/agent/acme/tasks",
    "/agent/nothing",
    "/nothing",
]
CARDS = ["/agent/.well-known/agent-card.json", "/agent/.well-known/agent.json"]
EXACT = [
    "/agent",
    *CARDS,
    *(
        f"/agent/{path}"
        for path in ("extendedAgentCard", "message:send", "message:stream", "tasks")
    ),
    *(f"/agent/v1/{path}" for path in ("card", "message:send", "message:stream", "tasks")),
]
CALL = {"jsonrpc": "2.0", "id": 7, "method": "GetTask", "params": {"id": "none"}}
ORIGIN = "https://page.example"
KEY = "only for this test"


def surface(routes: RouteOptions | None = None) -> Surface:
    """Mount an agent at a path."""
    return Surface(build_test_agent(), "/agent", gate=OpenGate(), routes=routes or RouteOptions())


def host(
    mounted: Surface | None = None,
    **options: Any,  # noqa: ANN401 - as in Litestar
) -> tuple[Litestar, A2APlugin]:
    """Build an app of a host with an agent."""
    plugin = A2APlugin(mounted or surface())
    return Litestar(plugins=[plugin], logging_config=None, **options), plugin


async def pass_on(_message: Message, _scope: Scope) -> None:
    """Do nothing before a response is sent."""


def collect_responses(client: TestClient[Litestar], path: str) -> list[tuple[int, bytes]]:
    """Send a request with each method, and one with an invalid host."""
    responses = [
        client.request(method, path, json=CALL if method == "POST" else None)
        for method in ("GET", "POST", "HEAD", "OPTIONS", "PUT")
    ]
    responses.append(client.post(path, json=CALL, headers={"Host": "a b"}))
    return [(each.status_code, each.content) for each in responses]


@pytest.mark.parametrize("root_path", ["", "/agent", "/proxy"])
def test_both_routers_respond_alike(root_path: str) -> None:
    """For every spelling of a path, every method and every root path, responses with and without
    the shortcut are the same.
    """
    exact = create_app(surface())
    mounted, plugin = host()
    full, slow_plugin = host(before_send=[pass_on])
    with (
        TestClient(exact, root_path=root_path) as one,
        TestClient(mounted, root_path=root_path) as other,
        TestClient(full, root_path=root_path) as slow,
    ):
        assert isinstance(exact.asgi_handler, ExactPathRouter)
        assert sorted(plugin.exact_paths) == sorted(EXACT)
        assert slow_plugin.exact_paths == {}
        for path in PATHS:
            expected = collect_responses(slow, path)
            assert collect_responses(one, path) == expected
            assert collect_responses(other, path) == expected


def test_an_app_below_a_path_has_the_shortcut_there() -> None:
    """The path of the app is part of each exact path, and an agent at the root has one too."""
    app, plugin = host(Surface(build_test_agent(), "", gate=OpenGate()), path="/v2")
    with TestClient(app) as client:
        assert "/v2" in plugin.exact_paths
        assert client.post("/v2", json=CALL).json()["error"]["code"] == -32001
    assert plugin.exact_paths == {}


def test_cors_headers_are_sent_at_the_endpoint_too() -> None:
    """With CORS there is no shortcut, since it would skip the middleware."""
    app = create_app(surface(), settings=Settings(cors_origins=(ORIGIN,)))
    with TestClient(app) as client:
        response = client.post("/agent", json=CALL, headers={"Origin": ORIGIN})
    assert response.headers["access-control-allow-origin"] == ORIGIN


class Calls(list[str]):
    """The paths at which something of a host was called, and what a host may add to an app."""

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Note the path in a middleware."""

        async def note(scope: Scope, receive: Receive, send: Send) -> None:
            self.append(scope["path"])
            await app(scope, receive, send)

        return note

    def guard(self, connection: Any, _handler: object) -> None:  # noqa: ANN401 - as in Litestar
        """Note the path in a guard."""
        self.append(connection.scope["path"])

    async def before_request(self, request: Request[Any, Any, Any]) -> None:
        """Note the path before the handler."""
        self.append(request.scope["path"])

    async def after_request(self, response: Response[Any]) -> Response[Any]:
        """Note that the response begins."""
        self.append("")
        return response

    async def after_response(self, request: Request[Any, Any, Any]) -> None:
        """Note the path after the response."""
        self.append(request.scope["path"])

    async def before_send(self, _message: Message, scope: Scope) -> None:
        """Note the path when the response is sent."""
        self.append(scope["path"])

    def on_error(self, request: Request[Any, Any, Any], _error: Exception) -> Response[str]:
        """Note the path of a request whose exception is handled."""
        self.append(request.scope["path"])
        return Response("", status_code=418)

    def build_request_class(self) -> type[Request[Any, Any, Any]]:
        """Build a class of requests that notes the path."""
        calls = self

        class NotedRequest(Request[Any, Any, Any]):
            def __init__(
                self,
                scope: Any,  # noqa: ANN401 - as in Litestar
                *args: Any,  # noqa: ANN401 - as in Litestar
                **others: Any,  # noqa: ANN401 - as in Litestar
            ) -> None:
                super().__init__(scope, *args, **others)
                calls.append(scope["path"])

        return NotedRequest


ADDED: dict[str, Callable[[Calls], dict[str, Any]]] = {
    "middleware": lambda calls: {"middleware": [calls.middleware]},
    "guard": lambda calls: {"guards": [calls.guard]},
    "before_request": lambda calls: {"before_request": calls.before_request},
    "after_request": lambda calls: {"after_request": calls.after_request},
    "after_response": lambda calls: {"after_response": calls.after_response},
    "before_send": lambda calls: {"before_send": [calls.before_send]},
    "request class": lambda calls: {"request_class": calls.build_request_class()},
}


@pytest.mark.parametrize("path", [*EXACT, "/agent/tasks/none"])
@pytest.mark.parametrize("added", ADDED)
def test_whatever_a_host_adds_runs_for_each_route(added: str, path: str) -> None:
    """A request to a route of ours calls it, as one to a route of the host does."""
    calls = Calls()
    app, plugin = host(**ADDED[added](calls))
    with TestClient(app) as client:
        client.post(path, json=CALL)
        assert plugin.exact_paths == {}
    assert calls


@pytest.mark.parametrize("path", ["/", "/.well-known/agent-card.json", "/tasks", "/message:send"])
@pytest.mark.parametrize("key", [Exception, 400])
def test_an_exception_handler_of_a_host_has_its_turn_at_each_route(
    key: Any,  # noqa: ANN401 - a status or a class
    path: str,
) -> None:
    """It answers what the router raises for an invalid host, with an agent at the root, where the
    host takes precedence.
    """
    calls = Calls()
    app, plugin = host(
        Surface(build_test_agent(), "", gate=OpenGate()), exception_handlers={key: calls.on_error}
    )
    with TestClient(app) as client:
        assert plugin.exact_paths == {}
        assert client.post(path, json=CALL, headers={"Host": "a b"}).status_code == 418
    assert calls == [path]


@pytest.mark.parametrize("path", EXACT)
@pytest.mark.parametrize("added", ["middleware", "guard"])
def test_options_of_a_surface_run_for_each_of_its_routes(added: str, path: str) -> None:
    """Its middleware always; its guards too, unless the card is public."""
    calls = Calls()
    app, plugin = host(surface(RouteOptions(**ADDED[added](calls))))
    with TestClient(app) as client:
        client.post(path, json=CALL)
        assert plugin.exact_paths == {}
    assert calls


def test_public_cards_keep_the_shortcut_beside_guards() -> None:
    """Each route is judged by itself: the guards of a surface are not around its public cards."""
    mounted = Surface(
        build_test_agent(),
        "/agent",
        gate=OpenGate(),
        public_card=True,
        routes=RouteOptions(guards=[Calls().guard]),
    )
    app, plugin = host(mounted)
    with TestClient(app):
        assert sorted(plugin.exact_paths) == CARDS


@pytest.mark.parametrize(
    ("options", "header", "text"),
    [
        ({"response_headers": [ResponseHeader(name="x-host", value="here")]}, "x-host", "here"),
        ({"response_cookies": [Cookie(key="seen", value="yes")]}, "set-cookie", "seen=yes"),
        (
            {"cors_config": CORSConfig(allow_origins=[ORIGIN])},
            "access-control-allow-origin",
            ORIGIN,
        ),
        (
            {"compression_config": CompressionConfig("gzip", minimum_size=1)},
            "content-encoding",
            "gzip",
        ),
    ],
)
def test_headers_of_a_host_are_on_each_response(
    options: dict[str, Any], header: str, text: str
) -> None:
    """Those that it lists, and those that its configuration leads to."""
    app, _ = host(**options)
    with TestClient(app) as client:
        for path in EXACT:
            response = client.get(
                path,
                headers={
                    "Origin": ORIGIN,
                    "Accept-Encoding": "gzip",
                    "Sec-Fetch-Site": "same-origin",
                },
            )
            assert text in response.headers[header]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"csrf_config": CSRFConfig(KEY)}, 403),
        ({"allowed_hosts": AllowedHostsConfig(["other.example"])}, 400),
    ],
)
def test_requests_that_a_host_refuses_are_refused_at_each_route(
    options: dict[str, Any], status: int
) -> None:
    """By its protection against forged requests, and by its list of hosts."""
    app, _ = host(**options)
    with TestClient(app) as client:
        assert [client.post(path, json=CALL).status_code for path in EXACT] == [status] * len(EXACT)
