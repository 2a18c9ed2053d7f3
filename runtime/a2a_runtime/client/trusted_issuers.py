"""Tokens of the issuer that an agent names (RFC 9728), among the issuers that the caller trusts.

    A2AClient(url, auth=TrustedIssuers({"https://id.example": ("me", secret)}))

    request ──► 401 with resource_metadata="…" ──► metadata of the agent
                                                        │
    request ◄── its token ◄── an issuer of both ◄───────┘

The agent selects from the given issuers and names the scopes. It never decides where a secret goes:
an issuer that is not given gets none. A token is requested for one resource (RFC 8707) and sent to
nothing else.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing
from http import HTTPStatus

import httpx

from a2a_contract.json_types import is_json_array
from a2a_runtime.client.errors import MissingCredentialsError, TokenError
from a2a_runtime.client.oauth import (
    ClientProof,
    TokenAuth,
    build_client_credentials,
    parse_json_object,
    require_https,
)

_METADATA_URL = re.compile(r'\bresource_metadata\s*=\s*"([^"]+)"')
_MAX_LISTED = 5


class TrustedIssuers(httpx.Auth):
    """Credentials of a client at some issuers, by the names of the issuers."""

    def __init__(
        self, issuers: Mapping[str, tuple[str, ClientProof]], *, scopes: Sequence[str] = ()
    ) -> None:
        """Take a client id and its proof for each issuer; without ``scopes`` those that the agent
        names are requested.
        """
        if not issuers:
            raise ValueError(
                "TrustedIssuers: no issuer given; pass at least one, e.g. "
                '{"https://id.example": ("me", secret)}'
            )
        for issuer in issuers:
            require_https(issuer)
        self._issuers = {name.rstrip("/"): client for name, client in issuers.items()}
        self._scopes = scopes
        self._auths: dict[str, TokenAuth] = {}
        self._lock = asyncio.Lock()

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the token for the resource of a request; find out its issuer if the agent wants
        one.
        """
        auth = self._find(request.url)
        if auth is None:
            response = yield request
            metadata_url = _find_metadata_url(response)
            if metadata_url is None:
                return
            # concurrent requests share the metadata
            async with self._lock:
                if (auth := self._find(request.url)) is None:
                    response = yield httpx.Request(
                        "GET",
                        metadata_url,
                        headers={"Accept": "application/json"},
                        extensions=request.extensions,
                    )
                    await response.aread()
                    auth = self._select(request.url, response)
        async with aclosing(auth.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                try:
                    outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    break
        # the agent may have another issuer by now
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            self._auths = {
                resource: each for resource, each in self._auths.items() if each is not auth
            }

    def sync_auth_flow(
        self,
        request: httpx.Request,  # noqa: ARG002 - signature of httpx
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Raise: tokens are shared by tasks, not by threads."""
        raise RuntimeError("TrustedIssuers: no support for httpx.Client; use httpx.AsyncClient")

    def _find(self, url: httpx.URL) -> TokenAuth | None:
        found = [resource for resource in self._auths if _covers(resource, url)]
        if found:
            return self._auths[max(found, key=len)]
        return None

    def _select(self, url: httpx.URL, response: httpx.Response) -> TokenAuth:
        """Select the first issuer of the metadata that is trusted."""
        document = parse_json_object(response)
        where = response.request.url
        resource, listed, scopes = (
            document.get(name) for name in ("resource", "authorization_servers", "scopes_supported")
        )
        if response.status_code != HTTPStatus.OK or not isinstance(resource, str):
            raise TokenError(
                f"{where}: no metadata of a protected resource ({response.status_code}); "
                "pass credentials that need none"
            )
        if not _covers(resource, url):
            raise TokenError(
                f"{where}: the metadata is of {resource!r}, not of "
                f"{url.copy_with(query=None)}; pass credentials that need none"
            )
        servers = _list_texts(listed)
        issuer = next((each for each in servers if each.rstrip("/") in self._issuers), None)
        if issuer is None:
            foreign = ", ".join(servers[:_MAX_LISTED]) or "no server"
            own = ", ".join(self._issuers)
            fix = "add one of its issuers, if you trust it"
            raise MissingCredentialsError(
                f"{resource}: its tokens come from {foreign}; given are credentials at {own}; {fix}"
            )
        client_id, proof = self._issuers[issuer.rstrip("/")]
        auth = build_client_credentials(
            issuer, client_id, proof, self._scopes or _list_texts(scopes), resource
        )
        self._auths[resource] = auth
        return auth

    def __repr__(self) -> str:
        return f"TrustedIssuers({', '.join(self._issuers)})"


def _find_metadata_url(response: httpx.Response) -> httpx.URL | None:
    """Find the metadata that a 401 names, if it is on the same origin: other agents do not speak
    for this one.
    """
    if response.status_code != HTTPStatus.UNAUTHORIZED:
        return None
    found = _METADATA_URL.search(", ".join(response.headers.get_list("www-authenticate")))
    if found is None:
        return None
    url = response.request.url
    try:
        metadata_url = url.join(found[1])
    except httpx.InvalidURL as error:
        raise TokenError(
            f"{url.host}: the metadata that it names is at no URL; pass credentials that need none"
        ) from error
    if not _is_same_origin(metadata_url, url):
        raise TokenError(
            f"{url.host}: its metadata would be at {metadata_url.host}, another origin; pass "
            "credentials that need none"
        )
    return metadata_url


def _covers(resource: str, url: httpx.URL) -> bool:
    """Return whether a URL is that of a resource, or below it."""
    try:
        root = httpx.URL(resource)
    except httpx.InvalidURL:
        return False
    path = root.path.rstrip("/")
    return _is_same_origin(root, url) and (url.path == path or url.path.startswith(f"{path}/"))


def _is_same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def _list_texts(value: object) -> Sequence[str]:
    if is_json_array(value):
        return [each for each in value if isinstance(each, str)]
    return []
