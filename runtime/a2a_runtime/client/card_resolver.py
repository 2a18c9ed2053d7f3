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
from a2a_contract.binding import Hearing
from a2a_contract.dialects import CANONICAL, MESH, V0_3, Dialect
from a2a_contract.jsonrpc import AnswerReader
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.routes.cards import CARDS
from a2a_contract.translate import mesh as from_mesh
from a2a_contract.translate import v0_3 as from_v0_3
from a2a_contract.v1_0 import AgentCard
from a2a_runtime.client.errors import CardNotFoundError, CardUnreadableError, LineError, error_of_http
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import Question, what_is_wrong
from a2a_runtime.client.transport import Courier, Reply, Safety

# The forms of cards, the one that says the most first.
_FORMS: tuple[tuple[Dialect, Hearing[AgentCard]], ...] = (
    (CANONICAL, Hearing(AgentCard)),
    (V0_3, Hearing(v0_3.AgentCard, from_v0_3.read_agent_card)),
    (MESH, Hearing(mesh.AgentCard, from_mesh.read_agent_card)),
)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?(\d{1,9})")
_NEVER = re.compile(r"(?:^|[,\s])no-(?:store|cache)")
_FILE = ".json"
_NOT_HERE = frozenset((HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE))


@dataclass(frozen=True, slots=True)
class Found:
    """A card, the dialect in which it is written, and where it was."""

    card: AgentCard
    dialect: Dialect
    url: str
    body: bytes
    """The card as it came, on which its signatures are."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A card that is kept, until when it is good, and how to ask whether it still is."""

    found: Found
    good_until: float
    conditions: Mapping[str, str]


class CardSource:
    """Gives the card of the agent at a URL."""

    def __init__(self, url: str, courier: Courier, options: ClientOptions, headers: Mapping[str, str]) -> None:
        self._url, self._courier, self._options, self._headers = url, courier, options, headers
        self._kept: Kept | None = None
        self._one_at_a_time = asyncio.Lock()

    @property
    def host(self) -> str:
        """Name the host that the client was told of."""
        return urlsplit(self._url).hostname or ""

    async def get(self, *, fresh: bool = False) -> Found:
        """Give the card, fetched again only if it may have changed; ``fresh`` asks the agent in any case."""
        async with self._one_at_a_time:
            kept = self._kept
            if kept is None:
                kept = await self._discover()
            elif fresh:
                kept = await self._ask_again(kept)
            elif self._options.clock.monotonic() >= kept.good_until:
                kept = await self._ask_again_if_possible(kept)
            self._kept = kept
            return kept.found

    async def _discover(self) -> Kept:
        refused: Exception | None = None
        tried: list[str] = []
        for url, at_root in _places(self._url):
            tried.append(url)
            reply = await self._fetch(url, {})
            if reply.is_good:
                found = await self.believed(self._read(reply))
                if not at_root or _lists(found, self._url):
                    return self._keep(found, reply)
            elif reply.status not in _NOT_HERE:
                refused = refused or error_of_http(CANONICAL.name, GET_EXTENDED_AGENT_CARD, reply.status, reply.body)
        raise refused or CardNotFoundError(f"No card at {', '.join(tried)}; check the URL, or give the URL of the card itself")

    async def _ask_again(self, kept: Kept) -> Kept:
        reply = await self._fetch(kept.found.url, kept.conditions)
        if reply.status == HTTPStatus.NOT_MODIFIED:
            return self._keep(kept.found, reply, kept.conditions)
        return self._keep(await self.believed(self._read(reply)), reply) if reply.is_good else await self._discover()

    async def _ask_again_if_possible(self, kept: Kept) -> Kept:
        """Go on with the old card if the agent cannot be asked now: what is asked next will tell."""
        try:
            return await self._ask_again(kept)
        except LineError:
            return Kept(kept.found, self._options.clock.monotonic() + self._options.card_age, kept.conditions)

    async def _fetch(self, url: str, conditions: Mapping[str, str]) -> Reply:
        headers = {**self._headers, "accept": "application/json", **conditions}
        return await self._courier.fetch(Question("GET", url), Safety.READ, headers, limit=self._options.limits.card, redirects=True)

    def _keep(self, found: Found, reply: Reply, conditions: Mapping[str, str] | None = None) -> Kept:
        tags = {"if-none-match": "etag", "if-modified-since": "last-modified"}
        said = {name: reply.headers[header] for name, header in tags.items() if header in reply.headers}
        age = _age(reply.headers, self._options.card_age)
        return Kept(found, self._options.clock.monotonic() + age, said or conditions or {})

    async def believed(self, found: Found) -> Found:
        """Take of a card what is proven to be its agent's, where that is wanted."""
        check = self._options.check_card
        if check is None:
            return found
        body = await check.check(found.body, found.dialect.name, found.url)
        hearing = next(hearing for dialect, hearing in _FORMS if dialect is found.dialect)
        return replace(found, card=AnswerReader(hearing).read(body) or found.card)

    def _read(self, reply: Reply) -> Found:
        """Read a card in the first dialect in which it says where the agent is."""
        first: ValueError | None = None
        for dialect, hearing in sorted(_FORMS, key=lambda each: each[0].name != self._options.pin.dialect):
            try:
                card = AnswerReader(hearing).read(reply.body)
            except ValueError as error:
                first = first or error
                continue
            if card and any(each.url for each in card.supported_interfaces):
                return Found(card, dialect, reply.url, reply.body)
        why = what_is_wrong(first) if first else "it lists no interface"
        raise CardUnreadableError(f"What is at {reply.url} is no card that says where its agent is ({why})") from first


def _places(url: str) -> Iterator[tuple[str, bool]]:
    """List where the card may be, and whether that is the root of the host rather than what was asked for."""
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        raise CardNotFoundError(f"{url!r} is not a URL; it begins with https:// or http://")
    if parts.path.endswith(_FILE):
        yield url, False
        return
    below = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
    root = f"{parts.scheme}://{parts.netloc}"
    yield from ((below + route.path, False) for route in CARDS)
    if below != root:
        yield from ((root + route.path, True) for route in CARDS)


def _lists(found: Found, url: str) -> bool:
    return any(each.url.rstrip("/") == url.rstrip("/") for each in found.card.supported_interfaces)


def _age(headers: httpx.Headers, otherwise: float) -> float:
    """Say for how many seconds an answer is good."""
    said = headers.get("cache-control", "").lower()
    if _NEVER.search(said):
        return 0.0
    found = _MAX_AGE.search(said)
    if found is None:
        return otherwise
    spent = headers.get("age", "0")
    return max(0.0, float(found[1]) - (float(spent) if spent.isascii() and spent.isdigit() else 0.0))
