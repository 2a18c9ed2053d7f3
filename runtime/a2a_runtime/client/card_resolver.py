"""Agent card discovery, with HTTP caching and verification.

A URL that ends in ``.json`` is that of a card. Otherwise cards are looked up below the URL, then at
the root of its host (RFC 8615). A card at the root counts only if it lists the URL, because one
host may serve many agents.
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
from a2a_contract.binding import ResponseReader, read_with
from a2a_contract.dialects import CANONICAL, MESH, V0_3, Dialect
from a2a_contract.errors import A2AError
from a2a_contract.jsonrpc import JsonRpcResponseParser
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.routes.cards import CARDS
from a2a_contract.translate import mesh as from_mesh
from a2a_contract.translate import v0_3 as from_v0_3
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.base.origin import inject_trace
from a2a_runtime.client.errors import (
    CardNotFoundError,
    InvalidCardError,
    TransportError,
    error_from_http,
)
from a2a_runtime.client.grpc import is_grpc_url
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import OutgoingRequest, describe_error
from a2a_runtime.client.transport import ClientResponse, HttpTransport, RetrySafety

# The dialects of cards, the most expressive first.
_CARD_READERS: tuple[tuple[Dialect, ResponseReader[AgentCard]], ...] = (
    (CANONICAL, ResponseReader(AgentCard)),
    (V0_3, ResponseReader(v0_3.AgentCard, read_with(AgentCard, from_v0_3.read_agent_card))),
    (MESH, ResponseReader(mesh.AgentCard, read_with(AgentCard, from_mesh.read_agent_card))),
)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?(\d{1,9})")
_NO_CACHE = re.compile(r"(?:^|[,\s])no-(?:store|cache)")
_CARD_SUFFIX = ".json"
STATUS = "status"
"""Detail of an error of the contract: the HTTP status of the response without a card."""
_NOT_FOUND_STATUSES = frozenset(
    (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE)
)


@dataclass(frozen=True, slots=True)
class ResolvedCard:
    """A card with its dialect and the URL it came from."""

    card: AgentCard
    dialect: Dialect
    url: str
    body: bytes
    """The original bytes, which signatures refer to."""


@dataclass(frozen=True, slots=True)
class CachedCard:
    """A resolved card with its expiry on the monotonic clock and the headers to revalidate it."""

    resolved: ResolvedCard
    expires_at: float
    conditional_headers: Mapping[str, str]


class CardResolver:
    """Resolves and caches the card of the agent at a URL."""

    def __init__(
        self, url: str, transport: HttpTransport, options: ClientOptions, headers: Mapping[str, str]
    ) -> None:
        self.url = url
        self._transport = transport
        self._options = options
        self._headers = headers
        self._cached: CachedCard | None = None
        self._lock = asyncio.Lock()

    async def get(self, *, refresh: bool = False) -> ResolvedCard:
        """Return the card from the cache, or fetch it after its expiry; ``refresh`` always
        revalidates it.
        """
        async with self._lock:
            if self._cached is None:
                self._cached = await self._discover()
            elif refresh:
                self._cached = await self._revalidate(self._cached)
            elif self._options.clock.monotonic() >= self._cached.expires_at:
                self._cached = await self._revalidate_or_keep(self._cached)
            return self._cached.resolved

    async def _discover(self) -> CachedCard:
        first_error: Exception | None = None
        tried: list[str] = []
        status: int | None = None
        for url, is_at_root in _list_card_urls(self.url):
            response = await self._fetch(url, {})
            status = response.status
            tried.append(f"{url} (status {status})")
            if response.is_success:
                resolved = await self.verify(self._parse(response))
                if not is_at_root or _lists_interface(resolved, self.url):
                    return self._build_cached(resolved, response)
                tried[-1] = f"{url} (a card of an agent at other URLs)"
            elif response.status not in _NOT_FOUND_STATUSES:
                error = error_from_http(
                    CANONICAL.name, GET_EXTENDED_AGENT_CARD, response.status, response.body
                )
                error.add_note(f"{url}: status {response.status}")
                if isinstance(error, A2AError):
                    error.details = {**error.details, STATUS: str(response.status)}
                first_error = first_error or error
        if first_error is not None:
            raise first_error
        missing = CardNotFoundError(
            f"No card at {', '.join(tried)}; check the URL, or pass the URL of the card itself"
        )
        missing.status = status
        raise missing

    async def _revalidate(self, cached: CachedCard) -> CachedCard:
        response = await self._fetch(cached.resolved.url, cached.conditional_headers)
        if response.status == HTTPStatus.NOT_MODIFIED:
            return self._build_cached(cached.resolved, response, cached.conditional_headers)
        if response.is_success:
            return self._build_cached(await self.verify(self._parse(response)), response)
        return await self._discover()

    async def _revalidate_or_keep(self, cached: CachedCard) -> CachedCard:
        """Keep a stale card while the agent is unreachable; the next request reports that."""
        try:
            return await self._revalidate(cached)
        except TransportError:
            return CachedCard(
                cached.resolved,
                self._options.clock.monotonic() + self._options.card_max_age,
                cached.conditional_headers,
            )

    async def _fetch(self, url: str, conditional_headers: Mapping[str, str]) -> ClientResponse:
        headers = {
            **self._headers,
            "accept": "application/json",
            **conditional_headers,
            **inject_trace(),
        }
        return await self._transport.fetch(
            OutgoingRequest("GET", url, follow_redirects=True),
            RetrySafety.READ,
            headers,
            max_bytes=self._options.limits.card_bytes,
        )

    def _build_cached(
        self,
        resolved: ResolvedCard,
        response: ClientResponse,
        conditional_headers: Mapping[str, str] | None = None,
    ) -> CachedCard:
        tags = {"if-none-match": "etag", "if-modified-since": "last-modified"}
        validators = {
            name: response.headers[header]
            for name, header in tags.items()
            if header in response.headers
        }
        max_age = _parse_max_age(response.headers, self._options.card_max_age)
        return CachedCard(
            resolved,
            self._options.clock.monotonic() + max_age,
            validators or conditional_headers or {},
        )

    async def verify(self, resolved: ResolvedCard) -> ResolvedCard:
        """Reduce a card to its signed content, if a card verifier is set."""
        verifier = self._options.card_verifier
        if verifier is None:
            return resolved
        body = await verifier.verify(resolved.body, resolved.dialect.name, resolved.url)
        reader = next(reader for dialect, reader in _CARD_READERS if dialect is resolved.dialect)
        return replace(resolved, card=JsonRpcResponseParser(reader).parse(body) or resolved.card)

    def _parse(self, response: ClientResponse) -> ResolvedCard:
        """Parse a card in the first dialect in which it lists an interface."""
        first_error: ValueError | None = None
        for dialect, reader in sorted(
            _CARD_READERS, key=lambda each: each[0].name != self._options.pin.dialect
        ):
            try:
                card = JsonRpcResponseParser(reader).parse(response.body)
            except ValueError as error:
                first_error = first_error or error
                continue
            if card and any(each.url for each in card.supported_interfaces):
                return ResolvedCard(card, dialect, response.url, response.body)
        reason = describe_error(first_error) if first_error else "it lists no interface"
        raise InvalidCardError(
            f"{response.url}: not a usable agent card ({reason}); pass the URL of a card"
        ) from first_error


def is_http_url(url: str) -> bool:
    """Return whether a text is a URL that a client can call."""
    try:
        parsed = httpx.URL(url)
        # reading the port refuses a bracket that is not closed, and a port above 65535
        _ = urlsplit(url).port
    except (httpx.InvalidURL, ValueError):
        return False
    return parsed.scheme in {"http", "https"} and bool(parsed.host)


def to_origin(url: str) -> str:
    """Return scheme, host and port of a URL; the port only if it is not that of the scheme."""
    parsed = httpx.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def _list_card_urls(url: str) -> Iterator[tuple[str, bool]]:
    """List the URLs of a card, each with a flag: at the root of the host rather than below the
    given URL.
    """
    if is_grpc_url(url):
        raise CardNotFoundError(
            f"{url}: cards are not read over gRPC; pass the URL of the agent or of its card, "
            "with Pin(transport=GRPC)"
        )
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        raise CardNotFoundError(f"{url!r}: not a URL; begin it with https:// or http://")
    if parts.path.endswith(_CARD_SUFFIX):
        yield url, False
        return
    below = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    root = f"{parts.scheme}://{parts.netloc}"
    yield from ((below + route.path, False) for route in CARDS)
    if below != root:
        yield from ((root + route.path, True) for route in CARDS)


def _lists_interface(resolved: ResolvedCard, url: str) -> bool:
    return any(
        each.url.rstrip("/") == url.rstrip("/") for each in resolved.card.supported_interfaces
    )


def _parse_max_age(headers: httpx.Headers, default: float) -> float:
    """Parse the seconds for which a response stays fresh."""
    cache_control = headers.get("cache-control", "").lower()
    if _NO_CACHE.search(cache_control):
        return 0.0
    max_age = _MAX_AGE.search(cache_control)
    if max_age is None:
        return default
    age = headers.get("age", "0")
    seconds = float(max_age[1])
    if age.isascii() and age.isdigit():
        seconds -= float(age)
    return max(0.0, seconds)
