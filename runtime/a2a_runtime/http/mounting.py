"""Where a surface stands in an app of Litestar: its routes, and what must not stand in their way."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias

from litestar import Controller, Request, Response, Router
from litestar.exceptions import HTTPException, ImproperlyConfiguredException, MethodNotAllowedException, NotFoundException
from litestar.exceptions.responses import create_exception_response
from litestar.handlers import BaseRouteHandler
from litestar.types import ControllerRouterHandler, ExceptionHandlersMap, Guard, HTTPScope
from litestar.utils.predicates import is_async_callable

from a2a_contract.controllers import AgentController, CardController, HttpV03Controller, HttpV10Controller, JsonRpcController
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
from a2a_runtime.http.rest import allowed_methods_at
from a2a_runtime.http.skills import SkillController
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.surface import Surface

# Errors that Litestar raises itself, in the shape of the dialect that was spoken to: a path or method that is not there, a guard that refuses.
#
# Below the path of a surface every answer is the protocol's. Everywhere else a host's handlers of exceptions decide as if nothing of this was there.
#

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.


AnyRequest: TypeAlias = "Request[Any, Any, Any]"  # users and tokens are the host's matter

_BY_STATUS: Mapping[int, type[A2AError]] = {
    **{row.http: error for error, row in reversed(tuple(ERRORS.items()))},
    HTTPStatus.BAD_REQUEST: InvalidRequestError,
    HTTPStatus.NOT_FOUND: MethodNotFoundError,
}


def protocol_response(counter: Dispatcher, request: AnyRequest, error: Exception) -> Response[bytes]:
    """Answer in the shape of a surface."""
    scope = request.scope
    path = path_within(scope, counter.surface.path)
    binding = ProtocolBinding.HTTP if path else ProtocolBinding.JSONRPC
    question = HttpRequest(scope, request.receive, request.send, binding, counter.supported_dialects)
    if isinstance(error, NotFoundException):  # there may be something of the name in another version
        error = _wrong_version(counter, question, path) or error
    status, body, headers = counter.render_error(question, _translated(error, counter.surface, path or ""))
    sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    return Response(body, status_code=status, headers=sent, media_type=question.response_media_type().decode())


def _wrong_version(counter: Dispatcher, question: HttpRequest, path: str | None) -> A2AError | None:
    """Find out whether a version was meant that is not spoken here."""
    try:
        counter.supported_dialects.check_path(question.version, path or "")
    except VersionNotSupportedError as error:
        return error
    return None


def _translated(error: Exception, surface: Surface, path: str) -> Exception:
    """Say what an error of the framework is in the protocol; a guard's words to the client stay."""
    if not isinstance(error, HTTPException):
        return error
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    kind = _BY_STATUS.get(error.status_code, InvalidRequestError if error.status_code < HTTPStatus.INTERNAL_SERVER_ERROR else InternalError)
    if issubclass(kind, UnauthenticatedError):
        return ChallengeError(headers.get("www-authenticate", ""), error.detail)
    if issubclass(kind, MethodNotAllowedError):
        return kind(details={"allow": ", ".join(allowed_methods_at(surface, path)) or headers.get("allow", "")})
    return kind(error.detail) if issubclass(kind, PermissionDeniedError | InvalidRequestError) else kind()


class UnroutedRequestHandler:
    """Answers requests that the router could not place, or whose ``Host`` is none."""

    STATUSES = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)

    def __init__(self, counters: Sequence[Dispatcher], host: ExceptionHandlersMap) -> None:
        self._counters = sorted(counters, key=lambda each: len(each.surface.path), reverse=True)
        self._host = dict(host)

    def __call__(self, request: AnyRequest, error: Exception) -> Response[Any]:
        """Answer for the surface below whose path the request is, or leave it to the host."""
        is_placed = "route_handler" in request.scope
        layers = request.scope["route_handler"].resolve_exception_handlers() if is_placed else {}
        handler = _handler_of(error, {**self._host, **{key: each for key, each in layers.items() if each is not self}})
        counter = None if is_placed else self._surface_of(request.scope, error)
        if counter is not None and (counter.surface.path or handler is None):  # at the root, a host that has a word for strangers goes first
            return protocol_response(counter, request, error)
        return create_exception_response(request, error) if handler is None else handler(request, error)

    def _surface_of(self, scope: HTTPScope, error: Exception) -> Dispatcher | None:
        """Find the surface of a path; of one that is there, with other methods, only if it is the surface's own."""
        found = ((each, path_within(scope, each.surface.path)) for each in self._counters)
        counter, path = next(((each, path) for each, path in found if path is not None), (None, ""))
        is_there = isinstance(error, MethodNotAllowedException)
        return None if counter is not None and is_there and not allowed_methods_at(counter.surface, path) else counter


