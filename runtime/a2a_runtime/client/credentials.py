"""Tokens that we get for ourselves from an authorization server, and new ones before they run out or when one is refused.

ClientCredentials("https://id.example/token", "me", secret, scopes=["tasks"])        OAuth 2.0, client credentials
ClientCredentials.of_issuer("https://id.example", "me", secret)                      found through OpenID Connect discovery
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from http import HTTPStatus
from typing import Self

import httpx
from pydantic_core import from_json

from a2a_contract.kinds import is_object
from a2a_runtime.client.errors import TokenError

_DISCOVERY = "/.well-known/openid-configuration"
_MARGIN = 30.0
_USUAL_SECONDS = 300.0
_PATIENCE = {"timeout": httpx.Timeout(30.0).as_dict()}
_JSON = {"Accept": "application/json"}


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
        self._url, self._issuer = _safe(token_url), ""
        self._who = httpx.BasicAuth(client_id, client_secret)
        self._form = {"grant_type": "client_credentials", **({"scope": " ".join(scopes)} if scopes else {})}
        self._now, self._turn = now, asyncio.Lock()
        self._token, self._until = "", 0.0

    @classmethod
    def of_issuer(cls, issuer: str, client_id: str, client_secret: str, *, scopes: Sequence[str] = ()) -> Self:
        """Ask an OpenID Connect provider where it gives tokens, when the first one is needed."""
        made = cls(issuer.rstrip("/") + _DISCOVERY, client_id, client_secret, scopes=scopes)
        made._issuer = issuer
        return made

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Show a token, and another one if it is refused."""
        for refused in ("", None):
            async with self._turn:  # one of many requests at once gets the token for all of them
                if self._is_needed(refused, request):
                    if self._issuer:
                        found = yield httpx.Request("GET", self._url, headers=_JSON, extensions=_PATIENCE)
                        await found.aread()
                        self._locate(found)
                    asked = httpx.Request("POST", self._url, data=self._form, headers=_JSON, extensions=_PATIENCE)
                    answer = yield next(self._who.auth_flow(asked))
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

    def _locate(self, answer: httpx.Response) -> None:
        """Read where tokens are given, in a document that must be the issuer's own."""
        said = _read(answer)
        url = said.get("token_endpoint")
        if answer.status_code != HTTPStatus.OK or said.get("issuer") != self._issuer or not isinstance(url, str):
            raise TokenError(f"{self._issuer} does not say where it gives tokens ({answer.status_code}); name the address itself")
        try:
            self._url, self._issuer = _safe(url), ""
        except ValueError as error:
            raise TokenError(str(error)) from error

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


def _safe(url: str) -> httpx.URL:
    """Refuse an address at which somebody in between could read our secret."""
    parsed = httpx.URL(url)
    if parsed.scheme != "https" and parsed.host not in {"localhost", "127.0.0.1", "::1"}:
        raise ValueError(f"{url}: secrets are sent over https only, or to this machine")
    return parsed


def _read(answer: httpx.Response) -> Mapping[str, object]:
    try:
        said: object = from_json(answer.content)
    except ValueError:
        said = None
    return said if is_object(said) else {}
