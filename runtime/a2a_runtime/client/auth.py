"""Client authentication: credentials, their choice by the agent's card, and OAuth 2.0 client credentials.

    A2AClient(url, auth="eyJ…")                                                           a bearer token
    A2AClient(url, auth=ApiKeyAuth("k-123", "X-API-Key"))
    A2AClient(url, auth=ClientCredentials("https://id.example/token", "me", secret))      tokens of an OAuth 2.0 server
    A2AClient(url, auth=ClientCredentials.from_issuer("https://id.example", "me", secret))    the same, through OpenID Connect discovery
    A2AClient(url, auth={"bearer": "eyJ…", "apiKey": "k-123", "basic": ("ada", "…"), "mtls": ssl_context})     chosen by the card

Each is an ``httpx.Auth``; any other one works too. The caller decides which server receives secrets: a card chooses among the given credentials by
the names of its schemes, and its token URLs are not followed.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from http import HTTPStatus
from typing import Self, TypeAlias

import httpx
from pydantic_core import from_json

from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import AgentCard, SecurityScheme
from a2a_runtime.client.errors import MissingCredentialsError, TokenError

Credential: TypeAlias = str | tuple[str, str] | httpx.Auth | ssl.SSLContext
"""A token or key, a user name with its password, an ``httpx.Auth``, or a TLS context with a client certificate."""

_BASIC = "basic"
_DISCOVERY_PATH = "/.well-known/openid-configuration"
_REFRESH_MARGIN_SECONDS = 30.0
_DEFAULT_LIFETIME_SECONDS = 300.0
_TIMEOUT = {"timeout": httpx.Timeout(30.0).as_dict()}
_JSON_HEADERS = {"Accept": "application/json"}


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
        self._key, self._name, self._location = key, name, location

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the key at its location."""
        match self._location:
            case "query":
                request.url = request.url.copy_set_param(self._name, self._key)
            case "cookie":
                others = request.headers.get("cookie")
                request.headers["cookie"] = "; ".join(filter(None, (others, f"{self._name}={self._key}")))
            case _:
                request.headers[self._name] = self._key
        yield request

    def __repr__(self) -> str:
        return "ApiKeyAuth(…)"


