"""Verification of push notifications, for receivers of webhooks.

    keys = JwksKeys("https://agent.example/.well-known/jwks.json")
    sender = TrustedSender(keys, "https://agent.example", "https://me.example/hook")
    notification = await verify(request.headers, await request.body(), sender)

A repeated delivery has the same ``notification.id``: reject ids of the last minutes to prevent
replays.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import isawaitable

import jwt
from jwt.utils import base64url_decode
from pydantic_core import from_json

from a2a_contract.json_types import is_json_object
from a2a_runtime.auth.authentication import InvalidCredentialsError
from a2a_runtime.features.keys.verification import KeyResolver
from a2a_runtime.features.keys.webhook_signatures import (
    DIGEST_CLAIM,
    DIGEST_HEADER,
    SIGNATURE_HEADER,
    digest_body,
    to_audience,
)

_ALGORITHMS = frozenset(("ES256", "EdDSA", "RS256"))
_MAX_TOKEN_CHARS = 8192


class VerificationError(Exception):
    """The notification is not from the agent, not for this receiver, or too old; the text has the
    reason.
    """


@dataclass(frozen=True, slots=True)
class TrustedSender:
    """A trusted agent, and the webhook that receives its notifications."""

    keys: KeyResolver
    issuer: str
    webhook: str
    leeway_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class VerifiedNotification:
    """A notification with a valid signature."""

    id: str
    """The same for every attempt."""
    issued_at: int
    """Time of sending, in seconds since 1970."""


async def verify(
    headers: Mapping[str, str], body: bytes, sender: TrustedSender
) -> VerifiedNotification:
    """Check the signature and the digest of a notification, or raise ``VerificationError``."""
    lower_headers = {name.lower(): value for name, value in headers.items()}
    token = lower_headers.get(SIGNATURE_HEADER.lower(), "")
    if not token or len(token) > _MAX_TOKEN_CHARS:
        raise VerificationError("notification: not signed")
    claims = await _decode_claims(token, sender)
    digest = digest_body(body)
    if (
        not hmac.compare_digest(str(claims.get(DIGEST_CLAIM)), digest)
        or lower_headers.get(DIGEST_HEADER.lower(), digest) != digest
    ):
        raise VerificationError("notification: the body does not match the signature")
    identifier = claims.get("jti")
    issued_at = claims.get("iat")
    if (
        not isinstance(identifier, str)
        or not isinstance(issued_at, int)
        or lower_headers.get("webhook-id", identifier) != identifier
    ):
        raise VerificationError("notification: the signature belongs to another one")
    return VerifiedNotification(identifier, issued_at)


async def _decode_claims(token: str, sender: TrustedSender) -> Mapping[str, object]:
    try:
        decoded: object = from_json(base64url_decode(token.partition(".")[0]))
    except ValueError:
        decoded = None
    header = decoded if is_json_object(decoded) else {}
    algorithm = header.get("alg")
    key_id = header.get("kid")
    if (
        not isinstance(algorithm, str)
        or algorithm not in _ALGORITHMS
        or not isinstance(key_id, str)
    ):
        raise VerificationError("notification: unreadable signature")
    try:
        found = sender.keys.find(key_id, algorithm)
        key = await found if isawaitable(found) else found
        claims: Mapping[str, object] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            issuer=sender.issuer,
            audience=to_audience(sender.webhook),
            leeway=sender.leeway_seconds,
            options={"require": ["exp", "iat", "iss", "aud", "jti"]},
        )
    except (InvalidCredentialsError, jwt.InvalidTokenError) as error:
        raise VerificationError(f"notification: invalid signature: {error}") from None
    return claims
