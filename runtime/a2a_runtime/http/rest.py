"""The paths of HTTP+JSON of a surface."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import MethodNotAllowedError
from a2a_contract.http import Match, Route
from a2a_contract.paths import PATHS
from a2a_runtime.http.asgi import Question, below, check_json, reply_empty
from a2a_runtime.http.dispatcher import Counter, Inquiry
from a2a_runtime.http.negotiation import read_form
from a2a_runtime.service.context import BindingKind
from a2a_runtime.skills.contract import FOLDER
from a2a_runtime.surface import Surface

# Which HTTP methods a path of a surface has, for whoever came with another one.
#
# Litestar refuses a method that it has never heard of before it asks us, and names those under which our paths are mounted, which are all. So what a
# path really has is looked up here.
#

SKILLS = "/skills"
SKILL_CALL, SKILL_SCHEMA = SKILLS + "/{skill:str}", FOLDER + "/{skill:str}/{file:str}"
SKILL_PATHS: Mapping[str, tuple[str, ...]] = {SKILL_CALL: ("POST", "OPTIONS"), SKILL_SCHEMA: ("GET", "HEAD", "OPTIONS")}
"""The paths of skills below a surface, and the methods of each."""


def methods_of(route: Route, parameters: Sequence[str]) -> tuple[str, ...]:
    """List the methods of a path: HEAD is there where GET is answered with one document."""
    read = route.match("GET", parameters)
    has_head = read is not None and not read.choices[0].binding.operation.streams
    return (*route.methods(parameters), *(("HEAD",) if has_head else ()), "OPTIONS")


def methods_at(surface: Surface, below: str) -> tuple[str, ...]:
    """Find the methods of a path below a surface; none where nothing is that has several."""
    for route in chain.from_iterable(PATHS.get(dialect, ()) for dialect in surface.dialects):
        if match := _match(route.path, below):
            return methods_of(route, match.groups())
    return next((methods for skill_path, methods in SKILL_PATHS.items() if _match(skill_path, below)), ())


def _match(pattern: str, path: str) -> re.Match[str] | None:
    return re.fullmatch("/".join("([^/]+)" if step.startswith("{") else re.escape(step) for step in pattern.split("/")), path)


_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_DONE = b"{}"
"""What is said where there is nothing to say: clients read a document in every case."""


class Path:
    """Answers requests to one path: an ASGI app."""

    def __init__(self, counter: Counter, route: Route) -> None:
        self._counter, self._route = counter, route
        dialects = dict.fromkeys(choice.binding.dialect for choices in route.choices.values() for choice in choices)
        self._dialect = next(iter(dialects))
        self._begins_anyhow = route.path.startswith("/{")
        """Whether a path of a version that is not spoken here would be taken for one of these."""
        self._preferred = frozenset((counter.surface.bare_form,))
        self._media_types = frozenset(name.encode() for dialect in dialects for name in DIALECTS[dialect].media_types)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever it is."""
        if scope["type"] != ScopeType.HTTP:
            raise TypeError("a path of HTTP+JSON is for HTTP only")  # the contract mounts none for anything else
        question = Question(scope, BindingKind.HTTP, self._dialect)
        await self._counter.attend(question, self._answer(question, scope, receive, send), send)

    async def _answer(self, question: Question, scope: HTTPScope, receive: Receive, send: Send) -> None:
        match = self._match(scope)
        if match is None:
            return await reply_empty(send, 204, [(b"allow", self._allowed(scope).encode())])
        caller = await self._counter.admit(question)
        self._counter.spoken.of_path(question.version, self._dialect)
        if self._begins_anyhow:
            self._counter.spoken.of_place(question.version, below(scope, self._counter.surface.path) or "")
        body = b""
        if scope["method"] in _WITH_BODY:
            question.check_media_type(self._media_types)
            body = await self._counter.body(question, receive)
            check_json(body)
        binding, request = read_form(match, scope["query_string"], body, self._preferred)
        inquiry = Inquiry(binding, request, self._counter.call(question, caller, binding), nothing=_DONE, media_type=question.media_type())
        return await self._counter.serve(question, inquiry, receive, send)

    def _match(self, scope: HTTPScope) -> Match | None:
        """Find what the request stands for; nothing where it only asks what it may ask."""
        method, parameters = scope["method"], tuple(scope["path_params"].values())
        match = self._route.match("GET" if method == "HEAD" else method, parameters)
        if match is not None and not (method == "HEAD" and match.choices[0].binding.operation.streams):
            return match
        if method == "OPTIONS":
            return None
        raise MethodNotAllowedError(details={"allow": self._allowed(scope)})

    def _allowed(self, scope: HTTPScope) -> str:
        return ", ".join(methods_of(self._route, tuple(scope["path_params"].values())))
