"""Surfaces in a Litestar app: controllers, checks for conflicts with other routes, and errors of
the router.

Below the path of a surface every response is one of the protocol, also to paths and methods that do
not exist and to requests that a guard refuses. Everywhere else the host's exception handlers
decide.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias

from litestar import Controller, Litestar, Request, Response, Router
from litestar.exceptions import (
    HTTPException,
    ImproperlyConfiguredException,
    MethodNotAllowedException,
    NotFoundException,
)
from litestar.exceptions.responses import create_exception_response
from litestar.handlers import BaseRouteHandler
from litestar.types import ControllerRouterHandler, ExceptionHandlersMap, HTTPScope

from a2a_contract.controllers import (
    AgentController,
    CardController,
    HttpV03Controller,
    HttpV10Controller,
    JsonRpcController,
)
from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import (
    ERRORS,
    A2AError,
    InternalError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
    VersionNotSupportedError,
)
from a2a_runtime.auth.gate import ChallengeError
from a2a_runtime.http.asgi import HttpRequest, path_within
from a2a_runtime.http.dispatcher import Dispatcher
from a2a_runtime.http.endpoints import SurfaceEndpoints
from a2a_runtime.http.host_routes import apply_route_options, find_endpoints
from a2a_runtime.http.pages import HTML, FindPage, wants_page
from a2a_runtime.http.rest import allowed_methods_at
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.surface import Surface

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUnknownLambdaType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.

AnyRequest: TypeAlias = "Request[Any, Any, Any]"  # users and tokens are the host's

log = logging.getLogger(__name__)

_PARAMETER = re.compile(r"\{[^}]*\}")
_REST_CONTROLLERS: Mapping[str, type[AgentController]] = {
    V1_0.name: HttpV10Controller,
    V0_3.name: HttpV03Controller,
}
_ERRORS_BY_STATUS: Mapping[int, type[A2AError]] = {
    **{row.http: error for error, row in reversed(tuple(ERRORS.items()))},
    HTTPStatus.BAD_REQUEST: InvalidRequestError,
    HTTPStatus.NOT_FOUND: MethodNotFoundError,
}


def build_controllers(endpoints: SurfaceEndpoints) -> list[type[AgentController]]:
    """Build the controllers of a surface."""
    dispatcher = endpoints.dispatcher
    surface = dispatcher.surface
    kinds: list[type[AgentController]] = [JsonRpcController, CardController]
    kinds += [each for name, each in _REST_CONTROLLERS.items() if name in surface.dialects]
    for variant in surface.wire:
        kinds += variant.list_controllers()
    for feature in dispatcher.features:
        kinds += feature.list_controllers(surface)
    controllers = [kind.at(surface.path or "/", endpoints) for kind in kinds]
    for controller in controllers:
        controller.exception_handlers = {Exception: ProtocolErrorHandler(dispatcher)}
        apply_route_options(controller, surface)
    return controllers


def check_paths(
    endpoints: Sequence[SurfaceEndpoints], host_handlers: Iterable[ControllerRouterHandler]
) -> None:
    """Refuse two surfaces at one path, and a surface whose routes conflict with those of the host
    or of another surface.
    """
    taken = dict(list_routes(host_handlers))
    by_path: dict[str, Surface] = {}
    for each in endpoints:
        surface = each.dispatcher.surface
        other = by_path.setdefault(surface.path, surface)
        if other is not surface:
            raise ImproperlyConfiguredException(
                f"{surface}: {other} has the same path; set another path="
            )
        routes = [route for route, _ in list_routes(build_controllers(each))]
        for route in routes:
            if route in taken:
                raise ImproperlyConfiguredException(
                    f"{surface}: its route {route} is taken by {taken[route]}; move that "
                    "route, or set another path="
                )
        taken.update(dict.fromkeys(routes, str(surface)))
    for path, surface in by_path.items():
        if (above := by_path.get(path.rpartition("/")[0])) is not None and path:
            log.info("%s: hides tenant %r of %s", surface, path.rpartition("/")[2], above)


def check_free(app: Litestar, endpoints: SurfaceEndpoints) -> None:
    """Refuse a surface with a route that an app has."""
    taken = {_blank_parameters(route.path) for route in app.routes}
    for route, _ in list_routes(build_controllers(endpoints), app.path):
        if route in taken:
            raise ImproperlyConfiguredException(
                f"{endpoints.dispatcher.surface}: its route {route} is taken; set another path="
            )


def register_routes(app: Litestar, endpoints: SurfaceEndpoints) -> None:
    """Add the routes of a surface to an app that is running."""
    for controller in build_controllers(endpoints):
        app.register(controller)
    _rebuild_router(app)


def unregister_routes(app: Litestar, endpoints: SurfaceEndpoints) -> None:
    """Remove the routes of a surface from an app that is running."""
    app.routes[:] = [route for route in app.routes if find_endpoints(route) is not endpoints]
    _rebuild_router(app)


def _rebuild_router(app: Litestar) -> None:
    """Build the router again, in place: Litestar only adds routes to it, and keeps what it has
    found for a path.
    """
    app.asgi_router.__init__(app)  # type: ignore[misc]  # the app holds on to this object
    app.asgi_router.construct_routing_trie()


def list_routes(
    handlers: Iterable[ControllerRouterHandler], prefix: str = "/"
) -> Iterator[tuple[str, str]]:
    """List the paths of handlers, with blank parameters, and the names of the handlers."""
    for each in handlers:
        if isinstance(each, Router):
            for route in each.routes:
                yield _blank_parameters(prefix, route.path), ", ".join(route.handler_names)
        elif isinstance(each, type) and issubclass(each, Controller):
            members = (getattr(each, name) for name in dir(each))
            own = [member for member in members if isinstance(member, BaseRouteHandler)]
            # Without a path of its own, a controller has the slot of the attribute there.
            path: object = getattr(each, "path", None)
            for route_path, name in list_routes(own, path if isinstance(path, str) else "/"):
                yield route_path, f"{each.__name__}: {name}"
        elif isinstance(each, BaseRouteHandler):
            yield from ((_blank_parameters(prefix, path), str(each)) for path in each.paths)


def _blank_parameters(*parts: str) -> str:
    pieces = filter(None, "/".join(parts).split("/"))
    return "/" + "/".join(_PARAMETER.sub("{}", piece) for piece in pieces)


class ProtocolErrorHandler:
    """Exception handler of the routes of a surface."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def __call__(self, request: AnyRequest, error: Exception) -> Response[bytes]:
        """Respond in the dialect of the surface."""
        return protocol_response(self._dispatcher, request, error)


