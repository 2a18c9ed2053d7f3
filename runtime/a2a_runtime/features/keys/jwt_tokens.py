"""JSON Web Tokens: bearer tokens that an issuer signs.

    validation = JwtValidation("https://id.example", "my-agent", ("RS256",))
    JwtAuthenticator(JwksKeys("https://id.example/keys"), validation)
    JwtAuthenticator(OidcKeys("https://id.example"), validation)

    own_tokens = JwtValidation("my-issuer", "my-agent")
    JwtAuthenticator(keys_from_secret(os.environ["TOKEN_SECRET"]), own_tokens)

Every request verifies its token; no result is cached. An expired token, or one whose key was
revoked, is rejected.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

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
from a2a_contract.v1_0 import (
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)
from a2a_runtime.auth.authentication import Identity, InvalidCredentialsError, parse_authorization
from a2a_runtime.auth.gate import BEARER
from a2a_runtime.features.keys.verification import (
    PUBLIC_ALGORITHMS,
    SECRET_ALGORITHMS,
    KeyResolver,
    KeySet,
)
from a2a_runtime.net.target import is_loopback

DEFAULT_ALGORITHMS = ("RS256", "ES256", "EdDSA")
_MAX_TOKEN_CHARS = 16 * 1024
_TOKEN_TYPES = frozenset((None, "jwt", "at+jwt", "application/at+jwt"))
_MAX_TIMESTAMP = 2**53
_INVALID = "The token is not valid"
_REASONS: Mapping[type[jwt.InvalidTokenError], str] = {
    ExpiredSignatureError: "The token has expired",
    ImmatureSignatureError: "The token is not valid yet",
    InvalidAudienceError: "The token has another audience",
    InvalidIssuedAtError: "The token was issued in the future",
    InvalidIssuerError: "The token has another issuer",
}


@dataclass(frozen=True, slots=True)
class JwtValidation:
    """The requirements that a token has to meet."""

    issuer: str
    audience: str | Iterable[str]
    algorithms: Iterable[str] | None = None
    """``None``: the algorithms of the keys, or ``DEFAULT_ALGORITHMS`` for keys that are fetched."""
    leeway: float = 0.0
    """Seconds by which the clocks of issuer and agent may differ."""

    def __post_init__(self) -> None:
        if self.algorithms is not None:
            object.__setattr__(self, "algorithms", _check_algorithms(self.algorithms))
        if not self.issuer or not self.audience:
            raise ValueError(
                "JwtValidation: issuer and audience are required; a token without them is "
                "valid for any agent"
            )


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """The names of claims. A token without the claim ``tenant``, if that is set, is rejected."""

    subject: str = "sub"
    tenant: str | None = None
    scopes: Iterable[str] = ("scope", "scp")
    roles: Iterable[str] = ("roles",)
    team: str | None = None
    """The claim that names the team that owns the tasks; without it in a token, the subject owns
    them.
    """


@dataclass(frozen=True, slots=True)
class JwtAuthenticator:
    """Bearer tokens of one issuer."""

    keys: KeyResolver
    validation: JwtValidation
    claim_names: ClaimNames = ClaimNames()
    scheme: str = BEARER
    """The name of the scheme on the card."""
    open_id_connect_url: str | None = None
    """The discovery document that tells clients how to get a token, for an OpenID Connect
    issuer.
    """
    oauth2: OAuthFlows | None = None
    """The way to a token, for an OAuth 2.0 issuer."""
    keep_token: bool = False
    """Keep the token in memory for the run that a request starts, so that it can call others in the
    name of the caller (``client.OnBehalfOf``).
    """
    _algorithms: frozenset[str] = field(init=False, repr=False)
    _options: Options = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_algorithms", _choose_algorithms(self.keys, self.validation))
        object.__setattr__(
            self, "_options", {"require": ["exp", "iss", "aud", self.claim_names.subject]}
        )

    def authenticate(self, headers: Mapping[str, str], /) -> Identity | Awaitable[Identity] | None:
        """Verify the token of a request; immediate if its key is cached."""
        token = parse_authorization(headers, BEARER)
        if token is None:
            return None
        if len(token) > _MAX_TOKEN_CHARS or not token.isascii():
            raise InvalidCredentialsError(_INVALID)
        header = _parse_header(token.partition(".")[0])
        if header.algorithm not in self._algorithms:
            raise InvalidCredentialsError("The algorithm of the token is not allowed")
        key = self.keys.find(header.key_id, header.algorithm)
        if isinstance(key, PyJWK):
            return self._verify(token, key)
        return self._verify_async(token, key)

    @property
    def authorization_server(self) -> str:
        """Return the issuer, if it is a URL that clients may send secrets to."""
        issuer = urlsplit(self.validation.issuer)
        is_safe = issuer.scheme == "https" or (
            issuer.scheme == "http" and is_loopback(issuer.hostname or "")
        )
        if is_safe:
            return self.validation.issuer
        return ""

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the OAuth 2.0, OpenID Connect or bearer scheme."""
        if self.oauth2 is not None:
            return {
                self.scheme: SecurityScheme(
                    oauth2_security_scheme=OAuth2SecurityScheme(flows=self.oauth2)
                )
            }
        if self.open_id_connect_url is not None:
            provider = OpenIdConnectSecurityScheme(open_id_connect_url=self.open_id_connect_url)
            return {self.scheme: SecurityScheme(open_id_connect_security_scheme=provider)}
        return {
            self.scheme: SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", bearer_format="JWT"
                )
            )
        }

    async def _verify_async(self, token: str, key: Awaitable[PyJWK]) -> Identity:
        return self._verify(token, await key)

    def _verify(self, token: str, key: PyJWK) -> Identity:
        validation = self.validation
        names = self.claim_names
        try:
            claims: Mapping[str, object] = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,  # type: ignore[arg-type]  # only looked up in
                options=self._options,
                audience=validation.audience,
                issuer=validation.issuer,
                leeway=validation.leeway,
            )
        except MissingRequiredClaimError as error:
            raise InvalidCredentialsError(f"The token has no claim {error.claim}") from None
        except jwt.InvalidTokenError as error:
            raise InvalidCredentialsError(_REASONS.get(type(error), _INVALID)) from None
        return Identity(
            _require_text(claims, names.subject),
            "" if names.tenant is None else _require_text(claims, names.tenant),
            _collect_words(claims, names.scopes),
            _collect_words(claims, names.roles),
            ""
            if names.team is None or names.team not in claims
            else _require_text(claims, names.team),
            claims,
            _parse_expiry(claims["exp"]) + validation.leeway,
            token if self.keep_token else "",
        )


