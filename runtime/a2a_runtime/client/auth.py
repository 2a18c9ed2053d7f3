"""Client authentication: credentials, and their choice by the agent's card.

    A2AClient(url, auth="eyJ…")
        a bearer token
    A2AClient(url, auth=ApiKeyAuth("k-123", "X-API-Key"))
    A2AClient(url, auth=ClientCredentials("https://id.example/token", "me", secret))
        tokens of an OAuth 2.0 server
    A2AClient(url, auth=ClientCredentials.from_issuer("https://id.example", "me", secret))
        the same, through OpenID Connect discovery
    A2AClient(url, auth=TrustedIssuers({"https://id.example": ("me", secret)}))
        of the issuer that the agent names, if it is one of these
    A2AClient(url, auth={"bearer": "eyJ…", "apiKey": "k-123", "basic": ("ada", "…"), "mtls": …})
        chosen by the card

Each is an ``httpx.Auth``; any other one works too. The caller decides which server receives
secrets: a card chooses among the given credentials by the names of its schemes, and its token URLs
are not followed.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Generator, Mapping
from typing import TypeAlias

import httpx

from a2a_contract.extension_table import AUTH_DISCOVERY
from a2a_contract.v1_0 import AgentCard, SecurityScheme
from a2a_runtime.base.card_extensions import find_params
from a2a_runtime.client.errors import MissingCredentialsError
from a2a_runtime.client.oauth import TokenAuth
from a2a_runtime.client.trusted_issuers import TrustedIssuers

Credential: TypeAlias = str | tuple[str, str] | httpx.Auth | ssl.SSLContext
"""A token or key, a user name with its password, an ``httpx.Auth``, or a TLS context with a client
certificate.
"""

_BASIC = "basic"


class BearerAuth(httpx.Auth):
    """Sends a bearer token with every request."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request

    def __repr__(self) -> str:
        return "BearerAuth(…)"


class ApiKeyAuth(httpx.Auth):
    """Sends a key with every request, in a header, the query or a cookie."""

    def __init__(self, key: str, name: str = "X-API-Key", location: str = "header") -> None:
        self._key = key
        self._name = name
        self._location = location

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the key at its location."""
        match self._location:
            case "query":
                request.url = request.url.copy_set_param(self._name, self._key)
            case "cookie":
                others = request.headers.get("cookie")
                request.headers["cookie"] = "; ".join(
                    filter(None, (others, f"{self._name}={self._key}"))
                )
            case _:
                request.headers[self._name] = self._key
        yield request

    def __repr__(self) -> str:
        return "ApiKeyAuth(…)"


class CombinedAuth(httpx.Auth):
    """Several credentials at once; one that sends requests of its own comes last."""

    def __init__(self, *auths: httpx.Auth) -> None:
        self._auths = auths

    def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Let each add its part."""
        for auth in self._auths[:-1]:
            request = next(auth.auth_flow(request))
        return self._auths[-1].async_auth_flow(request)


class CardAuth(httpx.Auth):
    """Sends no credentials until the card is known, then those that the card requires."""

    def __init__(self, credentials: Mapping[str, Credential]) -> None:
        self._credentials = credentials
        self._auth: httpx.Auth = httpx.Auth()

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        """The TLS context, if one is given: connections present the certificate, not requests."""
        return next(
            (each for each in self._credentials.values() if isinstance(each, ssl.SSLContext)), None
        )

    def choose(self, card: AgentCard) -> None:
        """Choose the credentials for following requests."""
        self._auth = choose_auth(card, self._credentials) or httpx.Auth()

    def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the chosen credentials."""
        return self._auth.async_auth_flow(request)

    def __repr__(self) -> str:
        return f"CardAuth({', '.join(self._credentials)})"


def build_auth(auth: httpx.Auth | str | Mapping[str, Credential]) -> httpx.Auth:
    """Build an ``httpx.Auth`` from a token, or from credentials by scheme name."""
    if isinstance(auth, httpx.Auth):
        return auth
    if isinstance(auth, str):
        return BearerAuth(auth)
    return CardAuth(auth)


def choose_auth(card: AgentCard, credentials: Mapping[str, Credential]) -> httpx.Auth | None:
    """Choose the credentials for the first requirement of a card that they satisfy."""
    requirements = [list(each.schemes or ()) for each in card.security_requirements or ()]
    if not requirements:
        return None
    schemes = card.security_schemes or {}
    # anonymous calls count only if nothing else matches
    for names in sorted(requirements, key=lambda each: not each):
        if all(name in credentials and name in schemes for name in names):
            auths: list[httpx.Auth] = []
            for name in names:
                auth = _build_scheme_auth(name, schemes[name], credentials[name])
                if auth is not None:
                    auths.append(auth)
            auths.sort(key=lambda each: isinstance(each, TokenAuth | TrustedIssuers))
            if not auths:
                return None
            if len(auths) == 1:
                return auths[0]
            return CombinedAuth(*auths)
    required = " or ".join(" with ".join(names) for names in requirements)
    given = ", ".join(credentials) or "no scheme"
    fix = f'pass auth={{"{requirements[0][0]}": …}}, with the name that the card has'
    discovery = find_params(card, AUTH_DISCOVERY)
    issuers = f", a token of {' or '.join(discovery.authorization_servers)}" if discovery else ""
    raise MissingCredentialsError(
        f"{card.name} requires {required}; given are credentials for {given}; {fix}{issuers}"
    )


def _build_scheme_auth(
    name: str, scheme: SecurityScheme, credential: Credential
) -> httpx.Auth | None:
    """Build the auth of one scheme; ``None`` for a certificate, which the connection presents."""
    key = scheme.api_key_security_scheme
    http = scheme.http_auth_security_scheme
    is_basic = http is not None and http.scheme.lower() == _BASIC
    match credential:
        case ssl.SSLContext():
            return None
        case httpx.Auth():
            return credential
        case str() if key is not None and key.location == "query":
            raise MissingCredentialsError(
                f"{name}: the card wants the key in the URL, where logs keep it; pass "
                f"ApiKeyAuth(…, {key.name!r}, 'query')"
            )
        case str() if key is not None:
            return ApiKeyAuth(credential, key.name, key.location)
        case str() if not is_basic and scheme.mtls_security_scheme is None:
            return BearerAuth(credential)
        case (user, password) if is_basic:
            return httpx.BasicAuth(user, password)
        case _:
            expected = "a str"
            if is_basic:
                expected = "a (name, password) tuple"
            elif scheme.mtls_security_scheme is not None:
                expected = "an ssl.SSLContext"
            raise MissingCredentialsError(
                f"{name}: wrong kind of credentials; pass {expected}, or any httpx.Auth"
            )