def _handler_of(error: Exception, handlers: ExceptionHandlersMap) -> Callable[[AnyRequest, Any], Response[Any]] | None:
    """Find the handler that Litestar would take: by status before by class."""
    by_status = handlers.get(error.status_code) if isinstance(error, HTTPException) else None
    return by_status or next((handlers[kind] for kind in type(error).__mro__ if kind in handlers), None)


# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportUnknownLambdaType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.


log = logging.getLogger(__name__)

_PARAMETER = re.compile(r"\{[^}]*\}")
_BY_DIALECT: Mapping[str, type[AgentController]] = {V1_0.name: HttpV10Controller, V0_3.name: HttpV03Controller}


def build_controllers(exchange: SurfaceEndpoints) -> list[type[AgentController]]:
    """Make the controllers of a surface."""
    counter = exchange.dispatcher
    surface = counter.surface
    kinds: list[type[AgentController]] = [
        JsonRpcController,
        CardController,
        *(each for name, each in _BY_DIALECT.items() if name in surface.dialects),
        *([SkillController] if any(skill.contract for skill in surface.skills.values()) else []),
    ]
    controllers = [kind.at(surface.path or "/", exchange) for kind in kinds]
    for controller in controllers:
        controller.exception_handlers = {Exception: lambda request, error: protocol_response(counter, request, error)}
    return controllers


def check_paths(exchanges: Sequence[SurfaceEndpoints], hosts: Iterable[ControllerRouterHandler]) -> None:
    """Refuse two surfaces at one path, and routes of the host or of another surface that stand in a surface's way."""
    theirs = dict(_places_of(hosts))
    taken: dict[str, Surface] = {}
    for exchange in exchanges:
        surface = exchange.dispatcher.surface
        other = taken.setdefault(surface.path, surface)
        if other is not surface:
            raise ImproperlyConfiguredException(f"{_name(surface)} and {_name(other)} are at one path; give one of them another path=")
        shapes = [shape for shape, _ in _places_of(build_controllers(exchange))]
        for shape in shapes:
            if shape in theirs:
                raise ImproperlyConfiguredException(
                    f"{_name(surface)} answers at {shape}, where {theirs[shape]} stands already; move that route, or give the surface another path="
                )
        theirs.update(dict.fromkeys(shapes, _name(surface)))
    for path, surface in taken.items():
        if (above := taken.get(path.rpartition("/")[0])) is not None and path:
            log.info("%s stands where a tenant %r of %s would", _name(surface), path.rpartition("/")[2], _name(above))


def check_guards(guards: Iterable[Guard]) -> None:
    """Refuse guards of an app that are no async functions: they would stand before agents too, and cost each request a thread."""
    for guard in guards:
        if not is_async_callable(guard):
            name = getattr(guard, "__qualname__", type(guard).__qualname__)
            raise ImproperlyConfiguredException(
                f"{name} guards every route of this app and is no async function, so that each request to an agent would cost a thread; "
                f"write it as `async def`, put it on your own routes only, or give the surface a gate="
            )


def _name(surface: Surface) -> str:
    return f"agent {surface.agent.name!r} (a surface at {surface.path or '/'})"


def _places_of(handlers: Iterable[ControllerRouterHandler], below: str = "/") -> Iterator[tuple[str, str]]:
    """List the paths of handlers, parameters blanked, and who stands there."""
    for each in handlers:
        if isinstance(each, Router):
            yield from ((_blanked(below, route.path), ", ".join(route.handler_names)) for route in each.routes)
        elif isinstance(each, type) and issubclass(each, Controller):
            members = (getattr(each, name) for name in dir(each))
            own = [member for member in members if isinstance(member, BaseRouteHandler)]
            yield from ((path, f"{each.__name__}: {name}") for path, name in _places_of(own, _prefix_of(each)))
        elif isinstance(each, BaseRouteHandler):
            yield from ((_blanked(below, path), str(each)) for path in each.paths)


def _prefix_of(controller: type[Controller]) -> str:
    """Find the path of a controller, which is there as text only if it was given one: else it is the slot of an attribute."""
    prefix: object = getattr(controller, "path", None)
    return prefix if isinstance(prefix, str) else "/"


def _blanked(*parts: str) -> str:
    pieces = [piece for part in parts for piece in part.split("/") if piece]
    return "/" + "/".join(_PARAMETER.sub("{}", piece) for piece in pieces)
