"""Private keys that an agent signs with: each has an id and exactly one algorithm.

    SigningKey.from_file(Path("card.pem"), key_id="2026-1", jku="https://agent.example/keys.json")
    SigningKey.from_pem(os.environ["CARD_KEY"])    the default id is its thumbprint (RFC 7638)

EC P-256 signs with ES256, Ed25519 with EdDSA, RSA from 2048 bits with RS256.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import get_default_algorithms

from a2a_runtime.features.keys.jcs import canonicalize

PrivateKey: TypeAlias = EllipticCurvePrivateKey | Ed25519PrivateKey | RSAPrivateKey

_ALGORITHMS: Mapping[type[PrivateKey], str] = {
    EllipticCurvePrivateKey: "ES256",
    Ed25519PrivateKey: "EdDSA",
    RSAPrivateKey: "RS256",
}
_MIN_RSA_BITS = 2048
_THUMBPRINT_MEMBERS = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key."""

    private: PrivateKey = field(repr=False)
    key_id: str
    jku: str | None = None
    """The URL at which the agent publishes its public keys."""

    @classmethod
    def generate(cls) -> SigningKey:
        """Generate a key for ES256."""
        return cls._create(generate_private_key(SECP256R1()), None, None)

    @classmethod
    def from_file(
        cls,
        path: Path,
        key_id: str | None = None,
        jku: str | None = None,
        password: str | None = None,
    ) -> SigningKey:
        """Read a PEM file."""
        try:
            return cls.from_pem(path.read_bytes(), key_id, jku, password)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{path}: {error.strerror if isinstance(error, OSError) else error}"
            ) from None

    @classmethod
    def from_pem(
        cls,
        pem: str | bytes,
        key_id: str | None = None,
        jku: str | None = None,
        password: str | None = None,
    ) -> SigningKey:
        """Parse PEM."""
        try:
            key = load_pem_private_key(
                pem.encode() if isinstance(pem, str) else pem,
                password.encode() if password else None,
            )
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ValueError(f"not a private key: {error}") from None
        return cls._create(_require_usable(key), key_id, jku)

    @classmethod
    def _create(cls, private: PrivateKey, key_id: str | None, jku: str | None) -> SigningKey:
        key = cls(private, key_id or "", jku)
        if key_id:
            return key
        return cls(private, key.thumbprint, jku)

    @property
    def algorithm(self) -> str:
        """The algorithm, as JOSE names it."""
        return next(name for kind, name in _ALGORITHMS.items() if isinstance(self.private, kind))

    @property
    def thumbprint(self) -> str:
        """The thumbprint of the public key (RFC 7638)."""
        public = self._public_jwk()
        members = {name: public[name] for name in _THUMBPRINT_MEMBERS[str(public["kty"])]}
        return urlsafe_b64encode(sha256(canonicalize(members)).digest()).rstrip(b"=").decode()

    @property
    def header(self) -> dict[str, object]:
        """The members of a JOSE header that name the key."""
        return {"kid": self.key_id, **({"jku": self.jku} if self.jku else {})}

    def to_pem(self) -> str:
        """Serialize the private key."""
        return self.private.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode()

    def to_jwk(self) -> dict[str, object]:
        """Return the public key as a member of a key set."""
        return {**self._public_jwk(), "kid": self.key_id, "use": "sig", "alg": self.algorithm}

    def _public_jwk(self) -> dict[str, object]:
        public: dict[str, object] = dict(
            get_default_algorithms()[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)
        )
        public.pop("key_ops", None)
        return public


def build_jwks(keys: Iterable[SigningKey]) -> bytes:
    """Serialize the public keys as a key set (RFC 7517)."""
    return json.dumps({"keys": [key.to_jwk() for key in keys]}, separators=(",", ":")).encode()


def _require_usable(key: object) -> PrivateKey:
    if isinstance(key, EllipticCurvePrivateKey) and not isinstance(key.curve, SECP256R1):
        text = f"the curve is {key.curve.name}; use P-256, which ES256 needs"
        raise ValueError(text)  # noqa: TRY004 - an error of the file, not of the program
    if isinstance(key, RSAPrivateKey) and key.key_size < _MIN_RSA_BITS:
        raise ValueError(f"the RSA key has {key.key_size} bits; use at least {_MIN_RSA_BITS}")
    if not isinstance(key, PrivateKey):
        text = f"{type(key).__name__} cannot sign cards; use EC P-256, Ed25519 or RSA"
        raise ValueError(text)  # noqa: TRY004 - as above
    return key