def protocol_response(
    dispatcher: Dispatcher, request: AnyRequest, error: Exception
) -> Response[bytes]:
    """Build an error response in the dialect of a surface."""
    scope = request.scope
    path = path_within(scope, dispatcher.surface.path)
    binding = ProtocolBinding.HTTP if path else ProtocolBinding.JSONRPC
    http_request = HttpRequest(scope, request.receive, request.send, binding)
    try:
        if isinstance(
            error, NotFoundException
        ):  # the path may exist in a version that is not supported
            dispatcher.supported_dialects.check_path(http_request.version, path or "")
        error = _translate_error(error, dispatcher, path or "")
    except VersionNotSupportedError as unsupported:
        error = unsupported
    status, body, headers = dispatcher.render_error(http_request, error)
    text_headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    return Response(
        body,
        status_code=status,
        headers=text_headers,
        media_type=http_request.response_media_type().decode(),
    )


def _translate_error(error: Exception, dispatcher: Dispatcher, path: str) -> Exception:
    """Translate an exception of Litestar to an error of the contract; the text of a guard is
    kept.
    """
    if not isinstance(error, HTTPException):
        return error
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    default: type[A2AError] = InternalError
    if error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        default = InvalidRequestError
    kind = _ERRORS_BY_STATUS.get(error.status_code, default)
    if issubclass(kind, UnauthenticatedError):
        return ChallengeError(headers.get("www-authenticate", ""), error.detail)
    if issubclass(kind, MethodNotAllowedError):
        allowed = ", ".join(allowed_methods_at(dispatcher, path)) or headers.get("allow", "")
        return kind(details={"allow": allowed})
    if issubclass(kind, PermissionDeniedError | InvalidRequestError):
        return kind(error.detail)
    return kind()


