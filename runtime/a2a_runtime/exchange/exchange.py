"""Everything between HTTP and the service: one exchange for each surface, entered by every route that the contract generates.

    request ──► question ──► gate ──► body ──► dialect, request ──► service ──► answer in the dialect of the question
                   │           │        │             │                │
                   └───────────┴────────┴─────────────┴────────────────┴──► failure ──► error in that dialect, over that binding

Nothing is read twice, and nothing is made for an error before there is one.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from a2a_contract.routing import CardRoute, Route
from a2a_runtime.cards.addresses import PublicAddresses
from a2a_runtime.exchange.cards import CardAnswers
from a2a_runtime.exchange.counter import Counter
from a2a_runtime.exchange.jsonrpc import JsonRpc
from a2a_runtime.exchange.paths import Path
from a2a_runtime.exchange.question import Question
from a2a_runtime.service.call import BindingKind
from a2a_runtime.surface import Surface


class HttpExchange:
    """The exchange of a surface."""

    def __init__(self, surface: Surface, addresses: PublicAddresses | None = None) -> None:
        self.counter = Counter(surface)
        self._jsonrpc = JsonRpc(self.counter)
        self._cards = CardAnswers(surface, self.counter.spoken, addresses or PublicAddresses())
        self._paths: dict[str, Path] = {}

    def jsonrpc(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[object, object, None]:
        """Answer a request to the JSON-RPC endpoint."""
        return self._jsonrpc.answer(scope, receive, send) if scope["type"] == ScopeType.HTTP else _hang_up(send)

    def http(self, route: Route) -> ASGIApp:
        """Give what answers requests to a path of HTTP+JSON."""
        known = self._paths.get(route.path)
        if known is None:
            known = self._paths[route.path] = Path(self.counter, route)
        return known

    def card(self, route: CardRoute) -> ASGIApp:
        """Give what answers requests to a path of a card."""
        return partial(self._card, route)

    async def _card(self, route: CardRoute, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return await _hang_up(send)
        question = Question(scope, BindingKind.HTTP, self.counter.spoken.in_doubt(None))
        question.dialect = self.counter.spoken.in_doubt(question.version)
        return await self.counter.attend(question, self._cards.answer(route, question, send), send)


async def _hang_up(send: Send) -> None:
    """Refuse a WebSocket: there is nothing to talk about on one."""
    await send({"type": "websocket.close", "code": 1000, "reason": ""})
