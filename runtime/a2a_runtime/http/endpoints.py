"""Everything between HTTP and the service: one exchange for each surface, entered by every route that the contract generates.

    request ──► question ──► gate ──► body ──► dialect, request ──► service ──► answer in the dialect of the question
                   │           │        │             │                │
                   └───────────┴────────┴─────────────┴────────────────┴──► failure ──► error in that dialect, over that binding

Nothing is read twice, and nothing is made for an error before there is one.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from email.utils import parsedate_to_datetime
from functools import partial

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from a2a_contract.dialects import VERSION
from a2a_contract.errors import MethodNotAllowedError, MethodNotFoundError
from a2a_contract.http import CardRoute, Route
from a2a_runtime.cards.cache import CardDocument, Cards, PublicAddresses
from a2a_runtime.http.asgi import JSON, Header, Question, base_url, reply, reply_empty
from a2a_runtime.http.dispatcher import Counter
from a2a_runtime.http.jsonrpc import JsonRpc
from a2a_runtime.http.negotiation import Spoken
from a2a_runtime.http.rest import Path
from a2a_runtime.service.context import BindingKind
from a2a_runtime.surface import Surface

# Answering who looks for the card: public, the same bytes for everybody, and not sent again to those who have them.

_METHODS = ("GET", "HEAD", "OPTIONS")


class CardAnswers:
    """Answers at the paths of the cards of a surface."""

    def __init__(self, surface: Surface, spoken: Spoken, addresses: PublicAddresses) -> None:
        self._surface, self._spoken, self._addresses = surface, spoken, addresses
        self._cards = Cards(surface)
        vary = ", ".join((*VERSION.headers, "Host"))
        self._headers: tuple[Header, ...] = (
            (b"cache-control", b"public, max-age=%d" % surface.limits.card_age),
            (b"vary", vary.encode()),
        )

    async def answer(self, route: CardRoute, question: Question, send: Send) -> None:
        """Send the card that the client can read, or tell it that it has it already."""
        method = question.scope["method"]
        if method not in _METHODS:
            raise MethodNotAllowedError(details={"allow": ", ".join(_METHODS)})
        if method == "OPTIONS":
            return await reply_empty(send, 204, [(b"allow", ", ".join(_METHODS).encode())])
        card = self._card(route, question)
        headers = (*self._headers, (b"etag", card.etag.encode()), (b"last-modified", card.last_modified.encode()))
        if _is_known(card, question.headers):
            return await reply_empty(send, 304, headers)
        return await reply(send, card.body, JSON, headers=headers)

    def _card(self, route: CardRoute, question: Question) -> CardDocument:
        dialect = self._spoken.of_card(question.version, route.dialects)
        address = self._addresses.of(self._surface) or base_url(question.scope, self._surface.path)
        known = dialect if dialect and self._cards.has(dialect) else None
        if known is None and not self._cards.has_shared:
            raise MethodNotFoundError
        return self._cards.get(known, address)


def _is_known(card: CardDocument, headers: Mapping[bytes, bytes]) -> bool:
    """Say whether the client has the card already; tags go before dates, as HTTP has it."""
    tags = headers.get(b"if-none-match")
    if tags is not None:
        named = [tag.strip().removeprefix("W/") for tag in tags.decode("latin-1").split(",")]
        return card.etag in named or "*" in named
    since = headers.get(b"if-modified-since")
    if since is None:
        return False
    try:
        return parsedate_to_datetime(since.decode("latin-1")).timestamp() >= card.modified
    except (ValueError, OverflowError):
        return False


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