class UnroutedRequestHandler:
    """Exception handler of the app for requests without a route, and for requests with an invalid
    ``Host``.
    """

    STATUSES = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)

    def __init__(
        self,
        get_dispatchers: Callable[[], Sequence[Dispatcher]],
        host_handlers: ExceptionHandlersMap,
        find_page: FindPage | None = None,
    ) -> None:
        self._get_dispatchers = get_dispatchers
        self._find_page = find_page
        self._host_handlers = dict(host_handlers)

    @property
    def has_host_handlers(self) -> bool:
        """True if the host has exception handlers, of these statuses or others."""
        return any(is_host_handler(each) for each in self._host_handlers.values())

    def __call__(self, request: AnyRequest, error: Exception) -> Response[Any]:
        """Respond as the surface whose path the request is below, or leave it to the host."""
        page = self._build_page(request)
        if page is not None:
            return page
        dispatcher: Dispatcher | None = None
        handlers = {**self._host_handlers}
        is_routed = "route_handler" in request.scope
        if is_routed:
            layers = request.scope["route_handler"].resolve_exception_handlers()
            handlers.update((key, each) for key, each in layers.items() if each is not self)
        else:
            dispatcher = self._find_dispatcher(request.scope, error)
        handler = _select_handler(error, handlers)
        # At the root, a handler of the host takes precedence.
        if dispatcher is not None and (dispatcher.surface.path or handler is None):
            return protocol_response(dispatcher, request, error)
        if handler is None:
            return create_exception_response(request, error)
        return handler(request, error)

    def _build_page(self, request: AnyRequest) -> Response[bytes] | None:
        """Build the page for a browser at the root of an app whose agents are elsewhere."""
        if self._find_page is None or path_within(request.scope, ""):
            return None
        if not wants_page(request.method, dict(request.scope["headers"])):
            return None
        page = self._find_page(request.scope)
        if page is None:
            return None
        headers = {name.decode(): value.decode() for name, value in page.headers}
        return Response(page.body, media_type=HTML, headers={**headers, "vary": "Accept"})

    def _find_dispatcher(self, scope: HTTPScope, error: Exception) -> Dispatcher | None:
        """Find the surface of a path; for a method that is not allowed, only if the path is one of
        the surface's own.
        """
        for dispatcher in sorted(
            self._get_dispatchers(), key=lambda each: len(each.surface.path), reverse=True
        ):
            if (path := path_within(scope, dispatcher.surface.path)) is not None:
                is_own = not isinstance(error, MethodNotAllowedException) or allowed_methods_at(
                    dispatcher, path
                )
                if is_own:
                    return dispatcher
                return None
        return None


def is_host_handler(handler: object) -> bool:
    """Tell whether an exception handler is neither one of ours nor the one that every app of
    Litestar has, for exceptions of Starlette.
    """
    if isinstance(handler, UnroutedRequestHandler):
        return handler.has_host_handlers
    return not isinstance(handler, ProtocolErrorHandler) and not str(handler.__module__).startswith(
        "litestar.middleware._internal"
    )


def _select_handler(
    error: Exception, handlers: ExceptionHandlersMap
) -> Callable[[AnyRequest, Any], Response[Any]] | None:
    """Select the handler that Litestar would: by status before by class."""
    by_status = handlers.get(error.status_code) if isinstance(error, HTTPException) else None
    return by_status or next(
        (handlers[kind] for kind in type(error).__mro__ if kind in handlers), None
    )
