"""Keys that verify the signatures of tokens and cards.

A key is bound to its algorithm when it is parsed: the header of a token selects a key, and never
how it is used. Secret and private keys in a published key set are ignored: a key that is public
proves nothing.
"""

from __future__ import annotations

import logging
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from typing import Protocol

from jwt import PyJWK, PyJWKError
from jwt.algorithms import get_default_algorithms
from jwt.exceptions import InvalidKeyError
from pydantic_core import from_json

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_runtime.auth.authentication import InvalidCredentialsError

log = logging.getLogger(__name__)

SECRET_ALGORITHMS = frozenset(("HS256", "HS384", "HS512"))
_ALGORITHMS_BY_KEY_TYPE: Mapping[tuple[object, object], frozenset[str]] = {
    ("RSA", None): frozenset(("PS256", "PS384", "PS512", "RS256", "RS384", "RS512")),
    ("EC", "P-256"): frozenset(("ES256",)),
    ("EC", "P-384"): frozenset(("ES384",)),
    ("EC", "P-521"): frozenset(("ES512",)),
    ("OKP", "Ed25519"): frozenset(("EdDSA",)),
}
PUBLIC_ALGORITHMS = frozenset[str]().union(*_ALGORITHMS_BY_KEY_TYPE.values())
_MIN_SECRET_BYTES = 32
_MAX_KEY_ID_CHARS = 200


class UnknownKeyError(InvalidCredentialsError):
    """A token or card is signed with an unknown key."""

    def __init__(self) -> None:
        super().__init__("The signing key is unknown")


class KeyResolver(Protocol):
    """A source of keys."""

    def find(self, key_id: str | None, algorithm: str) -> PyJWK | Awaitable[PyJWK]:
        """Return a key or raise ``UnknownKeyError``; without an id, the only key of the
        algorithm.
        """
        ...


class KeySet:
    """Keys by id and algorithm."""

    def __init__(self, keys: Iterable[tuple[str | None, PyJWK]] = ()) -> None:
        self._all = tuple(keys)
        self._keys: dict[tuple[str | None, str], PyJWK] = {}
        self._only_keys: dict[str, PyJWK | None] = {}
        for key_id, key in self._all:
            self._keys[key_id, key.algorithm_name] = key
            self._only_keys[key.algorithm_name] = (
                None if key.algorithm_name in self._only_keys else key
            )

    def find(self, key_id: str | None, algorithm: str) -> PyJWK:
        """Return a key, or raise ``UnknownKeyError``."""
        key = self.get(key_id, algorithm)
        if key is None:
            raise UnknownKeyError
        return key

    def get(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """Return a key, or ``None``."""
        if key_id is None:
            return self._only_keys.get(algorithm)
        return self._keys.get((key_id, algorithm))

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the keys; the algorithm's name for a key without an id."""
        return frozenset(key_id or key.algorithm_name for key_id, key in self._all)

    @property
    def algorithms(self) -> frozenset[str]:
        """The algorithms of the keys."""
        return frozenset(key.algorithm_name for _, key in self._all)

    def __len__(self) -> int:
        return len(self._keys)

    def __add__(self, other: KeySet) -> KeySet:
        return KeySet((*self, *other))

    def __iter__(self) -> Iterator[tuple[str | None, PyJWK]]:
        return iter(self._all)


def keys_from_secret(
    value: str | bytes, algorithm: str = "HS256", key_id: str | None = None
) -> KeySet:
    """Use a secret that the issuer and this agent share."""
    secret = value.encode() if isinstance(value, str) else value
    if algorithm not in SECRET_ALGORITHMS:
        raise ValueError(
            f"{algorithm}: does not use a secret; the algorithms that do are "
            f"{', '.join(sorted(SECRET_ALGORITHMS))}"
        )
    if len(secret) < _MIN_SECRET_BYTES:
        raise ValueError(
            f"secret: {len(secret)} bytes are too short; use at least {_MIN_SECRET_BYTES} bytes"
        )
    document = {"kty": "oct", "k": urlsafe_b64encode(secret).rstrip(b"=").decode()}
    return KeySet([(key_id, PyJWK(document, algorithm))])


def keys_from_pem(pem: str | bytes, algorithm: str, key_id: str | None = None) -> KeySet:
    """Use the public key of an issuer."""
    if algorithm not in PUBLIC_ALGORITHMS:
        raise ValueError(
            f"{algorithm}: has no public keys; the algorithms that do are "
            f"{', '.join(sorted(PUBLIC_ALGORITHMS))}"
        )
    implementation = get_default_algorithms()[algorithm]
    document = implementation.to_jwk(implementation.prepare_key(pem), as_dict=True)
    if "d" in document:
        raise ValueError(
            "public key: this is a private key, which only the issuer should have; use the "
            "public key"
        )
    return KeySet([(key_id, PyJWK(document, algorithm))])


def keys_from_jwks(documents: Iterable[object]) -> KeySet:
    """Parse the members of a key set; those that cannot be used are ignored."""
    found: list[tuple[str | None, PyJWK]] = []
    for each in filter(is_json_object, documents):
        for name in _list_algorithms(each):
            key = _parse_key(each, name)
            if key is not None:
                found.append((_parse_key_id(each), key))
    return KeySet(found)


def parse_jwks(text: bytes) -> KeySet:
    """Parse a key set (RFC 7517); ``ValueError`` if the text is not one."""
    document: object = from_json(text)
    listed = document.get("keys") if is_json_object(document) else None
    if not is_json_array(listed):
        raise ValueError("not a key set: it has no list of keys")
    return keys_from_jwks(listed)


def _parse_key_id(document: Mapping[str, object]) -> str | None:
    key_id = document.get("kid")
    if isinstance(key_id, str) and len(key_id) <= _MAX_KEY_ID_CHARS:
        return key_id
    return None


def _list_algorithms(document: Mapping[str, object]) -> frozenset[str]:
    if document.get("use", "sig") != "sig" or "d" in document:
        return frozenset()
    algorithms = _ALGORITHMS_BY_KEY_TYPE.get(
        (document.get("kty"), document.get("crv")), frozenset()
    )
    only = document.get("alg")
    if only is None:
        return algorithms
    return algorithms & {str(only)}


def _parse_key(document: Mapping[str, object], algorithm: str) -> PyJWK | None:
    try:
        key = PyJWK(dict(document), algorithm)
        weakness = key.Algorithm.check_key_length(key.key)
    except (PyJWKError, InvalidKeyError, ValueError, TypeError) as error:
        log.warning("key ignored: it cannot be parsed (%s)", type(error).__name__)
        return None
    if weakness:
        log.warning("key ignored: it is too short")
    if weakness:
        return None
    return key
