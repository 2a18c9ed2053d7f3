"""The paths of HTTP+JSON of a surface."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import MethodNotAllowedError
from a2a_contract.http import Route, RouteMatch
from a2a_contract.paths import PATHS
from a2a_runtime.http.asgi import HttpRequest, check_json, path_within, send_empty_response
from a2a_runtime.http.dispatcher import Dispatcher, Invocation
from a2a_runtime.http.negotiation import parse_request
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.skills.contract import SCHEMAS_PATH
from a2a_runtime.surface import Surface

# Which HTTP methods a path of a surface has, for whoever came with another one.
#
# Litestar refuses a method that it has never heard of before it asks us, and names those under which our paths are mounted, which are all. So what a
# path really has is looked up here.
#

SKILLS = "/skills"
SKILL_CALL, SKILL_SCHEMA = SKILLS + "/{skill:str}", SCHEMAS_PATH + "/{skill:str}/{file:str}"
SKILL_PATHS: Mapping[str, tuple[str, ...]] = {SKILL_CALL: ("POST", "OPTIONS"), SKILL_SCHEMA: ("GET", "HEAD", "OPTIONS")}
"""The paths of skills below a surface, and the methods of each."""


def allowed_methods(route: Route, parameters: Sequence[str]) -> tuple[str, ...]:
    """List the methods of a path: HEAD is there where GET is answered with one document."""
    read = route.match("GET", parameters)
    has_head = read is not None and not read.bindings[0].binding.operation.streams
    return (*route.methods(parameters), *(("HEAD",) if has_head else ()), "OPTIONS")


def allowed_methods_at(surface: Surface, below: str) -> tuple[str, ...]:
    """Find the methods of a path below a surface; none where nothing is that has several."""
    for route in chain.from_iterable(PATHS.get(dialect, ()) for dialect in surface.dialects):
        if match := _match_path(route.path, below):
            return allowed_methods(route, match.groups())
    return next((methods for skill_path, methods in SKILL_PATHS.items() if _match_path(skill_path, below)), ())


def _match_path(pattern: str, path: str) -> re.Match[str] | None:
    return re.fullmatch("/".join("([^/]+)" if step.startswith("{") else re.escape(step) for step in pattern.split("/")), path)


_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_EMPTY_BODY = b"{}"
"""What is said where there is nothing to say: clients read a document in every case."""


class RestEndpoint:
    """Answers requests to one path: an ASGI app."""

    def __init__(self, dispatcher: Dispatcher, route: Route) -> None:
        self._dispatcher, self._route = dispatcher, route
        dialects = dict.fromkeys(choice.binding.dialect for choices in route.bindings.values() for choice in choices)
        self._dialect = next(iter(dialects))
        self._starts_with_parameter = route.path.startswith("/{")
        """Whether a path of a version that is not spoken here would be taken for one of these."""
        self._preferred_dialects = frozenset((dispatcher.surface.default_v0_3_form,))
        self._media_types = frozenset(name.encode() for dialect in dialects for name in DIALECTS[dialect].media_types)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it is."""
        if scope["type"] != ScopeType.HTTP:
            raise TypeError("a path of HTTP+JSON is for HTTP only")  # the contract mounts none for anything else
        question = HttpRequest(scope, ProtocolBinding.HTTP, self._dialect)
        await self._dispatcher.run(question, self._handle(question, scope, receive, send), send)

    async def _handle(self, http_request: HttpRequest, scope: HTTPScope, receive: Receive, send: Send) -> None:
        match = self._match_request(scope)
        if match is None:
            return await send_empty_response(send, 204, [(b"allow", self._allowed_methods(scope).encode())])
        caller = await self._dispatcher.admit(http_request)
        self._dispatcher.supported_dialects.check_version(http_request.version, self._dialect)
        if self._starts_with_parameter:
            self._dispatcher.supported_dialects.check_path(http_request.version, path_within(scope, self._dispatcher.surface.path) or "")
        body = b""
        if scope["method"] in _WITH_BODY:
            http_request.check_media_type(self._media_types)
            body = await self._dispatcher.read_body(http_request, receive)
            check_json(body)
        binding, request = parse_request(match, scope["query_string"], body, self._preferred_dialects)
        inquiry = Invocation(
            binding,
            request,
            self._dispatcher.build_context(http_request, caller, binding),
            empty_body=_EMPTY_BODY,
            media_type=http_request.response_media_type(),
        )
        return await self._dispatcher.serve(http_request, inquiry, receive, send)

    def _match_request(self, scope: HTTPScope) -> RouteMatch | None:
        """Find what the request stands for; nothing where it only asks what it may ask."""
        method, parameters = scope["method"], tuple(scope["path_params"].values())
        match = self._route.match("GET" if method == "HEAD" else method, parameters)
        if match is not None and not (method == "HEAD" and match.bindings[0].binding.operation.streams):
            return match
        if method == "OPTIONS":
            return None
        raise MethodNotAllowedError(details={"allow": self._allowed_methods(scope)})

    def _allowed_methods(self, scope: HTTPScope) -> str:
        return ", ".join(allowed_methods(self._route, tuple(scope["path_params"].values())))