class CombinedAuth(httpx.Auth):
    """Several credentials at once; one that sends requests of its own comes last."""

    def __init__(self, *auths: httpx.Auth) -> None:
        self._auths = auths

    def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
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
        return next((each for each in self._credentials.values() if isinstance(each, ssl.SSLContext)), None)

    def choose(self, card: AgentCard) -> None:
        """Choose the credentials for following requests."""
        self._auth = choose_auth(card, self._credentials) or httpx.Auth()

    def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the chosen credentials."""
        return self._auth.async_auth_flow(request)

    def __repr__(self) -> str:
        return f"CardAuth({', '.join(self._credentials)})"


def build_auth(auth: httpx.Auth | str | Mapping[str, Credential]) -> httpx.Auth:
    """Build an ``httpx.Auth`` from a token, or from credentials by scheme name."""
    if isinstance(auth, httpx.Auth):
        return auth
    return BearerAuth(auth) if isinstance(auth, str) else CardAuth(auth)


def choose_auth(card: AgentCard, credentials: Mapping[str, Credential]) -> httpx.Auth | None:
    """Choose the credentials for the first requirement of a card that they satisfy."""
    requirements = [list(each.schemes or ()) for each in card.security_requirements or ()]
    if not requirements:
        return None
    schemes = card.security_schemes or {}
    for names in sorted(requirements, key=lambda each: not each):  # anonymous only if nothing else matches
        if all(name in credentials and name in schemes for name in names):
            auths = [auth for name in names if (auth := _build_scheme_auth(name, schemes[name], credentials[name])) is not None]
            auths.sort(key=lambda each: isinstance(each, ClientCredentials))
            return None if not auths else auths[0] if len(auths) == 1 else CombinedAuth(*auths)
    required = " or ".join(" with ".join(names) for names in requirements)
    given = ", ".join(credentials) or "no scheme"
    fix = f'pass auth={{"{requirements[0][0]}": …}}, with the name that the card has'
    raise MissingCredentialsError(f"{card.name} requires {required}; given are credentials for {given}; {fix}")


def _build_scheme_auth(name: str, scheme: SecurityScheme, credential: Credential) -> httpx.Auth | None:
    """Build the auth of one scheme; ``None`` for a certificate, which the connection presents."""
    key, http = scheme.api_key_security_scheme, scheme.http_auth_security_scheme
    is_basic = http is not None and http.scheme.lower() == _BASIC
    match credential:
        case ssl.SSLContext():
            return None
        case httpx.Auth():
            return credential
        case str() if key is not None and key.location == "query":
            raise MissingCredentialsError(f"{name}: the card wants the key in the URL, where logs keep it; pass ApiKeyAuth(…, {key.name!r}, 'query')")
        case str() if key is not None:
            return ApiKeyAuth(credential, key.name, key.location)
        case str() if not is_basic and scheme.mtls_security_scheme is None:
            return BearerAuth(credential)
        case (user, password) if is_basic:
            return httpx.BasicAuth(user, password)
        case _:
            expected = "a (name, password) tuple" if is_basic else "an ssl.SSLContext" if scheme.mtls_security_scheme is not None else "a str"
            raise MissingCredentialsError(f"{name}: wrong kind of credentials; pass {expected}, or any httpx.Auth")


class ClientCredentials(httpx.Auth):
    """OAuth 2.0 client credentials: requests a token, and a new one before it expires or after it is rejected."""

    requires_response_body = True

    def __init__(
        self,
        token_url: str,
        client_id: str,
        client_secret: str,
        *,
        scopes: Sequence[str] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url, self._issuer = _require_https(token_url), ""
        self._client_auth = httpx.BasicAuth(client_id, client_secret)
        self._form = {"grant_type": "client_credentials", **({"scope": " ".join(scopes)} if scopes else {})}
        self._now, self._lock = now, asyncio.Lock()
        self._token, self._expires_at = "", 0.0

    @classmethod
    def from_issuer(cls, issuer: str, client_id: str, client_secret: str, *, scopes: Sequence[str] = ()) -> Self:
        """Discover the token URL of an OpenID Connect provider before the first token."""
        auth = cls(issuer.rstrip("/") + _DISCOVERY_PATH, client_id, client_secret, scopes=scopes)
        auth._issuer = issuer
        return auth

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the token, and once more a new one if it is rejected."""
        for is_rejected in (False, True):
            async with self._lock:  # concurrent requests share one token request
                if self._now() >= self._expires_at or (is_rejected and request.headers.get("Authorization") == f"Bearer {self._token}"):
                    if self._issuer:
                        response = yield httpx.Request("GET", self._url, headers=_JSON_HEADERS, extensions=_TIMEOUT)
                        await response.aread()
                        self._read_discovery(response)
                    token_request = httpx.Request("POST", self._url, data=self._form, headers=_JSON_HEADERS, extensions=_TIMEOUT)
                    response = yield next(self._client_auth.auth_flow(token_request))
                    await response.aread()
                    self._store_token(response)
            request.headers["Authorization"] = f"Bearer {self._token}"
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED:
                return

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:  # noqa: ARG002 - signature of httpx
        """Raise: tokens are shared by tasks, not by threads."""
        raise RuntimeError("ClientCredentials: no support for httpx.Client; use httpx.AsyncClient")

    def _read_discovery(self, response: httpx.Response) -> None:
        """Read the token URL from a discovery document, which must name the issuer."""
        document = _parse_json_object(response)
        url = document.get("token_endpoint")
        if response.status_code != HTTPStatus.OK or document.get("issuer") != self._issuer or not isinstance(url, str):
            raise TokenError(f"{self._issuer}: no token endpoint in its discovery document ({response.status_code}); pass the token URL itself")
        try:
            self._url, self._issuer = _require_https(url), ""
        except ValueError as error:
            raise TokenError(str(error)) from error

    def _store_token(self, response: httpx.Response) -> None:
        document = _parse_json_object(response)
        token, seconds = document.get("access_token"), document.get("expires_in")
        if response.status_code != HTTPStatus.OK or not isinstance(token, str) or not token:
            reason = document.get("error")
            raise TokenError(f"{self._url.host}: no token ({reason if isinstance(reason, str) else response.status_code})")
        lifetime = float(seconds) if isinstance(seconds, int | float) else _DEFAULT_LIFETIME_SECONDS
        self._token, self._expires_at = token, self._now() + max(lifetime - min(_REFRESH_MARGIN_SECONDS, lifetime / 2), 0.0)

    def __repr__(self) -> str:
        return "ClientCredentials(…)"


def _require_https(url: str) -> httpx.URL:
    """Reject a URL at which secrets could be intercepted."""
    parsed = httpx.URL(url)
    if parsed.scheme != "https" and parsed.host not in {"localhost", "127.0.0.1", "::1"}:
        raise ValueError(f"{url}: not https; secrets are sent over https only, or to this machine")
    return parsed


def _parse_json_object(response: httpx.Response) -> Mapping[str, object]:
    try:
        document: object = from_json(response.content)
    except ValueError:
        document = None
    return document if is_json_object(document) else {}
