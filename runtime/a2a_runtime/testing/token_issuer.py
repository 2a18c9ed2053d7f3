"""A token issuer for tests: it signs any claims, valid or not, and publishes its keys.

issuer = TokenIssuer()
headers = {"Authorization": f"Bearer {issuer.issue_token('ada', scope='tasks')}"}
JwtAuthenticator(issuer.keys(), issuer.validation())
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from jwt.algorithms import ECAlgorithm

from a2a_runtime.features.keys.jwt_tokens import JwtValidation
from a2a_runtime.features.keys.verification import KeySet, keys_from_jwks

ISSUER = "https://id.example"
AUDIENCE = "the-agent"
ALGORITHM = "ES256"
_HOUR = 3600


class TokenIssuer:
    """Signs tokens with the newest of its keys."""

    def __init__(self, name: str = ISSUER, audience: str = AUDIENCE) -> None:
        self.name = name
        self.audience = audience
        self._private: dict[str, EllipticCurvePrivateKey] = {}
        self.rotate()

    @property
    def key_id(self) -> str:
        """The id of the newest key."""
        return list(self._private)[-1]

    def rotate(self, *, should_forget: bool = False) -> str:
        """Create a key, in addition to the old ones or instead of them."""
        key_id = f"key-{time.monotonic_ns()}"
        if should_forget:
            self._private.clear()
        self._private[key_id] = generate_private_key(SECP256R1())
        return key_id

    def issue_token(
        self,
        subject: str = "ada",
        *,
        key_id: str | None = None,
        header: Mapping[str, object] | None = None,
        **claims: object,
    ) -> str:
        """Sign a token that is valid for an hour; a claim of ``None`` is left out."""
        now = int(time.time())
        default: dict[str, object] = {
            "sub": subject,
            "iss": self.name,
            "aud": self.audience,
            "exp": now + _HOUR,
            "iat": now,
        }
        payload = {
            name: value for name, value in {**default, **claims}.items() if value is not None
        }
        key = self._private[key_id or self.key_id]
        headers = {"kid": key_id or self.key_id, **(header or {})}
        return jwt.encode(
            payload,
            key,
            ALGORITHM,
            headers={
                name: value for name, value in headers.items() if value is not None or name == "typ"
            },
        )

    def public_jwks(self) -> list[dict[str, object]]:
        """Return the public keys as members of a key set."""
        return [
            {
                **ECAlgorithm.to_jwk(key.public_key(), as_dict=True),
                "kid": key_id,
                "use": "sig",
                "alg": ALGORITHM,
            }
            for key_id, key in self._private.items()
        ]

    def jwks(self) -> bytes:
        """Serialize the key set."""
        return json.dumps({"keys": self.public_jwks()}).encode()

    def keys(self) -> KeySet:
        """Return the public keys for an authenticator."""
        return keys_from_jwks(self.public_jwks())

    def validation(self) -> JwtValidation:
        """Return the validation that its tokens pass."""
        return JwtValidation(self.name, self.audience, (ALGORITHM,))
