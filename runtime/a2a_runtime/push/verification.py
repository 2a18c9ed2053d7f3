"""For receivers of webhooks: finding out whether a notification is what an agent has sent.

    sender = Sender(PublishedKeys("https://agent.example/.well-known/jwks.json"), "https://agent.example", "https://me.example/hook")
    proof = await verify(request.headers, await request.body(), sender)

What was sent twice has the same ``proof.id``: remember those of the last minutes, and nobody can repeat a notification that they have overheard.
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
from a2a_runtime.auth.keys import KeyResolver
from a2a_runtime.crypto.webhook_signatures import DIGEST_CLAIM, DIGEST_HEADER, SIGNATURE_HEADER, digest_body, to_audience

_ALGORITHMS = frozenset(("ES256", "EdDSA", "RS256"))
_MAX_TOKEN_CHARS = 8192


class VerificationError(Exception):
    """The notification is not what the agent has sent, or not to this receiver, or too long ago; the text says which."""


@dataclass(frozen=True, slots=True)
class TrustedSender:
    """The agent whose notifications are believed, and the webhook at which they come in."""

    keys: KeyResolver
    issuer: str
    webhook: str
    leeway_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class VerifiedNotification:
    """A notification that is what it seems."""

    id: str
    """The same for every time that it is sent."""
    issued_at: int
    """When it was sent, in seconds since 1970."""


async def verify(headers: Mapping[str, str], body: bytes, sender: TrustedSender) -> VerifiedNotification:
    """Check the signature and the digest of a notification, or raise ``UnprovenError``."""
    said = {name.lower(): value for name, value in headers.items()}
    token = said.get(SIGNATURE_HEADER.lower(), "")
    if not token or len(token) > _MAX_TOKEN_CHARS:
        raise VerificationError("the notification is not signed")
    claims = await _decode_claims(token, sender)
    digest = digest_body(body)
    if not hmac.compare_digest(str(claims.get(DIGEST_CLAIM)), digest) or said.get(DIGEST_HEADER.lower(), digest) != digest:
        raise VerificationError("the body is not what was signed")
    identifier, issued_at = claims.get("jti"), claims.get("iat")
    if not isinstance(identifier, str) or not isinstance(issued_at, int) or said.get("webhook-id", identifier) != identifier:
        raise VerificationError("the signature is that of another notification")
    return VerifiedNotification(identifier, issued_at)


async def _decode_claims(token: str, sender: TrustedSender) -> Mapping[str, object]:
    try:
        head: object = from_json(base64url_decode(token.partition(".")[0]))
    except ValueError:
        head = None
    algorithm = head.get("alg") if is_json_object(head) else None
    key_id = head.get("kid") if is_json_object(head) else None
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS or not isinstance(key_id, str):
        raise VerificationError("the signature cannot be read")
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
        raise VerificationError(f"the signature is not that of the agent: {error}") from None
    return claims
