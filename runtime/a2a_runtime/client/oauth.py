"""OAuth 2.0: tokens that a client requests for itself, or for the caller of the run that it works
in.

    ClientCredentials(token_url, "me", secret)
        its own (RFC 6749, section 4.4)
    JwtAssertion(token_url, FileToken(path))
        its own, for an assertion that it has (RFC 7523, section 2.1)
    OnBehalfOf(issuer, audience, "me", secret).for_caller(ctx.caller)
        the caller's, exchanged for one of this audience (RFC 8693)

A client proves its identity to the authorization server by one of these, in the place of
``secret``:

    "a text"               a secret, with HTTP Basic
    PrivateKeyJwt(key)     an assertion signed with its own key (``private_key_jwt``, RFC 7523,
                           section 2.2)
    FileToken(path)        an assertion that the platform keeps in a file (workload identity of
                           Kubernetes, SPIFFE and clouds)

The caller decides which server gets secrets: the issuer, and with it the token endpoint of its
discovery document.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Self, TypeAlias

import httpx
from pydantic_core import from_json

from a2a_contract.json_types import is_json_object
from a2a_runtime.client.errors import MissingCredentialsError, TokenError

if TYPE_CHECKING:
    from a2a_runtime.base.caller import Caller
    from a2a_runtime.features.keys.signing import SigningKey

_DISCOVERY_PATH = "/.well-known/openid-configuration"
_METADATA_PATH = "/.well-known/oauth-authorization-server"
_REFRESH_MARGIN_SECONDS = 30.0
_MAX_LIFETIME_SECONDS = 10**11  # three thousand years
_DEFAULT_LIFETIME_SECONDS = 300.0
_ASSERTION_SECONDS = 60
_TIMEOUT = {"timeout": httpx.Timeout(30.0).as_dict()}
_JSON_HEADERS = {"Accept": "application/json"}
_LOCAL_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
_GRANT = "urn:ietf:params:oauth:grant-type:"
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
_JWT = "urn:ietf:params:oauth:token-type:jwt"


class FileToken(httpx.Auth):
    """A token in a file that the platform renews: read for each use, and sent as a bearer token
    where it is the ``auth`` of a client.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def read(self) -> str:
        """Read the token."""
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text"
            raise TokenError(
                f"{self._path}: no token ({reason}); check that the platform mounts it"
            ) from error
        if not token:
            raise TokenError(
                f"{self._path}: no token (empty file); check that the platform writes it"
            )
        return token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the header."""
        request.headers["Authorization"] = f"Bearer {self.read()}"
        yield request

    def __repr__(self) -> str:
        return f"FileToken({str(self._path)!r})"


@dataclass(frozen=True, slots=True)
class PrivateKeyJwt:
    """Proof of a client by a signature, for one minute and one server.

    The server knows the public key, ``key.to_jwk()``.
    """

    key: SigningKey
    audience: str = ""
    """What the server expects there; empty: the issuer, or the token URL where no issuer is
    given.
    """

    def sign(self, client_id: str, audience: str) -> str:
        """Sign an assertion."""
        import jwt  # noqa: PLC0415 - an extra: other clients work without it

        now = int(time.time())
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": self.audience or audience,
            "jti": token_urlsafe(16),
            "iat": now,
        }
        return jwt.encode(
            {**claims, "exp": now + _ASSERTION_SECONDS},
            self.key.private,
            self.key.algorithm,
            headers={"kid": self.key.key_id},
        )


ClientProof: TypeAlias = str | PrivateKeyJwt | FileToken
"""Secret of a client, or what stands for it."""


@dataclass(frozen=True, slots=True)
class _TokenClient:
    """A client as its authorization server knows it."""

    client_id: str
    proof: ClientProof | None = field(repr=False)

    def build_request(self, url: httpx.URL, issuer: str, form: Mapping[str, str]) -> httpx.Request:
        """Build a request to the token endpoint, with the proof."""
        members = dict(form)
        match self.proof:
            case PrivateKeyJwt():
                proof = self.proof.sign(self.client_id, issuer or str(url))
                members |= {
                    "client_id": self.client_id,
                    "client_assertion_type": _ASSERTION_TYPE,
                    "client_assertion": proof,
                }
            case FileToken():
                members |= {
                    "client_id": self.client_id,
                    "client_assertion_type": _ASSERTION_TYPE,
                    "client_assertion": self.proof.read(),
                }
            case None if self.client_id:
                members["client_id"] = self.client_id
            case _:
                pass
        request = httpx.Request(
            "POST", url, data=members, headers=_JSON_HEADERS, extensions=_TIMEOUT
        )
        if isinstance(self.proof, str):
            return next(httpx.BasicAuth(self.client_id, self.proof).auth_flow(request))
        return request


class TokenAuth(httpx.Auth):
    """Requests a token, and a new one before it expires or after it is rejected.

    Concurrent requests share one.
    """

    requires_response_body = True

    def __init__(
        self,
        token_url: str,
        issuer: str,
        client: _TokenClient,
        form: Mapping[str, str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._discovery_urls: list[httpx.URL] = []
        if issuer and not token_url:
            self._discovery_urls = list(map(require_https, _list_discovery_urls(issuer)))
        self._url = require_https(token_url) if token_url else self._discovery_urls[0]
        self._issuer = issuer
        self._client = client
        self._form = form
        self._now = now
        self._lock = asyncio.Lock()
        self._token = ""
        self._expires_at = 0.0

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the token, and once more a new one if it is rejected."""
        for is_rejected in (False, True):
            # held while the token is fetched: other requests wait for it, and fetch none
            async with self._lock:
                # a rejected token is renewed only if no other request has renewed it meanwhile
                if self._now() >= self._expires_at or (
                    is_rejected and request.headers.get("Authorization") == f"Bearer {self._token}"
                ):
                    for url in tuple(self._discovery_urls):
                        response = yield httpx.Request(
                            "GET", url, headers=_JSON_HEADERS, extensions=_TIMEOUT
                        )
                        await response.aread()
                        if self._read_discovery(response, is_last=url == self._discovery_urls[-1]):
                            break
                    response = yield self._client.build_request(
                        self._url, self._issuer, self._build_form()
                    )
                    await response.aread()
                    self._store_token(response)
            request.headers["Authorization"] = f"Bearer {self._token}"
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED:
                return

    def sync_auth_flow(
        self,
        request: httpx.Request,  # noqa: ARG002 - signature of httpx
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Raise: tokens are shared by tasks, not by threads."""
        raise RuntimeError(
            f"{type(self).__name__}: no support for httpx.Client; use httpx.AsyncClient"
        )

    def _build_form(self) -> Mapping[str, str]:
        return self._form

    def _read_discovery(self, response: httpx.Response, *, is_last: bool) -> bool:
        """Read the token URL from a discovery document, which must name the issuer; return false to
        try the next one.
        """
        document = parse_json_object(response)
        url = document.get("token_endpoint")
        if (
            response.status_code != HTTPStatus.OK
            or document.get("issuer") != self._issuer
            or not isinstance(url, str)
        ):
            if not is_last:
                return False
            raise TokenError(
                f"{self._issuer}: no token endpoint in its discovery document "
                f"({response.status_code}); pass the token URL itself"
            )
        try:
            self._url = require_https(url)
            self._discovery_urls = []
        except ValueError as error:
            raise TokenError(str(error)) from error
        return True

    def _store_token(self, response: httpx.Response) -> None:
        document = parse_json_object(response)
        token = document.get("access_token")
        seconds = document.get("expires_in")
        if response.status_code != HTTPStatus.OK or not isinstance(token, str) or not token:
            reason = document.get("error")
            text = reason if isinstance(reason, str) else response.status_code
            raise TokenError(f"{self._url.host}: no token ({text})")
        lifetime = _DEFAULT_LIFETIME_SECONDS
        if isinstance(seconds, int | float):
            # the form of the comparison refuses also what is no number
            if not abs(seconds) <= _MAX_LIFETIME_SECONDS:
                raise TokenError(
                    f"{self._url.host}: expires_in of its token is no time; report it to the "
                    "operator of the server"
                )
            lifetime = float(seconds)
        # a token of few seconds is used for half of them, not renewed with each request
        margin = min(_REFRESH_MARGIN_SECONDS, lifetime / 2)
        self._token = token
        self._expires_at = self._now() + max(lifetime - margin, 0.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class ClientCredentials(TokenAuth):
    """Tokens for the client itself."""

    def __init__(
        self,
        token_url: str,
        client_id: str,
        client_secret: ClientProof,
        *,
        scopes: Sequence[str] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(
            token_url,
            "",
            _TokenClient(client_id, client_secret),
            _with_scopes({"grant_type": "client_credentials"}, scopes),
            now,
        )

    @classmethod
    def from_issuer(
        cls, issuer: str, client_id: str, client_secret: ClientProof, *, scopes: Sequence[str] = ()
    ) -> Self:
        """Discover the token URL of an issuer before the first token (OpenID Connect, or RFC
        8414).
        """
        auth = cls.__new__(cls)
        form = _with_scopes({"grant_type": "client_credentials"}, scopes)
        TokenAuth.__init__(auth, "", issuer, _TokenClient(client_id, client_secret), form)
        return auth


def build_client_credentials(
    issuer: str, client_id: str, client_secret: ClientProof, scopes: Sequence[str], resource: str
) -> TokenAuth:
    """Build credentials of a client for one resource (RFC 8707)."""
    form = _with_scopes({"grant_type": "client_credentials", "resource": resource}, scopes)
    return TokenAuth("", issuer, _TokenClient(client_id, client_secret), form)


class JwtAssertion(TokenAuth):
    """Tokens for an assertion about the client: from a file, or that its own key signs, about
    ``subject``.
    """

    def __init__(
        self,
        token_url: str,
        assertion: FileToken | PrivateKeyJwt,
        *,
        subject: str = "",
        scopes: Sequence[str] = (),
    ) -> None:
        if isinstance(assertion, PrivateKeyJwt) and not subject:
            raise ValueError("JwtAssertion: no subject to sign for; pass subject='…'")
        super().__init__(
            token_url,
            "",
            _TokenClient("", None),
            _with_scopes({"grant_type": f"{_GRANT}jwt-bearer"}, scopes),
        )
        self._assertion = assertion
        self._subject = subject

    def _build_form(self) -> Mapping[str, str]:
        own = self._assertion
        if isinstance(own, FileToken):
            assertion = own.read()
        else:
            assertion = own.sign(self._subject, str(self._url))
        return {**self._form, "assertion": assertion}


@dataclass(frozen=True, slots=True)
class OnBehalfOf:
    """Exchange of the token of a caller, for calls to another agent that a run makes in the
    caller's name.

    The new token is for that agent only. It is requested for each run, kept in memory, and gone
    with the run; it is never stored.
    """

    issuer: str
    audience: str
    """The other agent, as the issuer knows it."""
    client_id: str
    client_secret: ClientProof = field(repr=False)
    scopes: Sequence[str] = ()
    token_url: str = ""
    """Empty: from the discovery document of the issuer."""
    actor: FileToken | None = None
    """Token of this agent, for an issuer that does not take the client for the actor."""

    def __post_init__(self) -> None:
        if not self.audience:
            raise ValueError(
                "OnBehalfOf: no audience given, so that the token would be valid for any "
                "agent; name the agent that is called"
            )
        require_https(self.token_url or self.issuer)

    def for_caller(self, caller: Caller, otherwise: httpx.Auth | None = None) -> httpx.Auth:
        """Build the credentials of one run, or return ``otherwise`` for a run that has no token of
        its caller.
        """
        if not caller.token:
            if otherwise is not None:
                return otherwise
            raise MissingCredentialsError(
                "OnBehalfOf: this run has no token of its caller; let the gate keep it: "
                "JwtAuthenticator(…, keep_token=True). A run that goes on "
                "after a question or a crash has none, because tokens are not stored; pass "
                "otherwise=ClientCredentials(…) for it"
            )
        return _ExchangedToken(self, caller.token)


class _ExchangedToken(TokenAuth):
    """Token of one run."""

    def __init__(self, settings: OnBehalfOf, subject_token: str) -> None:
        form = {
            "grant_type": f"{_GRANT}token-exchange",
            "subject_token": subject_token,
            "subject_token_type": _ACCESS,
            "requested_token_type": _ACCESS,
            "audience": settings.audience,
        }
        client = _TokenClient(settings.client_id, settings.client_secret)
        super().__init__(
            settings.token_url, settings.issuer, client, _with_scopes(form, settings.scopes)
        )
        self._actor = settings.actor

    def _build_form(self) -> Mapping[str, str]:
        if self._actor is None:
            return self._form
        return {**self._form, "actor_token": self._actor.read(), "actor_token_type": _JWT}


def _with_scopes(form: Mapping[str, str], scopes: Sequence[str]) -> Mapping[str, str]:
    if scopes:
        return {**form, "scope": " ".join(scopes)}
    return form


def _list_discovery_urls(issuer: str) -> Sequence[str]:
    """List the URLs of the documents of an issuer: OpenID Connect appends the path, RFC 8414
    inserts it.
    """
    url = httpx.URL(issuer)
    return issuer.rstrip("/") + _DISCOVERY_PATH, str(
        url.copy_with(path=_METADATA_PATH + url.path.rstrip("/"))
    )


def require_https(url: str) -> httpx.URL:
    """Reject a URL at which secrets could be intercepted."""
    parsed = httpx.URL(url)
    if parsed.scheme != "https" and parsed.host not in _LOCAL_HOSTS:
        raise ValueError(f"{url}: not https; secrets are sent over https only, or to this machine")
    return parsed


def parse_json_object(response: httpx.Response) -> Mapping[str, object]:
    """Parse the JSON object of a response; anything else is empty."""
    try:
        document: object = from_json(response.content)
    except ValueError:
        document = None
    if is_json_object(document):
        return document
    return {}
