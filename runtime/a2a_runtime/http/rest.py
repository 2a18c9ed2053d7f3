"""The HTTP+JSON endpoints of a surface, and the HTTP methods that each of its paths allows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from urllib.parse import parse_qs

from litestar.types import HTTPScope

from a2a_contract.binding import serialize_with
from a2a_contract.dialects import DIALECTS, V0_3
from a2a_contract.http import Route, RouteBinding, RouteMatch
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD, LIST_TASKS
from a2a_contract.paths import PATHS
from a2a_runtime.http.asgi import HttpRequest, check_json, path_within, send_allowed_methods
from a2a_runtime.http.dispatcher import Dispatcher, Endpoint, Invocation
from a2a_runtime.http.negotiation import encode_media_types, parse_request
from a2a_runtime.service.cards.builder import write_card_in_both_forms

_METHODS_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))


def allowed_methods(route: Route, parameters: Sequence[str]) -> tuple[str, ...]:
    """List the methods of a route; HEAD is one of them if GET returns one document."""
    return (
        *route.methods(parameters),
        *(("HEAD",) if _match_head(route, parameters) else ()),
        "OPTIONS",
    )


def allowed_methods_at(dispatcher: Dispatcher, path: str) -> tuple[str, ...]:
    """List the methods of a path below a surface; empty if no route has the path.

    Litestar mounts every path for all methods, and itself refuses methods that it does not know. So
    its own list of methods is of no use.
    """
    surface = dispatcher.surface
    for route in chain.from_iterable(PATHS.get(dialect, ()) for dialect in surface.dialects):
        if match := match_path(route.path, path):
            return allowed_methods(route, match.groups())
    for variant in surface.wire:
        if methods := variant.list_methods(path):
            return methods
    for feature in dispatcher.features:
        if methods := feature.list_methods(surface, path):
            return methods
    return ()


def match_path(pattern: str, path: str) -> re.Match[str] | None:
    """Match a path with that of a route, whose parameters are segments in braces."""
    steps: list[str] = []
    for step in pattern.split("/"):
        is_parameter = step.startswith("{")
        steps.append("([^/]+)" if is_parameter else re.escape(step))
    return re.fullmatch("/".join(steps), path)


def _match_head(route: Route, parameters: Sequence[str]) -> RouteMatch | None:
    match = route.match("GET", parameters)
    if match is None or match.bindings[0].binding.operation.streams:
        return None
    return match


class RestEndpoint(Endpoint):
    """Responds to the requests of one route."""

    def __init__(self, dispatcher: Dispatcher, route: Route) -> None:
        super().__init__(dispatcher)
        self._variants = dispatcher.surface.wire
        self._routes: dict[str | None, Route] = {}
        """The route with the bindings of the dialects that respond to a version."""
        for version, names in dispatcher.supported_dialects.list_versions():
            narrowed = _narrow_route(route, names)
            if narrowed is not None:
                self._routes[version] = narrowed
        self._route = self._routes.get(None, route)
        dialects = _list_dialects(route)
        self._dialect = dialects[0]
        self._dialects = {
            version: _list_dialects(each)[0] for version, each in self._routes.items()
        }
        self._starts_with_parameter = route.path.startswith("/{")
        """Paths of an unsupported version match such a route too."""
        self._preferred_dialects = frozenset((dispatcher.surface.default_v0_3_form,))
        self._media_types = encode_media_types([DIALECTS[each] for each in dialects])

    async def handle(self, request: HttpRequest) -> None:
        """Respond to a request."""
        version = request.version
        route = self._routes.get(version, self._route)
        request.dialect = self._dialects.get(version, self._dialect)
        scope = request.scope
        dispatcher = self.dispatcher
        method = scope["method"]
        parameters = tuple(_find_parameters(scope).values())
        match = (
            _match_head(route, parameters) if method == "HEAD" else route.match(method, parameters)
        )
        if match is None:
            return await send_allowed_methods(request, allowed_methods(route, parameters))
        caller = await dispatcher.admit(request)
        if version not in self._routes:
            dispatcher.supported_dialects.check_version(version, self._dialect)
        if self._starts_with_parameter:
            dispatcher.supported_dialects.check_path(
                version, path_within(scope, dispatcher.surface.path) or ""
            )
        body = b""
        if method in _METHODS_WITH_BODY:
            request.check_media_type(self._media_types)
            body = await dispatcher.read_body(request)
            check_json(body)
            for variant in self._variants:
                body = variant.read_body(body, request.binding)
        binding, parsed = parse_request(
            match, scope["query_string"], body, self._preferred_dialects
        )
        if binding.operation is LIST_TASKS and scope["query_string"]:
            dispatcher.warn_of_ignored(
                request, caller, binding, parse_qs(scope["query_string"].decode("latin-1"))
            )
        if binding.operation is GET_EXTENDED_AGENT_CARD and binding.dialect == V0_3.name:
            binding = replace(binding, serialize=serialize_with(write_card_in_both_forms))
        for variant in self._variants:
            binding = variant.bind(binding, request.binding)
        return await dispatcher.serve(
            request, Invocation(binding, parsed, dispatcher.build_context(request, caller, binding))
        )


def _find_parameters(scope: HTTPScope) -> Mapping[str, str]:
    """Find the parameters in the path; none in one that is called past the router."""
    return scope.get("path_params", {})  # pyright: ignore[reportUnknownMemberType]  # a scope has members of open types


def _narrow_route(route: Route, names: frozenset[str]) -> Route | None:
    """Return a route with the bindings of some dialects only; ``None`` if there are none."""
    narrowed: dict[tuple[str, str | None], tuple[RouteBinding, ...]] = {}
    for key, bindings in route.bindings.items():
        kept = tuple(each for each in bindings if each.binding.dialect in names)
        if kept:
            narrowed[key] = kept
    if narrowed:
        return Route(route.path, narrowed)
    return None


def _list_dialects(route: Route) -> tuple[str, ...]:
    bindings = chain.from_iterable(route.bindings.values())
    return tuple(dict.fromkeys(each.binding.dialect for each in bindings))
