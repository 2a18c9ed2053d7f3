"""Proving to an agent who we are: ways to do it, and choosing among them by what the agent's card asks for.

    A2AClient(url, auth="eyJ…")                                                           a bearer token
    A2AClient(url, auth=ApiKeyAuth("k-123", "X-API-Key"))
    A2AClient(url, auth=ClientCredentials("https://id.example/token", "me", secret))      from an OAuth 2.0 server; see ``client.credentials``
    A2AClient(url, auth={"bearer": "eyJ…", "apiKey": "k-123", "basic": ("ada", "…"), "mtls": ssl_context})     what the card asks for of these

Each is an ``httpx.Auth``; any other one does too. Who is told our secrets we say ourselves: a card chooses among the proofs that it is offered by the
names of its schemes, and its addresses for tokens are not followed.
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

# Tokens that we get for ourselves from an authorization server, and new ones before they run out or when one is refused.
#
# ClientCredentials("https://id.example/token", "me", secret, scopes=["tasks"])        OAuth 2.0, client credentials
# ClientCredentials.of_issuer("https://id.example", "me", secret)                      found through OpenID Connect discovery
#

_DISCOVERY_PATH = "/.well-known/openid-configuration"
_REFRESH_MARGIN_SECONDS = 30.0
_DEFAULT_LIFETIME_SECONDS = 300.0
_TIMEOUT = {"timeout": httpx.Timeout(30.0).as_dict()}
_JSON_HEADERS = {"Accept": "application/json"}


class ClientCredentials(httpx.Auth):
    """Gets tokens from an OAuth 2.0 authorization server for ourselves, and new ones before they run out or when one is refused."""

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
        """Ask an OpenID Connect provider where it gives tokens, when the first one is needed."""
        made = cls(issuer.rstrip("/") + _DISCOVERY_PATH, client_id, client_secret, scopes=scopes)
        made._issuer = issuer
        return made

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Show a token, and another one if it is refused."""
        for refused in ("", None):
            async with self._lock:  # one of many requests at once gets the token for all of them
                if self._should_refresh(refused, request):
                    if self._issuer:
                        found = yield httpx.Request("GET", self._url, headers=_JSON_HEADERS, extensions=_TIMEOUT)
                        await found.aread()
                        self._read_discovery(found)
                    asked = httpx.Request("POST", self._url, data=self._form, headers=_JSON_HEADERS, extensions=_TIMEOUT)
                    answer = yield next(self._client_auth.auth_flow(asked))
                    await answer.aread()
                    self._store_token(answer)
            request.headers["Authorization"] = f"Bearer {self._token}"
            answer = yield request
            if answer.status_code != HTTPStatus.UNAUTHORIZED:
                return

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:  # noqa: ARG002 - as httpx has it
        """Do nothing: tokens are shared by tasks, not by threads."""
        raise RuntimeError("use an httpx.AsyncClient")

    def _should_refresh(self, rejected: str | None, request: httpx.Request) -> bool:
        """Whether the token is old, or is the very one that was refused just now."""
        return self._now() >= self._expires_at or (rejected is None and request.headers.get("Authorization") == f"Bearer {self._token}")

    def _read_discovery(self, response: httpx.Response) -> None:
        """Read where tokens are given, in a document that must be the issuer's own."""
        said = _parse_json_object(response)
        url = said.get("token_endpoint")
        if response.status_code != HTTPStatus.OK or said.get("issuer") != self._issuer or not isinstance(url, str):
            raise TokenError(f"{self._issuer} does not say where it gives tokens ({response.status_code}); name the address itself")
        try:
            self._url, self._issuer = _require_https(url), ""
        except ValueError as error:
            raise TokenError(str(error)) from error

    def _store_token(self, response: httpx.Response) -> None:
        said = _parse_json_object(response)
        token, seconds = said.get("access_token"), said.get("expires_in")
        if response.status_code != HTTPStatus.OK or not isinstance(token, str) or not token:
            reason = said.get("error")
            raise TokenError(f"{self._url.host} gives no token: {reason if isinstance(reason, str) else response.status_code}")
        life = float(seconds) if isinstance(seconds, int | float) else _DEFAULT_LIFETIME_SECONDS
        self._token, self._expires_at = token, self._now() + max(life - min(_REFRESH_MARGIN_SECONDS, life / 2), 0.0)

    def __repr__(self) -> str:
        return "ClientCredentials(…)"


