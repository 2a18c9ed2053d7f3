"""Proving to an agent who we are: ways to do it, and choosing among them by what the agent's card asks for.

    A2AClient(url, auth="eyJ…")                                                           a bearer token
    A2AClient(url, auth=ApiKeyAuth("k-123", "X-API-Key"))
    A2AClient(url, auth=ClientCredentials("https://id.example/token", "me", secret))      from an OAuth 2.0 server; see ``client.credentials``
    A2AClient(url, auth={"bearer": "eyJ…", "apiKey": "k-123", "basic": ("ada", "…"), "mtls": ssl_context})     what the card asks for of these

Each is an ``httpx.Auth``; any other one does too. Who is told our secrets we say ourselves: a card chooses among the proofs that it is offered by the
names of its schemes, and its addresses for tokens are not followed.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Generator, Mapping
from typing import TypeAlias

import httpx

from a2a_contract.v1_0 import AgentCard, SecurityScheme
from a2a_runtime.client.credentials import ClientCredentials
from a2a_runtime.client.errors import NoProofError

Proof: TypeAlias = str | tuple[str, str] | httpx.Auth | ssl.SSLContext
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

    def __init__(self, key: str, name: str = "X-API-Key", place: str = "header") -> None:
        self._key, self._name, self._place = key, name, place

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Put the key in its place."""
        match self._place:
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


class AllOf(httpx.Auth):
    """Several proofs at once."""

    def __init__(self, *proofs: httpx.Auth) -> None:
        self._proofs = proofs

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Let each add its own; those that ask others first come alone or last."""
        for proof in self._proofs[:-1]:
            request = next(proof.auth_flow(request))
        yield from self._proofs[-1].auth_flow(request)

    def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """As above."""
        for proof in self._proofs[:-1]:
            request = next(proof.auth_flow(request))
        return self._proofs[-1].async_auth_flow(request)


class ByCard(httpx.Auth):
    """Shows nothing until the card is known, and then what the card asks for."""

    def __init__(self, proofs: Mapping[str, Proof]) -> None:
        self._proofs = proofs
        self._chosen: httpx.Auth = httpx.Auth()

    @property
    def tls(self) -> ssl.SSLContext | None:
        """The certificate of ours, if there is one: a connection shows it, no request does."""
        return next((each for each in self._proofs.values() if isinstance(each, ssl.SSLContext)), None)

    def choose(self, card: AgentCard) -> None:
        """Choose what is shown from now on."""
        self._chosen = auth_for(card, self._proofs) or httpx.Auth()

    def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Show what was chosen."""
        return self._chosen.async_auth_flow(request)

    def __repr__(self) -> str:
        return f"ByCard({', '.join(self._proofs)})"


def proof_of(said: httpx.Auth | str | Mapping[str, Proof]) -> httpx.Auth:
    """Make a proof of a token, or of several proofs of which the card chooses."""
    match said:
        case httpx.Auth():
            return said
        case str():
            return BearerAuth(said)
        case _:
            return ByCard(said)


def auth_for(card: AgentCard, proofs: Mapping[str, Proof]) -> httpx.Auth | None:
    """Choose, of the proofs that there are by the names of schemes, those for the first requirement that they satisfy."""
    required = [list(each.schemes or ()) for each in card.security_requirements or ()]
    if not required:
        return None
    schemes = card.security_schemes or {}
    for names in sorted(required, key=lambda each: not each):  # as a stranger only when there is no other way
        if all(name in proofs and name in schemes for name in names):
            chosen = [auth for name in names if (auth := _auth(name, schemes[name], proofs[name])) is not None]
            chosen.sort(key=lambda each: isinstance(each, ClientCredentials))
            return None if not chosen else chosen[0] if len(chosen) == 1 else AllOf(*chosen)
    wanted = " or ".join(" with ".join(names) for names in required)
    raise NoProofError(f"{card.name} asks for {wanted}; there are proofs for {', '.join(proofs) or 'nothing'}")


def _auth(name: str, scheme: SecurityScheme, proof: Proof) -> httpx.Auth | None:
    """Make of a proof what shows it as its scheme wants it; a certificate is shown by the connection."""
    key, http = scheme.api_key_security_scheme, scheme.http_auth_security_scheme
    is_basic = http is not None and http.scheme.lower() == _BASIC
    match proof:
        case ssl.SSLContext():
            return None
        case httpx.Auth():
            return proof
        case str() if key is not None:
            return ApiKeyAuth(proof, key.name, key.location)
        case str() if not is_basic and scheme.mtls_security_scheme is None:
            return BearerAuth(proof)
        case (user, password) if is_basic:
            return httpx.BasicAuth(user, password)
        case _:
            wanted = "a name and a password" if is_basic else "an ssl.SSLContext" if scheme.mtls_security_scheme is not None else "a text"
            raise NoProofError(f"{name} takes {wanted}, or any httpx.Auth")
