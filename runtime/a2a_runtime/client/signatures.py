"""Whose card it is: a client that looks at the signatures of cards.

    trusted = Trust(PublishedKeys("https://agent.example/.well-known/jwks.json"))
    A2AClient(url, options=ClientOptions(check_card=SignedBy(trusted)))                   a card that is not signed by a trusted key is an error
    A2AClient(url, options=ClientOptions(check_card=SignedBy(trusted, required=False)))   … is used all the same, and warned of

What is used of a checked card is what was signed of it, and nothing else.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pydantic_core import from_json, to_json

from a2a_contract.json_types import is_json_object
from a2a_runtime.client.errors import DiscoveryError
from a2a_runtime.crypto.card_signatures import TrustStore, UntrustedCardError, verify_card

log = logging.getLogger(__name__)


class CardNotTrustedError(DiscoveryError):
    """The card is not signed by a key that is trusted; ask the agent's owner for their keys, or trust those that the text names."""


@dataclass(frozen=True, slots=True)
class CardVerifier:
    """Wants a signature of a trusted key."""

    trust_store: TrustStore
    required: bool = True

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Give what of a card was signed, or the card as it is with a warning, or refuse it."""
        document: object = from_json(card)
        try:
            return to_json(await verify_card(document if is_json_object(document) else {}, self.trust_store, dialect))
        except UntrustedCardError as error:
            if self.required:
                raise CardNotTrustedError(f"{url}: {error}") from error
            log.warning("%s: %s; it is used all the same", url, error)
            return card
