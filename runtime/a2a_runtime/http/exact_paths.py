"""Shortcut past the router to the endpoints of surfaces whose paths have no parameters.

Litestar looks a path up, copies the scope, keeps a state for it and prepares to turn exceptions
into responses. These endpoints use none of that, and it was an eighth of the cost of a message in
the process. A request takes the shortcut only where nothing of a host would run on the other way.
That is decided for each route when the app starts:

    around the router       CORS, the middleware of a plugin: no shortcut in the app
    for all routes          ``before_send``, ``after_exception``, CSRF, compression, allowed hosts,
                            an exception handler: no shortcut in the app
    for one route           middleware, guards, ``before_request``, ``after_request``,
                            ``after_response``, headers and cookies of its responses,
                            a request class, an exception handler: no shortcut to the route

What an app wraps around itself later runs before the shortcut.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import Any

from litestar import Litestar, Request
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send

from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.http.mounting import is_host_handler
from a2a_runtime.http.start_errors import shorten_failures

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Litestar's own types leave open what its handlers and hooks take.

_HOST = re.compile(rb"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")
"""The hosts that Litestar's router accepts."""
_LIFESPAN = "lifespan"


class ExactPathRouter:
    """Calls the endpoint of exactly this path, or else the router, which also knows other spellings
    of a path.
    """

    def __init__(self, router: ASGIApp, endpoints: Mapping[str, ASGIApp]) -> None:
        self._router = router
        self._endpoints = endpoints
        self._valid_host = b""
        """The host of the last request, which is that of most others."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Call the endpoint of a path, or the router."""
        return (self.find(scope) or self._router)(scope, receive, send)

    def find(self, scope: Scope) -> ASGIApp | None:
        """Find the endpoint of a path; none for a request with an invalid host, which the router
        refuses.
        """
        path = scope["path"]
        if path not in self._endpoints or scope.get("root_path"):
            return None
        for name, value in scope["headers"]:
            if name == b"host":
                if value != self._valid_host:
                    if not _HOST.fullmatch(value):
                        return None
                    self._valid_host = value
                break
        return self._endpoints[path]


class ShortcutApp(Litestar):
    """A Litestar app of agents and nothing else, which calls their endpoints before it does
    anything itself.

    Litestar's own call only keeps a state and prepares hooks that these endpoints do not have: it
    was a twentieth of a read (measured).
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - those of a lifespan are of other types
        """Call the endpoint of a path while the shortcut is the outermost handler, or the
        framework.
        """
        if scope["type"] == _LIFESPAN:
            return await super().__call__(scope, receive, shorten_failures(send))
        shortcut = self.asgi_handler
        endpoint = shortcut.find(scope) if isinstance(shortcut, ExactPathRouter) else None
        if endpoint is None:
            return await super().__call__(scope, receive, send)
        scope["litestar_app"] = self
        return await endpoint(scope, receive, send)


def install_shortcut(app: Litestar, endpoints: Mapping[str, ASGIApp]) -> None:
    """Put the shortcut before the router of an app, unless something else is around the router."""
    if (
        getattr(app.asgi_handler, "app", None) is app.asgi_router
    ):  # only what turns the exceptions of the router into responses
        app.asgi_handler = ExactPathRouter(app.asgi_handler, endpoints)


def find_exact_paths(
    app: Litestar, surfaces: Iterable[SurfaceEndpoints]
) -> Iterator[tuple[str, ASGIApp]]:
    """Find the paths without parameters whose endpoints may be called past the router."""
    if (
        app.before_send
        or app.after_exception
        or app.csrf_config
        or app.compression_config
        or app.allowed_hosts
    ):
        return
    routes = {route.path: route for route in app.routes if isinstance(route, HTTPRoute)}
    prefix = app.path.rstrip("/")
    for each in surfaces:
        for path, endpoint in each.by_exact_path().items():
            route = routes.get((prefix + path).rstrip("/") or "/")
            if route is not None and not any(map(_has_host_layers, route.route_handlers)):
                yield route.path, endpoint


def _has_host_layers(handler: HTTPRouteHandler) -> bool:
    """Tell whether anything of a host runs around a handler."""
    hooks = (
        handler.resolve_before_request(),
        handler.resolve_after_response(),
        *(layer.after_request for layer in handler.ownership_layers),
    )
    stack = (
        *handler.resolve_middleware(),
        *handler.resolve_guards(),
        *handler.resolve_response_headers(),
        *handler.resolve_response_cookies(),
    )
    has_handlers = any(map(is_host_handler, handler.resolve_exception_handlers().values()))
    return bool(
        any(hooks)
        or stack
        or handler.cache
        or has_handlers
        or handler.resolve_request_class() is not Request
    )
