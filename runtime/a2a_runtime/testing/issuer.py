"""An issuer of tokens for tests: it signs what one asks for, right or wrong, and publishes its keys.

issuer = Issuer()
headers = {"Authorization": f"Bearer {issuer.token('ada', scope='tasks')}"}
JwtAuthenticator(issuer.keys(), issuer.expected())
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from jwt.algorithms import ECAlgorithm

from a2a_runtime.auth.jwt_tokens import JwtValidation
from a2a_runtime.auth.keys import KeySet, keys_from_jwks

ISSUER, AUDIENCE, ALGORITHM = "https://id.example", "the-agent", "ES256"
_HOUR = 3600


class TokenIssuer:
    """Signs tokens with the newest of its keys."""

    def __init__(self, name: str = ISSUER, audience: str = AUDIENCE) -> None:
        self.name, self.audience = name, audience
        self._private: dict[str, EllipticCurvePrivateKey] = {}
        self.rotate()

    @property
    def key_id(self) -> str:
        """The id of the newest key."""
        return list(self._private)[-1]

    def rotate(self, *, should_forget: bool = False) -> str:
        """Make a new key, beside the old ones or in their place."""
        key_id = f"key-{time.monotonic_ns()}"
        if should_forget:
            self._private.clear()
        self._private[key_id] = generate_private_key(SECP256R1())
        return key_id

    def issue_token(self, subject: str = "ada", *, key_id: str | None = None, header: Mapping[str, object] | None = None, **claims: object) -> str:
        """Sign a token for an hour from now; a claim that is ``None`` is left out."""
        now = int(time.time())
        usual: dict[str, object] = {"sub": subject, "iss": self.name, "aud": self.audience, "exp": now + _HOUR, "iat": now}
        said = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        key = self._private[key_id or self.key_id]
        named = {"kid": key_id or self.key_id, **(header or {})}
        return jwt.encode(said, key, ALGORITHM, headers={name: value for name, value in named.items() if value is not None or name == "typ"})

    def public_jwks(self) -> list[dict[str, object]]:
        """Give the public keys."""
        return [
            {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig", "alg": ALGORITHM}
            for key_id, key in self._private.items()
        ]

    def jwks(self) -> bytes:
        """Write the document at which the keys are published."""
        return json.dumps({"keys": self.public_jwks()}).encode()

    def keys(self) -> KeySet:
        """Give the public keys as an authenticator has them."""
        return keys_from_jwks(self.public_jwks())

    def validation(self) -> JwtValidation:
        """Say what its tokens say."""
        return JwtValidation(self.name, self.audience, (ALGORITHM,))