def _check_algorithms(algorithms: Iterable[str]) -> frozenset[str]:
    chosen = frozenset(algorithms)
    known = PUBLIC_ALGORITHMS | SECRET_ALGORITHMS
    if not chosen or chosen - known:
        wrong = ", ".join(sorted(chosen - known)) or "none"
        raise ValueError(
            f"algorithms: {wrong} is not supported; choose from {', '.join(sorted(known))}"
        )
    if chosen & SECRET_ALGORITHMS and chosen & PUBLIC_ALGORITHMS:
        # A client could sign with the public key, which is no secret, and claim that it is one.
        raise ValueError("algorithms: some use a secret and some a public key; choose one kind")
    return chosen


def _choose_algorithms(keys: KeyResolver, validation: JwtValidation) -> frozenset[str]:
    """Choose the algorithms of tokens: those of the keys that are known, if the validation names
    none; refuse names that fit none of the keys.
    """
    known: frozenset[str] = keys.algorithms if isinstance(keys, KeySet) else frozenset()
    if validation.algorithms is None:
        return _check_algorithms(known or DEFAULT_ALGORITHMS)
    chosen = frozenset(validation.algorithms)
    if known and not chosen & known:
        raise ValueError(
            f"algorithms: {', '.join(sorted(chosen))} fit none of the keys, so that every "
            "token would be refused; "
            f"leave algorithms out, or name {', '.join(sorted(known))}"
        )
    return chosen


class _TokenHeader(NamedTuple):
    algorithm: str
    key_id: str | None


@lru_cache(maxsize=256)
def _parse_header(segment: str) -> _TokenHeader:
    """Parse the header of a token; cached, because all tokens that one key signs have the same."""
    try:
        header: object = from_json(base64url_decode(segment))
    except ValueError:
        raise InvalidCredentialsError(_INVALID) from None
    if not is_json_object(header) or "crit" in header or "b64" in header:
        raise InvalidCredentialsError(_INVALID)
    algorithm = header.get("alg")
    key_id = header.get("kid")
    kind = header.get("typ")
    kind = kind.lower() if isinstance(kind, str) else kind
    if (
        not isinstance(algorithm, str)
        or not isinstance(key_id, str | None)
        or kind not in _TOKEN_TYPES
    ):
        raise InvalidCredentialsError(_INVALID)
    return _TokenHeader(algorithm, key_id)


def _require_text(claims: Mapping[str, object], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidCredentialsError(f"The token has no claim {name}")
    return value


def _parse_expiry(value: object) -> float:
    """Convert ``exp`` to seconds; PyJWT has validated it, but accepts numbers as text too."""
    if isinstance(value, int | float | str):
        return float(min(int(value), _MAX_TIMESTAMP))
    return 0.0


def _collect_words(claims: Mapping[str, object], names: Iterable[str]) -> frozenset[str]:
    """Collect the words of claims that are one text with blanks, or a list of texts."""
    found: list[str] = []
    for name in names:
        value = claims.get(name)
        if isinstance(value, str):
            found += value.split()
        elif is_json_array(value):
            found += [each for each in value if isinstance(each, str)]
    return frozenset(found)
