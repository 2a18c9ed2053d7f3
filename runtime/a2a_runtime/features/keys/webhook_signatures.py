"""Signatures of webhook notifications: they prove the sender, and that nothing was changed.

    Content-Digest: sha-256=:…:     of the body (RFC 9530)
    Webhook-Signature: a JWT        iss       the agent
                                    aud       the webhook, without its query
                                    iat, exp  five minutes
                                    jti       the Webhook-Id
                                    digest    the same as in the header

The agent publishes its keys; receivers verify all of it with ``a2a_runtime.features.push.verify``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

import jwt

from a2a_runtime.base.clock import Clock, SystemClock
from a2a_runtime.features.keys.signing import SigningKey

SIGNATURE_HEADER = "Webhook-Signature"
DIGEST_HEADER = "Content-Digest"
DIGEST_CLAIM = "digest"
_VALID_SECONDS = 300


class WebhookSigner:
    """Signs notifications with the key of an agent."""

    def __init__(self, key: SigningKey, issuer: str, clock: Clock | None = None) -> None:
        self._key = key
        self._issuer = issuer
        self._clock = clock or SystemClock()

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        """Return the signature headers of a notification to a webhook."""
        now = self._clock.millis() // 1000
        digest = digest_body(body)
        claims = {
            "iss": self._issuer,
            "aud": to_audience(url),
            "iat": now,
            "exp": now + _VALID_SECONDS,
            "jti": headers.get("Webhook-Id", ""),
            DIGEST_CLAIM: digest,
        }
        return {
            DIGEST_HEADER: digest,
            SIGNATURE_HEADER: jwt.encode(
                claims, self._key.private, self._key.algorithm, headers=self._key.header
            ),
        }


def digest_body(body: bytes) -> str:
    """Return the digest of a body in the form of RFC 9530."""
    return f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"


def to_audience(url: str) -> str:
    """Return the URL of a webhook without its query and fragment, which may hold secrets of its
    owner.
    """
    return url.partition("?")[0].partition("#")[0]
