"""Finding the card of an agent, and not fetching it more often than HTTP says.

A URL is that of a card if it ends in ``.json``. Otherwise cards are looked for below it, and then at the root of its host, where RFC 8615 puts them;
a card at the root counts only if it lists the URL, because many agents may live on one host.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from a2a_contract import mesh, v0_3
from a2a_contract.binding import ResponseReader
from a2a_contract.dialects import CANONICAL, MESH, V0_3, Dialect
from a2a_contract.jsonrpc import JsonRpcResponseParser
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.routes.cards import CARDS
from a2a_contract.translate import mesh as from_mesh
from a2a_contract.translate import v0_3 as from_v0_3
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.client.errors import CardNotFoundError, InvalidCardError, TransportError, error_from_http
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import OutgoingRequest, describe_error
from a2a_runtime.client.transport import ClientResponse, HttpTransport, RetrySafety

# The forms of cards, the one that says the most first.
_CARD_READERS: tuple[tuple[Dialect, ResponseReader[AgentCard]], ...] = (
    (CANONICAL, ResponseReader(AgentCard)),
    (V0_3, ResponseReader(v0_3.AgentCard, from_v0_3.read_agent_card)),
    (MESH, ResponseReader(mesh.AgentCard, from_mesh.read_agent_card)),
)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?(\d{1,9})")
_NO_CACHE = re.compile(r"(?:^|[,\s])no-(?:store|cache)")
_CARD_SUFFIX = ".json"
_NOT_FOUND_STATUSES = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE))


@dataclass(frozen=True, slots=True)
class ResolvedCard:
    """A card, the dialect in which it is written, and where it was."""

    card: AgentCard
    dialect: Dialect
    url: str
    body: bytes
    """The card as it came, on which its signatures are."""


@dataclass(frozen=True, slots=True)
class CachedCard:
    """A card that is kept, until when it is good, and how to ask whether it still is."""

    resolved: ResolvedCard
    expires_at: float
    conditional_headers: Mapping[str, str]


class CardResolver:
    """Gives the card of the agent at a URL."""

    def __init__(self, url: str, transport: HttpTransport, options: ClientOptions, headers: Mapping[str, str]) -> None:
        self._url, self._transport, self._options, self._headers = url, transport, options, headers
        self._cached: CachedCard | None = None
        self._lock = asyncio.Lock()

    @property
    def host(self) -> str:
        """Name the host that the client was told of."""
        return urlsplit(self._url).hostname or ""

    async def get(self, *, refresh: bool = False) -> ResolvedCard:
        """Give the card, fetched again only if it may have changed; ``fresh`` asks the agent in any case."""
        async with self._lock:
            kept = self._cached
            if kept is None:
                kept = await self._discover()
            elif refresh:
                kept = await self._revalidate(kept)
            elif self._options.clock.monotonic() >= kept.expires_at:
                kept = await self._revalidate_or_keep(kept)
            self._cached = kept
            return kept.resolved

    async def _discover(self) -> CachedCard:
        refused: Exception | None = None
        tried: list[str] = []
        for url, at_root in _list_card_urls(self._url):
            tried.append(url)
            reply = await self._fetch(url, {})
            if reply.is_success:
                found = await self.verify(self._parse(reply))
                if not at_root or _lists_interface(found, self._url):
                    return self._build_cached(found, reply)
            elif reply.status not in _NOT_FOUND_STATUSES:
                refused = refused or error_from_http(CANONICAL.name, GET_EXTENDED_AGENT_CARD, reply.status, reply.body)
        raise refused or CardNotFoundError(f"No card at {', '.join(tried)}; check the URL, or give the URL of the card itself")

    async def _revalidate(self, cached: CachedCard) -> CachedCard:
        reply = await self._fetch(cached.resolved.url, cached.conditional_headers)
        if reply.status == HTTPStatus.NOT_MODIFIED:
            return self._build_cached(cached.resolved, reply, cached.conditional_headers)
        return self._build_cached(await self.verify(self._parse(reply)), reply) if reply.is_success else await self._discover()

    async def _revalidate_or_keep(self, cached: CachedCard) -> CachedCard:
        """Go on with the old card if the agent cannot be asked now: what is asked next will tell."""
        try:
            return await self._revalidate(cached)
        except TransportError:
            return CachedCard(cached.resolved, self._options.clock.monotonic() + self._options.card_max_age, cached.conditional_headers)

    async def _fetch(self, url: str, conditional_headers: Mapping[str, str]) -> ClientResponse:
        headers = {**self._headers, "accept": "application/json", **conditional_headers}
        return await self._transport.fetch(
            OutgoingRequest("GET", url), RetrySafety.READ, headers, max_bytes=self._options.limits.card_bytes, follow_redirects=True
        )

    def _build_cached(self, resolved: ResolvedCard, response: ClientResponse, conditional_headers: Mapping[str, str] | None = None) -> CachedCard:
        tags = {"if-none-match": "etag", "if-modified-since": "last-modified"}
        said = {name: response.headers[header] for name, header in tags.items() if header in response.headers}
        age = _parse_max_age(response.headers, self._options.card_max_age)
        return CachedCard(resolved, self._options.clock.monotonic() + age, said or conditional_headers or {})

    async def verify(self, resolved: ResolvedCard) -> ResolvedCard:
        """Take of a card what is proven to be its agent's, where that is wanted."""
        check = self._options.card_verifier
        if check is None:
            return resolved
        body = await check.verify(resolved.body, resolved.dialect.name, resolved.url)
        hearing = next(hearing for dialect, hearing in _CARD_READERS if dialect is resolved.dialect)
        return replace(resolved, card=JsonRpcResponseParser(hearing).parse(body) or resolved.card)

    def _parse(self, response: ClientResponse) -> ResolvedCard:
        """Read a card in the first dialect in which it says where the agent is."""
        first: ValueError | None = None
        for dialect, hearing in sorted(_CARD_READERS, key=lambda each: each[0].name != self._options.pin.dialect):
            try:
                card = JsonRpcResponseParser(hearing).parse(response.body)
            except ValueError as error:
                first = first or error
                continue
            if card and any(each.url for each in card.supported_interfaces):
                return ResolvedCard(card, dialect, response.url, response.body)
        why = describe_error(first) if first else "it lists no interface"
        raise InvalidCardError(f"What is at {response.url} is no card that says where its agent is ({why})") from first


def _list_card_urls(url: str) -> Iterator[tuple[str, bool]]:
    """List where the card may be, and whether that is the root of the host rather than what was asked for."""
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        raise CardNotFoundError(f"{url!r} is not a URL; it begins with https:// or http://")
    if parts.path.endswith(_CARD_SUFFIX):
        yield url, False
        return
    below = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    root = f"{parts.scheme}://{parts.netloc}"
    yield from ((below + route.path, False) for route in CARDS)
    if below != root:
        yield from ((root + route.path, True) for route in CARDS)


def _lists_interface(resolved: ResolvedCard, url: str) -> bool:
    return any(each.url.rstrip("/") == url.rstrip("/") for each in resolved.card.supported_interfaces)


def _parse_max_age(headers: httpx.Headers, default: float) -> float:
    """Say for how many seconds an answer is good."""
    said = headers.get("cache-control", "").lower()
    if _NO_CACHE.search(said):
        return 0.0
    found = _MAX_AGE.search(said)
    if found is None:
        return default
    spent = headers.get("age", "0")
    return max(0.0, float(found[1]) - (float(spent) if spent.isascii() and spent.isdigit() else 0.0))
