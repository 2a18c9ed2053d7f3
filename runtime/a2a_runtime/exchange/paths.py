"""The paths of HTTP+JSON of a surface."""

from __future__ import annotations

from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send

from a2a_contract.dialects import DIALECTS
from a2a_contract.errors import MethodNotAllowedError
from a2a_contract.routing import Match, Route
from a2a_runtime.exchange.address import below
from a2a_runtime.exchange.body import check_json
from a2a_runtime.exchange.counter import Counter, Inquiry
from a2a_runtime.exchange.forms import read_form
from a2a_runtime.exchange.question import Question
from a2a_runtime.exchange.reply import reply_empty
from a2a_runtime.exchange.verbs import methods_of
from a2a_runtime.service.call import BindingKind

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
