"""Proving to an agent who we are: ways to do it, and choosing among them by what the agent's card asks for.

    A2AClient(url, auth=ApiKeyAuth("k-123", "X-API-Key"))
    A2AClient(url, auth=ClientCredentials("https://id.example/token", "me", secret, scopes=["tasks"]))
    A2AClient(url, auth=auth_for(card, {"bearer": "eyJ…", "apiKey": "k-123"}))

Each is an ``httpx.Auth``; any other one does too. Who is told our secrets we say ourselves: a card chooses among the proofs that it is offered by the
names of its schemes, and its addresses for tokens are not followed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from http import HTTPStatus
from typing import TypeAlias

import httpx
from pydantic_core import from_json

from a2a_contract.kinds import is_object
from a2a_contract.v1_0 import AgentCard, APIKeySecurityScheme, SecurityScheme
from a2a_runtime.client.client import BearerAuth

Proof: TypeAlias = str | tuple[str, str] | httpx.Auth
"""A token or key, a name with its password, or something that knows how to prove itself."""

_MARGIN = 30.0
_USUAL_SECONDS = 300.0


class NoProofError(Exception):
    """The card asks for schemes for which there is no proof; the text names them."""


class TokenError(httpx.HTTPError):
    """The authorization server gives no token; the text says why, and no secret."""


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
        self._url = httpx.URL(token_url)
        if self._url.scheme != "https" and self._url.host not in {"localhost", "127.0.0.1", "::1"}:
            raise ValueError(f"{token_url}: secrets are sent over https only, or to this machine")
        self._who = httpx.BasicAuth(client_id, client_secret)
        self._form = {"grant_type": "client_credentials", **({"scope": " ".join(scopes)} if scopes else {})}
        self._now, self._turn = now, asyncio.Lock()
        self._token, self._until = "", 0.0

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Show a token, and another one if it is refused."""
        for refused in ("", None):
            async with self._turn:  # one of many requests at once gets the token for all of them
                if self._is_needed(refused, request):
                    answer = yield next(self._who.auth_flow(httpx.Request("POST", self._url, data=self._form, headers=_JSON)))
                    await answer.aread()
                    self._keep(answer)
            request.headers["Authorization"] = f"Bearer {self._token}"
            answer = yield request
            if answer.status_code != HTTPStatus.UNAUTHORIZED:
                return

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:  # noqa: ARG002 - as httpx has it
        """Do nothing: tokens are shared by tasks, not by threads."""
        raise RuntimeError("use an httpx.AsyncClient")

    def _is_needed(self, refused: str | None, request: httpx.Request) -> bool:
        """Whether the token is old, or is the very one that was refused just now."""
        return self._now() >= self._until or (refused is None and request.headers.get("Authorization") == f"Bearer {self._token}")

    def _keep(self, answer: httpx.Response) -> None:
        said = _read(answer)
        token, seconds = said.get("access_token"), said.get("expires_in")
        if answer.status_code != HTTPStatus.OK or not isinstance(token, str) or not token:
            reason = said.get("error")
            raise TokenError(f"{self._url.host} gives no token: {reason if isinstance(reason, str) else answer.status_code}")
        life = float(seconds) if isinstance(seconds, int | float) else _USUAL_SECONDS
        self._token, self._until = token, self._now() + max(life - min(_MARGIN, life / 2), 0.0)

    def __repr__(self) -> str:
        return "ClientCredentials(…)"


class AllOf(httpx.Auth):
    """Several proofs at once."""

    def __init__(self, *proofs: httpx.Auth) -> None:
        self._proofs = proofs

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Let each add its own; those that ask others first come alone or last."""
        for proof in self._proofs[:-1]:
            request = next(proof.auth_flow(request))
        yield from self._proofs[-1].auth_flow(request)

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """As above."""
        for proof in self._proofs[:-1]:
            request = next(proof.auth_flow(request))
        flow = self._proofs[-1].async_auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                sent = await flow.asend((yield sent))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


def auth_for(card: AgentCard, proofs: Mapping[str, Proof]) -> httpx.Auth | None:
    """Choose, of the proofs that there are by the names of schemes, those for the first requirement that they satisfy."""
    required = [list(each.schemes or ()) for each in card.security_requirements or ()]
    if not required:
        return None
    schemes = card.security_schemes or {}
    for names in sorted(required, key=lambda each: not each):  # as a stranger only when there is no other way
        if all(name in proofs and name in schemes for name in names):
            chosen = [_auth(schemes[name], proofs[name]) for name in names]
            chosen.sort(key=lambda each: isinstance(each, ClientCredentials))
            return None if not chosen else chosen[0] if len(chosen) == 1 else AllOf(*chosen)
    wanted = " or ".join(" with ".join(names) for names in required)
    raise NoProofError(f"{card.name} asks for {wanted}; there are proofs for {', '.join(proofs) or 'nothing'}")


def _auth(scheme: SecurityScheme, proof: Proof) -> httpx.Auth:
    if isinstance(proof, tuple):
        return httpx.BasicAuth(*proof)
    if not isinstance(proof, str):
        return proof
    key: APIKeySecurityScheme | None = scheme.api_key_security_scheme
    return BearerAuth(proof) if key is None else ApiKeyAuth(proof, key.name, key.location)


def _read(answer: httpx.Response) -> Mapping[str, object]:
    try:
        said: object = from_json(answer.content)
    except ValueError:
        said = None
    return said if is_object(said) else {}


_JSON = {"Accept": "application/json"}
