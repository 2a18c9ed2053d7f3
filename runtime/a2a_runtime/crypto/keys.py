"""The keys with which an agent signs: private, with an id, and bound to one algorithm.

    SigningKey.read(Path("card.pem"), key_id="2026-1", jku="https://agent.example/keys.json")
    SigningKey.of_pem(os.environ["CARD_KEY"])              without a name, the id is the key's own thumbprint (RFC 7638)

EC P-256 signs with ES256, Ed25519 with EdDSA, RSA from 2048 bits with RS256.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from a2a_runtime.crypto.jcs import canonicalize

PrivateKey: TypeAlias = EllipticCurvePrivateKey | Ed25519PrivateKey | RSAPrivateKey

_MIN_RSA_BITS = 2048
_THUMBPRINT_MEMBERS = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n")}


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key."""

    private: PrivateKey = field(repr=False)
    key_id: str
    jku: str | None = None
    """Where its public half is published, with others."""

    @classmethod
    def generate(cls) -> SigningKey:
        """Make a key for ES256."""
        return cls._create(generate_private_key(SECP256R1()), None, None)

    @classmethod
    def from_file(cls, path: Path, key_id: str | None = None, jku: str | None = None, password: str | None = None) -> SigningKey:
        """Read a key from a file of PEM."""
        try:
            return cls.from_pem(path.read_bytes(), key_id, jku, password)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: {error.strerror if isinstance(error, OSError) else error}") from None

    @classmethod
    def from_pem(cls, pem: str | bytes, key_id: str | None = None, jku: str | None = None, password: str | None = None) -> SigningKey:
        """Read a key from PEM."""
        try:
            key = load_pem_private_key(pem.encode() if isinstance(pem, str) else pem, password.encode() if password else None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ValueError(f"this is no private key that can be read: {error}") from None
        return cls._create(_require_usable(key), key_id, jku)

    @classmethod
    def _create(cls, private: PrivateKey, key_id: str | None, jku: str | None) -> SigningKey:
        key = cls(private, key_id or "", jku)
        return key if key_id else cls(private, key.thumbprint, jku)

    @property
    def algorithm(self) -> str:
        """The name of the algorithm in JOSE."""
        match self.private:
            case EllipticCurvePrivateKey():
                return "ES256"
            case Ed25519PrivateKey():
                return "EdDSA"
            case RSAPrivateKey():
                return "RS256"

    @property
    def thumbprint(self) -> str:
        """A name that says which key it is (RFC 7638)."""
        public = self._public_jwk()
        members = {name: public[name] for name in _THUMBPRINT_MEMBERS[str(public["kty"])]}
        return urlsafe_b64encode(sha256(canonicalize(members)).digest()).rstrip(b"=").decode()

    def to_pem(self) -> str:
        """Write the key itself."""
        return self.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def to_jwk(self) -> dict[str, object]:
        """Write the public half, as a set of keys holds it."""
        return {**self._public_jwk(), "kid": self.key_id, "use": "sig", "alg": self.algorithm}

    def _public_jwk(self) -> dict[str, object]:
        public: dict[str, object]
        match self.private:
            case EllipticCurvePrivateKey():
                public = dict(ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True))
            case Ed25519PrivateKey():
                public = dict(OKPAlgorithm.to_jwk(self.private.public_key(), as_dict=True))
            case RSAPrivateKey():
                public = dict(RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True))
        public.pop("key_ops", None)
        return public


def build_jwks(keys: Iterable[SigningKey]) -> bytes:
    """Write the document at which public keys are published."""
    return json.dumps({"keys": [key.to_jwk() for key in keys]}, separators=(",", ":")).encode()


def _require_usable(key: object) -> PrivateKey:
    if isinstance(key, EllipticCurvePrivateKey) and not isinstance(key.curve, SECP256R1):
        raise ValueError(f"the curve is {key.curve.name}; ES256 needs P-256")  # noqa: TRY004 - a wrong file, not a wrong program
    if isinstance(key, RSAPrivateKey) and key.key_size < _MIN_RSA_BITS:
        raise ValueError(f"the RSA key has {key.key_size} bits; it needs {_MIN_RSA_BITS}")
    if not isinstance(key, PrivateKey):
        raise ValueError(f"{type(key).__name__} cannot sign cards; use EC P-256, Ed25519 or RSA")  # noqa: TRY004 - a wrong file, not a wrong program
    return key
