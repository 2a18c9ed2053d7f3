"""What webhooks are sent besides the event: proof of who sends it, and that nobody has changed it.

    Content-Digest: sha-256=:…:                     of the body (RFC 9530)
    Webhook-Signature: a JWT                        iss  the agent          aud  the webhook, without its query
                                                    iat, exp  five minutes  jti  the Webhook-Id
                                                    digest  the same as in the header

The keys are published by the agent; receivers check all of it with ``a2a_runtime.push.verify``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

import jwt

from a2a_runtime.clock import Clock, SystemClock
from a2a_runtime.crypto.keys import SigningKey

SIGNATURE_HEADER = "Webhook-Signature"
DIGEST_HEADER = "Content-Digest"
DIGEST_CLAIM = "digest"
_VALID_SECONDS = 300


class OutgoingNotification(Protocol):
    """A notification that is about to be sent."""

    @property
    def url(self) -> str:
        """Where it goes."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """What is sent besides the body."""
        ...

    @property
    def body(self) -> bytes:
        """What is sent."""
        ...


class WebhookSigner:
    """Signs notifications as an agent."""

    def __init__(self, key: SigningKey, issuer: str, clock: Clock | None = None) -> None:
        self._key, self._issuer, self._clock = key, issuer, clock or SystemClock()

    def __call__(self, notification: OutgoingNotification) -> Mapping[str, str]:
        """Make the headers that prove a notification."""
        now = self._clock.millis() // 1000
        digest = digest_body(notification.body)
        claims = {
            "iss": self._issuer,
            "aud": to_audience(notification.url),
            "iat": now,
            "exp": now + _VALID_SECONDS,
            "jti": notification.headers.get("Webhook-Id", ""),
            DIGEST_CLAIM: digest,
        }
        named = {"kid": self._key.key_id, **({"jku": self._key.jku} if self._key.jku else {})}
        return {DIGEST_HEADER: digest, SIGNATURE_HEADER: jwt.encode(claims, self._key.private, self._key.algorithm, headers=named)}


def digest_body(body: bytes) -> str:
    """Write the digest of a body as RFC 9530 has it."""
    return f"sha-256=:{b64encode(sha256(body).digest()).decode()}:"


def to_audience(url: str) -> str:
    """Name a webhook without what its owner may keep secret in the query."""
    return url.partition("?")[0].partition("#")[0]
