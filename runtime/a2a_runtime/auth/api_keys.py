"""API keys. What is kept of a key is its digest: whoever reads the configuration cannot use it.

    ApiKeys({digest_of_key: Identity("ada")}, name="X-API-Key")        the digest comes from ``digest(key)``

Keys are long and random, not chosen by people (``new_key``); a plain digest of them cannot be guessed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b, sha256

from a2a_contract.v1_0 import APIKeySecurityScheme, SecurityScheme
from a2a_runtime.auth.credentials import Credentials
from a2a_runtime.auth.guesses import Guesses
from a2a_runtime.auth.identity import Identity, RefusedError

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST = 1000
_NOBODY = ""  # a key names nobody, until it is found


class Place(StrEnum):
    """Where in a request a key stands; the values are those of the card."""

    HEADER = "header"
    QUERY = "query"
    COOKIE = "cookie"


def new_key() -> str:
    """Make a key."""
    return secrets.token_urlsafe(32)


def digest(key: str) -> str:
    """Make what is kept of a key."""
    return sha256(key.encode()).hexdigest()


class ApiKeys:
    """Knows some keys."""

    def __init__(
        self,
        keys: Mapping[str, Identity],
        name: str = "X-API-Key",
        place: Place = Place.HEADER,
        *,
        scheme: str = "apiKey",
        guesses: Guesses | None = None,
    ) -> None:
        wrong = [place for place, each in enumerate(keys, 1) if not _DIGEST.fullmatch(each)]
        if wrong:
            numbers = ", ".join(map(str, wrong))  # never the text itself: it may be a key
            raise ValueError(f"keys are kept as digests, 64 hexadecimal digits, as number {numbers} is not; make one with a2a-gen auth digest")
        self._blind = secrets.token_bytes(32)
        self._keys = {self._blinded(each): identity for each, identity in keys.items()}
        self._name, self._place, self._scheme = name, place, scheme
        self._guesses = guesses or Guesses()

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | None:
        """Look up the key of a request."""
        key = self._key(headers)
        if key is None:
            return None
        mark = self._blinded(digest(key[:_LONGEST]))
        self._guesses.check(headers, _NOBODY, mark)
        identity = self._keys.get(mark) if len(key) <= _LONGEST else None
        if identity is None:
            self._guesses.was_wrong(headers, _NOBODY, mark)
            raise RefusedError("The key is not known")
        self._guesses.was_right(headers, mark)
        return identity

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the key."""
        return {self._scheme: SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location=self._place, name=self._name))}

    def _blinded(self, found: str) -> bytes:
        """Compare in constant time: what is looked up is nothing that a caller could know or choose, so that its time tells them nothing."""
        return blake2b(found.encode(), key=self._blind, digest_size=32).digest()

    def _key(self, headers: Mapping[str, str]) -> str | None:
        if self._place is Place.HEADER:
            return headers.get(self._name)
        if not isinstance(headers, Credentials):
            return None
        return headers.parameter(self._name) if self._place is Place.QUERY else headers.cookie(self._name)
