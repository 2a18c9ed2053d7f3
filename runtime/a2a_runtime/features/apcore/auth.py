"""Authenticators by the names of apcore, and those that others have written to its protocol, for a
gate.

serve(registry, auth=JWTAuthenticator(key="…", issuer="https://id.example", audience="my-agent"))
serve(registry, auth=MyAuthenticator())
    any object with authenticate(headers), which returns an identity or None
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.translate.v0_3.security import read_security_scheme
from a2a_contract.v0_3 import SecurityScheme as SecuritySchemeV03
from a2a_contract.v1_0 import HTTPAuthSecurityScheme, SecurityScheme
from a2a_runtime.auth import authentication
from a2a_runtime.auth.authenticators import (
    ApiKeyAuthenticator,
    BasicAuthenticator,
    MtlsAuthenticator,
)
from a2a_runtime.auth.gate import AuthGate, Gate
from a2a_runtime.base.importing import explain_missing

with explain_missing(__name__, "auth"):
    from a2a_runtime.features.keys.jwks import JwksKeys, OidcKeys
    from a2a_runtime.features.keys.jwt_tokens import (
        DEFAULT_ALGORITHMS,
        JwtAuthenticator,
        JwtValidation,
    )
    from a2a_runtime.features.keys.verification import (
        SECRET_ALGORITHMS,
        KeyResolver,
        KeySet,
        keys_from_jwks,
        keys_from_pem,
        keys_from_secret,
    )

SCHEME = "bearerAuth"
_BEARER = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))
_SCHEMES: TypeAdapter[Any] = TypeAdapter(SecuritySchemeV03)
_OWN = (JwtAuthenticator, ApiKeyAuthenticator, BasicAuthenticator, MtlsAuthenticator)


class JWTAuthenticator:
    """JSON Web Tokens of one issuer.

    ``key`` is a secret of at least 32 bytes, a public key as PEM, or a JSON Web Key Set; without it
    the keys are fetched from the issuer, or from ``jwks_url``. Signature, expiry, issuer and
    audience of each token are verified. Modules find all claims at ``context.identity.attrs``.
    """

    def __init__(
        self,
        key: str | bytes | Mapping[str, Any] | None = None,
        *,
        issuer: str,
        audience: str | Sequence[str],
        algorithms: Sequence[str] | None = None,
        jwks_url: str | None = None,
    ) -> None:
        keys, known = _build_keys(key, issuer, tuple(algorithms or ()), jwks_url)
        self._authenticator = JwtAuthenticator(keys, JwtValidation(issuer, audience, known))

    def authenticate(
        self, headers: Mapping[str, str], /
    ) -> authentication.Identity | Awaitable[authentication.Identity] | None:
        """Verify the token of a request."""
        return self._authenticator.authenticate(headers)

    @property
    def authorization_server(self) -> str:
        """Return the issuer, if it is a URL."""
        return self._authenticator.authorization_server

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the bearer scheme."""
        return {SCHEME: _BEARER}


class ForeignAuthenticator:
    """An authenticator of apcore's protocol for our gate."""

    def __init__(self, authenticator: Any) -> None:
        self._authenticator = authenticator

    def authenticate(
        self, headers: Mapping[str, str], /
    ) -> authentication.Identity | Awaitable[authentication.Identity | None] | None:
        """Identify the caller; an identity without an id is none."""
        found = self._authenticator.authenticate(dict(headers))
        if inspect.isawaitable(found):
            return _await_identity(found)
        return _to_identity(found)

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the schemes that it describes, as of A2A 0.3; the bearer scheme if it describes
        none.
        """
        describe = getattr(self._authenticator, "security_schemes", None)
        found: object = describe() if callable(describe) else None
        if not is_json_object(found) or not found:
            return {SCHEME: _BEARER}
        return {name: _to_scheme(each) for name, each in found.items()}


def build_gate(auth: Any) -> Gate | None:
    """Build the gate of an authenticator, of several, or return the gate that is given;
    ``TypeError`` for anything else.
    """
    if auth is None or callable(getattr(auth, "admit", None)):
        return auth  # type: ignore[no-any-return]  # has the method of a gate
    given = auth if is_json_array(auth) else [auth]
    return AuthGate(*map(_adapt, given))


def _adapt(authenticator: object) -> authentication.Authenticator:
    if isinstance(authenticator, (*_OWN, JWTAuthenticator)):
        return authenticator
    if isinstance(authenticator, authentication.Authenticator):
        return ForeignAuthenticator(authenticator)
    raise TypeError(
        f"auth: {type(authenticator).__qualname__} is not an authenticator; give it a method "
        "authenticate(headers)"
    )


def _to_scheme(given: object) -> SecurityScheme:
    if isinstance(given, SecurityScheme):
        return given
    return SecurityScheme.model_validate(read_security_scheme(_SCHEMES.validate_python(given)))


def _build_keys(
    key: str | bytes | Mapping[str, Any] | None,
    issuer: str,
    algorithms: tuple[str, ...],
    jwks_url: str | None,
) -> tuple[KeyResolver, tuple[str, ...]]:
    """Build the keys with the algorithms that they are for."""
    if key is None:
        keys = OidcKeys(issuer) if jwks_url is None else JwksKeys(jwks_url)
        return keys, algorithms or DEFAULT_ALGORITHMS
    if isinstance(key, Mapping):
        listed = key.get("keys", [key])
        return keys_from_jwks(listed), algorithms or DEFAULT_ALGORITHMS
    text = key.decode("latin-1") if isinstance(key, bytes) else key
    if "-----BEGIN" in text:
        names = algorithms or ("RS256",)
        return sum((keys_from_pem(key, name) for name in names), KeySet()), names
    names = algorithms or ("HS256",)
    if unknown := set(names) - SECRET_ALGORITHMS:
        raise ValueError(
            "JWTAuthenticator: key: a secret does not sign with "
            f"{', '.join(sorted(unknown))}; pass a public key as PEM"
        )
    return sum((keys_from_secret(key, name) for name in names), KeySet()), names


async def _await_identity(found: Awaitable[Any]) -> authentication.Identity | None:
    return _to_identity(await found)


def _to_identity(found: Any) -> authentication.Identity | None:
    if found is None or isinstance(found, authentication.Identity):
        return found
    attributes: Mapping[str, object] = getattr(found, "attrs", None) or {}
    roles: Sequence[object] = getattr(found, "roles", None) or ()
    claims = {"type": str(getattr(found, "type", "user")), **attributes}
    return authentication.Identity(str(found.id), roles=frozenset(map(str, roles)), claims=claims)