def _require_https(url: str) -> httpx.URL:
    """Refuse an address at which somebody in between could read our secret."""
    parsed = httpx.URL(url)
    if parsed.scheme != "https" and parsed.host not in {"localhost", "127.0.0.1", "::1"}:
        raise ValueError(f"{url}: secrets are sent over https only, or to this machine")
    return parsed


def _parse_json_object(response: httpx.Response) -> Mapping[str, object]:
    try:
        said: object = from_json(response.content)
    except ValueError:
        said = None
    return said if is_json_object(said) else {}


Credential: TypeAlias = str | tuple[str, str] | httpx.Auth | ssl.SSLContext
"""A token or key, a name with its password, something that knows how to prove itself, or a context of TLS with a certificate of ours."""

_BASIC = "basic"


class BearerAuth(httpx.Auth):
    """Shows a bearer token with every request."""

    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request

    def __repr__(self) -> str:
        return "BearerAuth(…)"


class ApiKeyAuth(httpx.Auth):
    """Shows a key with every request, in a header, in the query or as a cookie."""

    def __init__(self, key: str, name: str = "X-API-Key", location: str = "header") -> None:
        self._key, self._name, self._location = key, name, location

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Put the key in its place."""
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
    """Several proofs at once."""

    def __init__(self, *auths: httpx.Auth) -> None:
        self._auths = auths

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Let each add its own; those that ask others first come alone or last."""
        for proof in self._auths[:-1]:
            request = next(proof.auth_flow(request))
        yield from self._auths[-1].auth_flow(request)

    def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """As above."""
        for proof in self._auths[:-1]:
            request = next(proof.auth_flow(request))
        return self._auths[-1].async_auth_flow(request)


class CardAuth(httpx.Auth):
    """Shows nothing until the card is known, and then what the card asks for."""

    def __init__(self, credentials: Mapping[str, Credential]) -> None:
        self._credentials = credentials
        self._auth: httpx.Auth = httpx.Auth()

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        """The certificate of ours, if there is one: a connection shows it, no request does."""
        return next((each for each in self._credentials.values() if isinstance(each, ssl.SSLContext)), None)

    def choose(self, card: AgentCard) -> None:
        """Choose what is shown from now on."""
        self._auth = choose_auth(card, self._credentials) or httpx.Auth()

    def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Show what was chosen."""
        return self._auth.async_auth_flow(request)

    def __repr__(self) -> str:
        return f"ByCard({', '.join(self._credentials)})"


def build_auth(auth: httpx.Auth | str | Mapping[str, Credential]) -> httpx.Auth:
    """Make a proof of a token, or of several proofs of which the card chooses."""
    match auth:
        case httpx.Auth():
            return auth
        case str():
            return BearerAuth(auth)
        case _:
            return CardAuth(auth)


def choose_auth(card: AgentCard, credentials: Mapping[str, Credential]) -> httpx.Auth | None:
    """Choose, of the proofs that there are by the names of schemes, those for the first requirement that they satisfy."""
    required = [list(each.schemes or ()) for each in card.security_requirements or ()]
    if not required:
        return None
    schemes = card.security_schemes or {}
    for names in sorted(required, key=lambda each: not each):  # as a stranger only when there is no other way
        if all(name in credentials and name in schemes for name in names):
            chosen = [auth for name in names if (auth := _build_scheme_auth(name, schemes[name], credentials[name])) is not None]
            chosen.sort(key=lambda each: isinstance(each, ClientCredentials))
            return None if not chosen else chosen[0] if len(chosen) == 1 else CombinedAuth(*chosen)
    wanted = " or ".join(" with ".join(names) for names in required)
    raise MissingCredentialsError(f"{card.name} asks for {wanted}; there are proofs for {', '.join(credentials) or 'nothing'}")


def _build_scheme_auth(name: str, scheme: SecurityScheme, credential: Credential) -> httpx.Auth | None:
    """Make of a proof what shows it as its scheme wants it; a certificate is shown by the connection."""
    key, http = scheme.api_key_security_scheme, scheme.http_auth_security_scheme
    is_basic = http is not None and http.scheme.lower() == _BASIC
    match credential:
        case ssl.SSLContext():
            return None
        case httpx.Auth():
            return credential
        case str() if key is not None:
            return ApiKeyAuth(credential, key.name, key.location)
        case str() if not is_basic and scheme.mtls_security_scheme is None:
            return BearerAuth(credential)
        case (user, password) if is_basic:
            return httpx.BasicAuth(user, password)
        case _:
            wanted = "a name and a password" if is_basic else "an ssl.SSLContext" if scheme.mtls_security_scheme is not None else "a text"
            raise MissingCredentialsError(f"{name} takes {wanted}, or any httpx.Auth")
