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
from a2a_runtime.cards.cache import CardCache, CardDocument, PublicUrls
from a2a_runtime.http.asgi import JSON, Header, HttpRequest, base_url, send_empty_response, send_response
from a2a_runtime.http.dispatcher import Dispatcher
from a2a_runtime.http.jsonrpc import JsonRpcEndpoint
from a2a_runtime.http.negotiation import SupportedDialects
from a2a_runtime.http.rest import RestEndpoint
from a2a_runtime.service.context import ProtocolBinding
from a2a_runtime.surface import Surface

# Answering who looks for the card: public, the same bytes for everybody, and not sent again to those who have them.

_METHODS = ("GET", "HEAD", "OPTIONS")


class CardEndpoint:
    """Answers at the paths of the cards of a surface."""

    def __init__(self, surface: Surface, supported_dialects: SupportedDialects, public_urls: PublicUrls) -> None:
        self._surface, self._supported_dialects, self._public_urls = surface, supported_dialects, public_urls
        self._cache = CardCache(surface)
        vary = ", ".join((*VERSION.headers, "Host"))
        self._headers: tuple[Header, ...] = (
            (b"cache-control", b"public, max-age=%d" % surface.limits.card_max_age),
            (b"vary", vary.encode()),
        )

    async def handle(self, route: CardRoute, request: HttpRequest, send: Send) -> None:
        """Send the card that the client can read, or tell it that it has it already."""
        method = request.scope["method"]
        if method not in _METHODS:
            raise MethodNotAllowedError(details={"allow": ", ".join(_METHODS)})
        if method == "OPTIONS":
            return await send_empty_response(send, 204, [(b"allow", ", ".join(_METHODS).encode())])
        card = self._select_card(route, request)
        headers = (*self._headers, (b"etag", card.etag.encode()), (b"last-modified", card.last_modified.encode()))
        if _is_not_modified(card, request.headers):
            return await send_empty_response(send, 304, headers)
        return await send_response(send, card.body, JSON, headers=headers)

    def _select_card(self, route: CardRoute, request: HttpRequest) -> CardDocument:
        dialect = self._supported_dialects.card_dialect(request.version, route.dialects)
        address = self._public_urls.get(self._surface) or base_url(request.scope, self._surface.path)
        known = dialect if dialect and self._cache.has(dialect) else None
        if known is None and not self._cache.has_shared:
            raise MethodNotFoundError
        return self._cache.get(known, address)


def _is_not_modified(card: CardDocument, headers: Mapping[bytes, bytes]) -> bool:
    """Say whether the client has the card already; tags go before dates, as HTTP has it."""
    tags = headers.get(b"if-none-match")
    if tags is not None:
        named = [tag.strip().removeprefix("W/") for tag in tags.decode("latin-1").split(",")]
        return card.etag in named or "*" in named
    since = headers.get(b"if-modified-since")
    if since is None:
        return False
    try:
        return parsedate_to_datetime(since.decode("latin-1")).timestamp() >= card.modified_seconds
    except (ValueError, OverflowError):
        return False


class SurfaceEndpoints:
    """The exchange of a surface."""

    def __init__(self, surface: Surface, public_urls: PublicUrls | None = None) -> None:
        self.dispatcher = Dispatcher(surface)
        self._jsonrpc = JsonRpcEndpoint(self.dispatcher)
        self._card_endpoint = CardEndpoint(surface, self.dispatcher.supported_dialects, public_urls or PublicUrls())
        self._rest_endpoints: dict[str, RestEndpoint] = {}

    def jsonrpc(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[object, object, None]:
        """Answer a request to the JSON-RPC endpoint."""
        return self._jsonrpc.handle(scope, receive, send) if scope["type"] == ScopeType.HTTP else reject_websocket(send)

    def http(self, route: Route) -> ASGIApp:
        """Give what answers requests to a path of HTTP+JSON."""
        known = self._rest_endpoints.get(route.path)
        if known is None:
            known = self._rest_endpoints[route.path] = RestEndpoint(self.dispatcher, route)
        return known

    def card(self, route: CardRoute) -> ASGIApp:
        """Give what answers requests to a path of a card."""
        return partial(self._handle_card, route)

    async def _handle_card(self, route: CardRoute, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return await reject_websocket(send)
        question = HttpRequest(scope, ProtocolBinding.HTTP, self.dispatcher.supported_dialects.fallback(None))
        question.dialect = self.dispatcher.supported_dialects.fallback(question.version)
        return await self.dispatcher.run(question, self._card_endpoint.handle(route, question, send), send)


async def reject_websocket(send: Send) -> None:
    """Refuse a WebSocket: there is nothing to talk about on one."""
    await send({"type": "websocket.close", "code": 1000, "reason": ""})
