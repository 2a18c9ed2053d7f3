"""The endpoints of a surface; every route that the contract generates leads to one of them.

request ──► gate ──► body ──► dialect, invocation ──► service ──► response
             │        │                │                │         in the dialect of the request
             │        │                │                │
             └────────┴────────────────┴────────────────┴──► error ──► response
                                                                in that dialect and binding
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime

from litestar.types import ASGIApp

from a2a_contract.controllers.mount import AgentController
from a2a_contract.dialects import VERSION
from a2a_contract.errors import MethodNotFoundError
from a2a_contract.http import CardRoute, Route
from a2a_contract.routes.cards import CARDS
from a2a_runtime.http.asgi import (
    Header,
    HttpRequest,
    base_url,
    send_allowed_methods,
    send_empty_response,
    send_response,
)
from a2a_runtime.http.dispatcher import Dispatcher, Endpoint
from a2a_runtime.http.jsonrpc import JsonRpcEndpoint
from a2a_runtime.http.rest import RestEndpoint
from a2a_runtime.ports.feature import Feature
from a2a_runtime.service.cards.cache import CardCache, CardDocument, PublicUrls
from a2a_runtime.surface import Surface

_CARD_METHODS = ("GET", "HEAD", "OPTIONS")


class SurfaceEndpoints:
    """All endpoints of one surface."""

    def __init__(
        self,
        surface: Surface,
        public_urls: PublicUrls | None = None,
        features: Sequence[Feature] = (),
    ) -> None:
        self.dispatcher = Dispatcher(surface, features)
        self.jsonrpc = JsonRpcEndpoint(self.dispatcher)
        self._public_urls, self._card_cache = public_urls or PublicUrls(), CardCache(surface)
        self._rest_endpoints: dict[str, RestEndpoint] = {}
        self._card_endpoints = {
            each.path: CardEndpoint(self.dispatcher, each, self._card_cache, self._public_urls)
            for each in CARDS
        }

    def http(self, route: Route) -> ASGIApp:
        """Return the endpoint of an HTTP+JSON route."""
        if route.path not in self._rest_endpoints:
            self._rest_endpoints[route.path] = RestEndpoint(self.dispatcher, route)
        return self._rest_endpoints[route.path]

    def card(self, route: CardRoute) -> ASGIApp:
        """Return the endpoint of a card."""
        return self._card_endpoints[route.path]


def get_dispatcher(controller: AgentController) -> Dispatcher:
    """Return the dispatcher of the endpoints of a controller."""
    endpoints = controller.endpoints
    if not isinstance(endpoints, SurfaceEndpoints):
        raise TypeError(
            f"{type(controller).__name__}: endpoints of another kind; mount it with "
            "SurfaceEndpoints"
        )
    return endpoints.dispatcher


class CardEndpoint(Endpoint):
    """Responds with the agent card: cacheable, the same bytes for every client, and public unless
    the surface says otherwise.
    """

    def __init__(
        self, dispatcher: Dispatcher, route: CardRoute, cache: CardCache, public_urls: PublicUrls
    ) -> None:
        super().__init__(dispatcher)
        self._route = route
        self._cache = cache
        self._public_urls = public_urls
        surface = dispatcher.surface
        self._is_public = surface.public_card is not False
        kind = "public" if self._is_public else "private"
        vary = ", ".join(
            (*VERSION.headers, "Host", *(() if self._is_public else ("Authorization",)))
        )
        cache_control = f"{kind}, max-age={surface.limits.card_max_age}"
        self._headers: tuple[Header, ...] = (
            (b"cache-control", cache_control.encode()),
            (b"vary", vary.encode()),
        )

    async def handle(self, request: HttpRequest) -> None:
        """Send the card that the client can read, unless it has it already."""
        if request.scope["method"] not in ("GET", "HEAD"):
            return await send_allowed_methods(request, _CARD_METHODS)
        if not self._is_public:
            await self.dispatcher.admit(request)
        card = self._select_card(request)
        headers = (
            *self._headers,
            (b"etag", card.etag.encode()),
            (b"last-modified", card.last_modified.encode()),
        )
        if _is_not_modified(card, request.headers):
            return await send_empty_response(request, 304, headers)
        return await send_response(request, card.body, headers=headers)

    def _select_card(self, request: HttpRequest) -> CardDocument:
        surface = self.dispatcher.surface
        dialect = self.dispatcher.supported_dialects.card_dialect(
            request.version, self._route.dialects
        )
        if dialect is not None and not self._cache.has(dialect):
            dialect = None
        if dialect is None and not self._cache.has_shared:
            raise MethodNotFoundError
        return self._cache.get(
            dialect, self._public_urls.get(surface) or base_url(request.scope, surface.path)
        )


def _is_not_modified(card: CardDocument, headers: Mapping[bytes, bytes]) -> bool:
    """Check the validators of a conditional request; entity tags take precedence over dates, as in
    HTTP.
    """
    tags = headers.get(b"if-none-match")
    if tags is not None:
        listed = [tag.strip().removeprefix("W/") for tag in tags.decode("latin-1").split(",")]
        return card.etag in listed or "*" in listed
    since = headers.get(b"if-modified-since")
    if since is None:
        return False
    try:
        return parsedate_to_datetime(since.decode("latin-1")).timestamp() >= card.modified_seconds
    except (ValueError, OverflowError):
        return False
