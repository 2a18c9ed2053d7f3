"""Verification of card signatures by a client.

    key_url = "https://agent.example/.well-known/jwks.json"
    A2AClient(url, options=ClientOptions(card_keys=(key_url, pem)))
        keys of a URL, and a pinned one
    trusted = TrustStore(JwksKeys(key_url))
    A2AClient(url, options=ClientOptions(card_verifier=CardVerifier(trusted)))
        a card without a trusted signature is an error
    A2AClient(url, options=ClientOptions(card_verifier=CardVerifier(trusted, required=False)))
        … is used, with a warning

Only the signed content of a verified card is used.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from jwt import PyJWK
from jwt.exceptions import InvalidKeyError
from pydantic_core import from_json, to_json

from a2a_contract.json_types import is_json_object
from a2a_runtime.client.errors import DiscoveryError
from a2a_runtime.client.options import VerifiesCards
from a2a_runtime.features.keys.card_signatures import (
    ALGORITHMS,
    TrustStore,
    UntrustedCardError,
    verify_card,
)
from a2a_runtime.features.keys.jwks import JwksKeys
from a2a_runtime.features.keys.verification import (
    KeyResolver,
    KeySet,
    UnknownKeyError,
    keys_from_pem,
)
from a2a_runtime.net.target import is_web_url

log = logging.getLogger(__name__)


class CardNotTrustedError(DiscoveryError):
    """The card has no signature by a trusted key; ask the operator of the agent for their keys, or
    trust those in the text.
    """


@dataclass(frozen=True, slots=True)
class CardVerifier:
    """Requires a signature by a trusted key; with ``required=False`` an unsigned card only logs a
    warning.
    """

    trust_store: TrustStore
    required: bool = True

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Return the signed content of a card, or the unverified card if no signature is
        required.
        """
        document: object = from_json(card)
        try:
            signed = document if is_json_object(document) else {}
            return to_json(await verify_card(signed, self.trust_store, dialect))
        except UntrustedCardError as error:
            if self.required:
                raise CardNotTrustedError(f"{url}: {error}") from error
            log.warning("%s: %s; the card is used without verification", url, error)
            return card


def build_card_verifier(keys: Sequence[str]) -> VerifiesCards:
    """Build the verifier that trusts public keys (PEM) and the keys at URLs, or raise
    ``ValueError`` for what is neither.
    """
    by_url = {each: JwksKeys(each) for each in keys if is_web_url(each)}
    resolvers: list[KeyResolver] = [
        *by_url.values(),
        *(_PinnedKey(each) for each in keys if each not in by_url),
    ]
    return _AnyVerifier(tuple(CardVerifier(TrustStore(each, by_url)) for each in resolvers))


@dataclass(frozen=True, slots=True)
class _AnyVerifier:
    """Several verifiers, one of which has to trust a card."""

    verifiers: Sequence[CardVerifier]

    async def verify(self, card: bytes, dialect: str, url: str) -> bytes:
        """Return the content of a card that one of them trusts, or raise the error of the last
        one.
        """
        *others, last = self.verifiers
        for each in others:
            with suppress(CardNotTrustedError):
                return await each.verify(card, dialect, url)
        return await last.verify(card, dialect, url)


class _PinnedKey:
    """One key, whatever id a signature gives it."""

    def __init__(self, pem: str) -> None:
        self._keys: dict[str, KeySet] = {}
        for algorithm in sorted(ALGORITHMS):
            with suppress(InvalidKeyError, ValueError, TypeError):
                self._keys[algorithm] = keys_from_pem(pem, algorithm)
        if not self._keys:
            raise ValueError(
                f"card_keys: {pem[:40]!r} is neither a URL nor a public key; give an "
                "https:// URL of a key set, or a key in PEM"
            )

    # the argument is unused: a pinned key has any id
    def find(self, key_id: str | None, algorithm: str) -> PyJWK:  # noqa: ARG002
        """Find the key if it fits the algorithm."""
        if algorithm not in self._keys:
            raise UnknownKeyError
        return self._keys[algorithm].find(None, algorithm)
