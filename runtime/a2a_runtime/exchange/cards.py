"""Answering who looks for the card: public, the same bytes for everybody, and not sent again to those who have them."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from litestar.types import Send

from a2a_contract.dialects import VERSION
from a2a_contract.errors import MethodNotAllowedError, MethodNotFoundError
from a2a_contract.routing import CardRoute
from a2a_runtime.cards.addresses import PublicAddresses
from a2a_runtime.cards.cards import CardDocument, Cards
from a2a_runtime.exchange.address import base_url
from a2a_runtime.exchange.dialect import Spoken
from a2a_runtime.exchange.question import Question
from a2a_runtime.exchange.reply import JSON, Header, reply, reply_empty
from a2a_runtime.surface import Surface

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
