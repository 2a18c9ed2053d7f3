"""The keys by which tokens are checked.

A key is bound to its algorithm when it is read: what a token says about itself chooses among the keys, and never what is done with one. Among keys
that an issuer publishes, secret and private ones are passed over: what everybody can read proves nothing.
"""

from __future__ import annotations

import logging
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import Protocol

from jwt import PyJWK, PyJWKError
from jwt.algorithms import get_default_algorithms
from jwt.exceptions import InvalidKeyError

from a2a_runtime.auth.authentication import InvalidCredentialsError

log = logging.getLogger(__name__)

SECRET_ALGORITHMS = frozenset(("HS256", "HS384", "HS512"))
PUBLIC_ALGORITHMS = frozenset(("ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"))

_ALGORITHMS_BY_KEY_TYPE: Mapping[tuple[object, object], frozenset[str]] = {
    ("RSA", None): frozenset(("PS256", "PS384", "PS512", "RS256", "RS384", "RS512")),
    ("EC", "P-256"): frozenset(("ES256",)),
    ("EC", "P-384"): frozenset(("ES384",)),
    ("EC", "P-521"): frozenset(("ES512",)),
    ("OKP", "Ed25519"): frozenset(("EdDSA",)),
}
_MIN_SECRET_BYTES = 32
_MAX_KEY_ID_CHARS = 200


class KeyResolver(Protocol):
    """Knows keys."""

    def find(self, key_id: str | None, algorithm: str) -> PyJWK | Awaitable[PyJWK]:
        """Find the key that a token names, or refuse the token; a token that names none means the only key there is."""
        ...


class KeySet:
    """Keys that are there, by their ids and algorithms."""

    def __init__(self, keys: Iterable[tuple[str | None, PyJWK]] = ()) -> None:
        self._all = tuple(keys)
        self._keys: dict[tuple[str | None, str], PyJWK] = {}
        self._only_keys: dict[str, PyJWK | None] = {}
        for key_id, key in self._all:
            self._keys[key_id, key.algorithm_name] = key
            self._only_keys[key.algorithm_name] = None if key.algorithm_name in self._only_keys else key

    def find(self, key_id: str | None, algorithm: str) -> PyJWK:
        """Find a key, or refuse."""
        key = self.get(key_id, algorithm)
        if key is None:
            raise unknown_key()
        return key

    def get(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """Find a key."""
        return self._only_keys.get(algorithm) if key_id is None else self._keys.get((key_id, algorithm))

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the keys; a key without one has its algorithm's name."""
        return frozenset(key_id or key.algorithm_name for key_id, key in self._all)

    def __len__(self) -> int:
        return len(self._keys)

    def __add__(self, other: KeySet) -> KeySet:
        return KeySet((*self, *other))

    def __iter__(self) -> Iterator[tuple[str | None, PyJWK]]:
        return iter(self._all)


def unknown_key() -> InvalidCredentialsError:
    """Refuse a token by a key that nobody knows."""
    return InvalidCredentialsError("The token is signed with a key that is not known")


def keys_from_secret(value: str | bytes, algorithm: str = "HS256", key_id: str | None = None) -> KeySet:
    """Make a key of a secret that the issuer and this agent share."""
    raw = value.encode() if isinstance(value, str) else value
    if algorithm not in SECRET_ALGORITHMS:
        raise ValueError(f"{algorithm} takes no secret; {', '.join(sorted(SECRET_ALGORITHMS))} do")
    if len(raw) < _MIN_SECRET_BYTES:
        raise ValueError(f"a secret for tokens has at least {_MIN_SECRET_BYTES} bytes, this one has {len(raw)}")
    shared = {"kty": "oct", "k": urlsafe_b64encode(raw).rstrip(b"=").decode()}
    return KeySet([(key_id, PyJWK(shared, algorithm))])


def keys_from_pem(pem: str | bytes, algorithm: str, key_id: str | None = None) -> KeySet:
    """Make a key of an issuer's public key, as PEM."""
    if algorithm not in PUBLIC_ALGORITHMS:
        raise ValueError(f"{algorithm} has no public keys; {', '.join(sorted(PUBLIC_ALGORITHMS))} have")
    kind = get_default_algorithms()[algorithm]
    document = kind.to_jwk(kind.prepare_key(pem), as_dict=True)
    if "d" in document:
        raise ValueError("this is a private key, and only the issuer should have it; name the public one")
    return KeySet([(key_id, PyJWK(document, algorithm))])


def keys_from_jwks(documents: Iterable[Mapping[str, object]]) -> KeySet:
    """Make keys of those that an issuer publishes; what cannot be used is passed over."""
    return KeySet((_parse_key_id(each), key) for each in documents for name in _list_algorithms(each) if (key := _parse_key(each, name)) is not None)


def _parse_key_id(document: Mapping[str, object]) -> str | None:
    key_id = document.get("kid")
    return key_id if isinstance(key_id, str) and len(key_id) <= _MAX_KEY_ID_CHARS else None


def _list_algorithms(document: Mapping[str, object]) -> frozenset[str]:
    if document.get("use", "sig") != "sig" or "d" in document:
        return frozenset()
    family = _ALGORITHMS_BY_KEY_TYPE.get((document.get("kty"), document.get("crv")), frozenset())
    named = document.get("alg")
    return family if named is None else family & {str(named)}


def _parse_key(document: Mapping[str, object], algorithm: str) -> PyJWK | None:
    try:
        key = PyJWK(dict(document), algorithm)
        weak = key.Algorithm.check_key_length(key.key)
    except (PyJWKError, InvalidKeyError, ValueError, TypeError) as error:
        log.warning("a published key cannot be used: %s", type(error).__name__)
        return None
    if weak:
        log.warning("a published key is too weak to be used")
    return None if weak else key
