"""JSON Web Tokens: bearer tokens that an issuer has signed.

    JwtAuthenticator(PublishedKeys("https://id.example/keys"), Expected("https://id.example", "my-agent", ("RS256",)))
    JwtAuthenticator(DiscoveredKeys("https://id.example"), Expected("https://id.example", "my-agent"))
    JwtAuthenticator(secret(os.environ["TOKEN_SECRET"]), Expected("my-issuer", "my-agent", ("HS256",)))

A token is looked at anew with each request, and nothing about it is remembered: one that has run out, or whose key was taken back, is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import jwt
from jwt import PyJWK
from jwt.exceptions import (
    ExpiredSignatureError,
    ImmatureSignatureError,
    InvalidAudienceError,
    InvalidIssuedAtError,
    InvalidIssuerError,
    MissingRequiredClaimError,
)
from jwt.types import Options
from jwt.utils import base64url_decode
from pydantic_core import from_json

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import HTTPAuthSecurityScheme, OpenIdConnectSecurityScheme, SecurityScheme
from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError, parse_authorization
from a2a_runtime.auth.gate import BEARER
from a2a_runtime.auth.keys import PUBLIC_ALGORITHMS, SECRET_ALGORITHMS, KeyResolver

_MAX_TOKEN_CHARS = 16 * 1024
_TOKEN_TYPES = frozenset((None, "jwt", "at+jwt", "application/at+jwt"))
_MAX_TIMESTAMP = 2**53
_INVALID = "The token is not valid"
_REASONS: Mapping[type[jwt.InvalidTokenError], str] = {
    ExpiredSignatureError: "The token has expired",
    ImmatureSignatureError: "The token is not valid yet",
    InvalidAudienceError: "The token is meant for somebody else",
    InvalidIssuedAtError: "The token was issued in the future",
    InvalidIssuerError: "The token is of another issuer",
}


@dataclass(frozen=True, slots=True)
class JwtValidation:
    """What a token must say."""

    issuer: str
    audience: str | Iterable[str]
    algorithms: Iterable[str] = ("RS256", "ES256", "EdDSA")
    leeway: float = 0.0
    """Seconds by which the clock of the issuer may differ."""

    def __post_init__(self) -> None:
        chosen = frozenset(self.algorithms)
        unknown = chosen - PUBLIC_ALGORITHMS - SECRET_ALGORITHMS
        if unknown or not chosen:
            known = ", ".join(sorted(PUBLIC_ALGORITHMS | SECRET_ALGORITHMS))
            raise ValueError(f"algorithms: {', '.join(sorted(unknown)) or 'none'} cannot be used; there are {known}")
        if chosen & SECRET_ALGORITHMS and chosen & PUBLIC_ALGORITHMS:
            raise ValueError(
                "algorithms: some have a secret and some a public key, which everybody knows and could take for the secret; choose one kind"
            )
        if not self.issuer or not self.audience:
            raise ValueError("a token must say who issued it and for whom; name the issuer and the audience")


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Where a token says what. A tenant that is to be in the token and is not there is a reason to refuse it."""

    subject: str = "sub"
    tenant: str | None = None
    scopes: Iterable[str] = ("scope", "scp")
    roles: Iterable[str] = ("roles",)
    team: str | None = None
    """The claim that names the team whose tasks the caller shares; a token without it is that of somebody on their own."""


@dataclass(frozen=True, slots=True)
class JwtAuthenticator:
    """Knows the tokens of one issuer."""

    keys: KeyResolver
    validation: JwtValidation
    claim_names: ClaimNames = ClaimNames()
    scheme: str = BEARER
    """The name that the card has for it."""
    open_id_connect_url: str | None = None
    """Where clients find out how to get a token, if the issuer speaks OpenID Connect."""
    _algorithms: frozenset[str] = field(init=False, repr=False)
    _options: Options = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_algorithms", frozenset(self.validation.algorithms))
        object.__setattr__(self, "_options", {"require": ["exp", "iss", "aud", self.claim_names.subject]})

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity] | None:
        """Check the token of a request, at once if its key is there."""
        token = parse_authorization(headers, BEARER)
        if token is None:
            return None
        if len(token) > _MAX_TOKEN_CHARS or not token.isascii():
            raise InvalidCredentialsError(_INVALID)
        head = _parse_header(token.partition(".")[0])
        if head.algorithm not in self._algorithms:
            raise InvalidCredentialsError("The token is signed by an algorithm that is not taken here")
        key = self.keys.find(head.key_id, head.algorithm)
        return self._verify(token, key) if isinstance(key, PyJWK) else self._verify_async(token, key)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Describe the token."""
        if self.open_id_connect_url is not None:
            provider = OpenIdConnectSecurityScheme(open_id_connect_url=self.open_id_connect_url)
            return {self.scheme: SecurityScheme(open_id_connect_security_scheme=provider)}
        return {self.scheme: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT"))}

    async def _verify_async(self, token: str, key: Awaitable[PyJWK]) -> Identity:
        return self._verify(token, await key)

    def _verify(self, token: str, key: PyJWK) -> Identity:
        expected = self.validation
        try:
            said: Mapping[str, object] = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,  # type: ignore[arg-type]  # looked up in, and nothing else
                options=self._options,
                audience=expected.audience,
                issuer=expected.issuer,
                leeway=expected.leeway,
            )
        except MissingRequiredClaimError as error:
            raise InvalidCredentialsError(f"The token does not say its {error.claim}") from None
        except jwt.InvalidTokenError as error:
            raise InvalidCredentialsError(_REASONS.get(type(error), _INVALID)) from None
        names = self.claim_names
        return Identity(
            _require_text(said, names.subject),
            "" if names.tenant is None else _require_text(said, names.tenant),
            _collect_words(said, names.scopes),
            _collect_words(said, names.roles),
            "" if names.team is None or names.team not in said else _require_text(said, names.team),
            said,
            _parse_expiry(said["exp"]) + expected.leeway,
        )


class _TokenHeader(NamedTuple):
    algorithm: str
    key_id: str | None


@lru_cache(maxsize=256)
def _parse_header(segment: str) -> _TokenHeader:
    """Read the first part of a token: the same for all tokens that an issuer signs with one key."""
    try:
        head: object = from_json(base64url_decode(segment))
    except ValueError:
        raise InvalidCredentialsError(_INVALID) from None
    if not is_json_object(head) or "crit" in head or "b64" in head:
        raise InvalidCredentialsError(_INVALID)
    algorithm, key_id, kind = head.get("alg"), head.get("kid"), head.get("typ")
    if not isinstance(algorithm, str) or not isinstance(key_id, str | None) or (kind.lower() if isinstance(kind, str) else kind) not in _TOKEN_TYPES:
        raise InvalidCredentialsError(_INVALID)
    return _TokenHeader(algorithm, key_id)


def _require_text(claims: Mapping[str, object], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidCredentialsError(f"The token does not say its {name}")
    return value


def _parse_expiry(value: object) -> float:
    """Read when a token ends, in whatever form it was found to be right."""
    return float(min(int(value), _MAX_TIMESTAMP)) if isinstance(value, int | float | str) else 0.0


def _collect_words(claims: Mapping[str, object], names: Iterable[str]) -> frozenset[str]:
    """Read a list that is written as one text or as several."""
    found: list[str] = []
    for name in names:
        value = claims.get(name)
        if isinstance(value, str):
            found += value.split()
        elif is_json_array(value):
            found += [each for each in value if isinstance(each, str)]
    return frozenset(found)
