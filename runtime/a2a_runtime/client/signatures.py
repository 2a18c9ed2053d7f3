"""Verification of card signatures by a client.

    trusted = TrustStore(JwksKeys("https://agent.example/.well-known/jwks.json"))
    A2AClient(url, options=ClientOptions(card_verifier=CardVerifier(trusted)))            a card without a trusted signature is an error
    A2AClient(url, options=ClientOptions(card_verifier=CardVerifier(trusted, required=False)))   … is used, with a warning

Only the signed content of a verified card is used.
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
    """The card has no signature by a trusted key; ask the operator of the agent for their keys, or trust those in the text."""


@dataclass(frozen=True, slots=True)
class CardVerifier:
    """Requires a signature by a trusted key; with ``required=False`` an unsigned card only logs a warning."""

    trust_store: TrustStore
    required: bool = True

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Return the signed content of a card, or the unverified card if no signature is required."""
        document: object = from_json(card)
        try:
            return to_json(await verify_card(document if is_json_object(document) else {}, self.trust_store, dialect))
        except UntrustedCardError as error:
            if self.required:
                raise CardNotTrustedError(f"{url}: {error}") from error
            log.warning("%s: %s; the card is used without verification", url, error)
            return card
