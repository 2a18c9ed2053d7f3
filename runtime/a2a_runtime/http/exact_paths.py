"""Shortcut past the router to the handlers of surfaces whose paths have no parameters.

Litestar looks a path up, copies the scope, keeps a state for it and prepares to turn exceptions
into responses. These handlers use none of that, and it was an eighth of the cost of a message in
the process. The shortcut has no paths of its own: it finds them, with their handlers, in the routes
of the app. So the generated handler serves on both ways. A request takes the shortcut only where
nothing of a host would run on the other way. That is decided for each route when the app starts:

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
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from litestar import Litestar, Request
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp, Receive, Scope, Send

from a2a_runtime.http.host_routes import find_endpoints
from a2a_runtime.http.mounting import is_host_handler
from a2a_runtime.http.start_errors import shorten_failures

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# Litestar's own types leave open what its handlers and hooks take.

Handler: TypeAlias = Callable[[], Awaitable[ASGIApp]]
"""A handler of the contract, bound to the controller of its surface: it returns the endpoint."""

_HOST = re.compile(rb"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")
"""The hosts that Litestar's router accepts."""
_LIFESPAN = "lifespan"


class ExactPathRouter:
    """Calls the endpoint that the handler of exactly this path returns, or else the router, which
    also knows other spellings of a path.
    """

    def __init__(self, router: ASGIApp, handlers: Mapping[str, Handler]) -> None:
        self._router = router
        self._handlers = handlers
        self._valid_host = b""
        """The host of the last request, which is that of most others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint of a path, or the router."""
        handler = self.find(scope)
        endpoint = self._router if handler is None else await handler()
        return await endpoint(scope, receive, send)

    def find(self, scope: Scope) -> Handler | None:
        """Find the handler of a path; none for a request with an invalid host, which the router
        refuses.
        """
        path = scope["path"]
        if path not in self._handlers or scope.get("root_path"):
            return None
        for name, value in scope["headers"]:
            if name == b"host":
                if value != self._valid_host:
                    if not _HOST.fullmatch(value):
                        return None
                    self._valid_host = value
                break
        return self._handlers[path]


class ShortcutApp(Litestar):
    """A Litestar app of agents and nothing else, which asks their handlers before it does anything
    itself.

    Litestar's own call only keeps a state and prepares hooks that these handlers do not have: it
    was a twentieth of a read (measured).
    """

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - those of a lifespan are of other types
        """Call the endpoint of a path while the shortcut is the outermost handler, or the
        framework.
        """
        if scope["type"] == _LIFESPAN:
            return await super().__call__(scope, receive, shorten_failures(send))
        shortcut = self.asgi_handler
        handler = shortcut.find(scope) if isinstance(shortcut, ExactPathRouter) else None
        if handler is None:
            return await super().__call__(scope, receive, send)
        scope["litestar_app"] = self
        endpoint = await handler()
        return await endpoint(scope, receive, send)


def install_shortcut(app: Litestar, handlers: Mapping[str, Handler]) -> None:
    """Put the shortcut before the router of an app, unless something else is around the router."""
    if (
        getattr(app.asgi_handler, "app", None) is app.asgi_router
    ):  # only what turns the exceptions of the router into responses
        app.asgi_handler = ExactPathRouter(app.asgi_handler, handlers)


def find_exact_paths(app: Litestar) -> Iterator[tuple[str, Handler]]:
    """Find the paths without parameters whose handlers may be called past the router."""
    if (
        app.before_send
        or app.after_exception
        or app.csrf_config
        or app.compression_config
        or app.allowed_hosts
    ):
        return
    for route in app.routes:
        if not isinstance(route, HTTPRoute) or find_endpoints(route) is None:
            continue
        handlers = route.route_handlers  # one of the contract, for every HTTP method
        if not route.path_parameters and not any(map(_has_host_layers, handlers)):
            yield route.path, handlers[0].fn


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
