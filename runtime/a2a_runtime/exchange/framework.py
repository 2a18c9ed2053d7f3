"""Errors that Litestar raises itself, in the shape of the dialect that was spoken to: a path or method that is not there, a guard that refuses.

Below the path of a surface every answer is the protocol's. Everywhere else a host's handlers of exceptions decide as if nothing of this was there.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# Litestar's own types leave the parameters of its requests, responses and guards open.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeAlias

from litestar import Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.exceptions.responses import create_exception_response
from litestar.types import ExceptionHandlersMap, HTTPScope

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
from a2a_runtime.exchange.address import below
from a2a_runtime.exchange.counter import Counter
from a2a_runtime.exchange.question import Question
from a2a_runtime.exchange.verbs import methods_at
from a2a_runtime.service.call import BindingKind
from a2a_runtime.surface import Surface

AnyRequest: TypeAlias = "Request[Any, Any, Any]"  # users and tokens are the host's matter

_BY_STATUS: Mapping[int, type[A2AError]] = {
    **{row.http: error for error, row in reversed(tuple(ERRORS.items()))},
    HTTPStatus.BAD_REQUEST: InvalidRequestError,
    HTTPStatus.NOT_FOUND: MethodNotFoundError,
}


def shaped(counter: Counter, request: AnyRequest, error: Exception) -> Response[bytes]:
    """Answer in the shape of a surface."""
    scope = request.scope
    path = below(scope, counter.surface.path)
    question = Question(scope, BindingKind.HTTP if path else BindingKind.JSONRPC, counter.spoken.in_doubt(None))
    question.dialect = counter.spoken.in_doubt(question.version)
    if isinstance(error, NotFoundException):  # there may be something of the name in another version
        error = _wrong_version(counter, question, path) or error
    status, body, headers = counter.shown(question, _translated(error, counter.surface, path or ""))
    sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
    return Response(body, status_code=status, headers=sent, media_type=question.media_type().decode())


def _wrong_version(counter: Counter, question: Question, path: str | None) -> A2AError | None:
    """Find out whether a version was meant that is not spoken here."""
    try:
        counter.spoken.of_place(question.version, path or "")
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
        return kind(details={"allow": ", ".join(methods_at(surface, path)) or headers.get("allow", "")})
    return kind(error.detail) if issubclass(kind, PermissionDeniedError | InvalidRequestError) else kind()


class Strays:
    """Answers requests that the router could not place, or whose ``Host`` is none."""

    STATUSES = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)

    def __init__(self, counters: Sequence[Counter], host: ExceptionHandlersMap) -> None:
        self._counters = sorted(counters, key=lambda each: len(each.surface.path), reverse=True)
        self._host = dict(host)

    def __call__(self, request: AnyRequest, error: Exception) -> Response[Any]:
        """Answer for the surface below whose path the request is, or leave it to the host."""
        is_placed = "route_handler" in request.scope
        layers = request.scope["route_handler"].resolve_exception_handlers() if is_placed else {}
        handler = _handler_of(error, {**self._host, **{key: each for key, each in layers.items() if each is not self}})
        counter = None if is_placed else self._surface_of(request.scope, error)
        if counter is not None and (counter.surface.path or handler is None):  # at the root, a host that has a word for strangers goes first
            return shaped(counter, request, error)
        return create_exception_response(request, error) if handler is None else handler(request, error)

    def _surface_of(self, scope: HTTPScope, error: Exception) -> Counter | None:
        """Find the surface of a path; of one that is there, with other methods, only if it is the surface's own."""
        found = ((each, below(scope, each.surface.path)) for each in self._counters)
        counter, path = next(((each, path) for each, path in found if path is not None), (None, ""))
        is_there = isinstance(error, MethodNotAllowedException)
        return None if counter is not None and is_there and not methods_at(counter.surface, path) else counter


def _handler_of(error: Exception, handlers: ExceptionHandlersMap) -> Callable[[AnyRequest, Any], Response[Any]] | None:
    """Find the handler that Litestar would take: by status before by class."""
    by_status = handlers.get(error.status_code) if isinstance(error, HTTPException) else None
    return by_status or next((handlers[kind] for kind in type(error).__mro__ if kind in handlers), None)
