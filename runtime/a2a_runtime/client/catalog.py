"""The agents of a host, from its catalog.

    for each in await read_catalog("https://agents.example"):
        async with A2AClient(each.url) as client:
            …

Credentials for the host of the catalog are not those for the agents that it lists: give each client
its own.
"""

from __future__ import annotations

import httpx
from pydantic_core import from_json

from a2a_runtime.client.auth import build_auth
from a2a_runtime.client.card_resolver import to_origin
from a2a_runtime.client.errors import CardNotFoundError, InvalidResponseError
from a2a_runtime.client.options import ClientOptions
from a2a_runtime.client.protocols import OutgoingRequest
from a2a_runtime.client.transport import ClientResponse, HttpTransport, RetrySafety
from a2a_runtime.features.catalog.document import CATALOG_PATH, CatalogEntry, parse_catalog


async def read_catalog(
    url: str,
    *,
    auth: httpx.Auth | str | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109 - for one complete response, as of the client
    options: ClientOptions | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> list[CatalogEntry]:
    """Read the A2A agents in the catalog at a URL, or below it, or at the root of its host; entries
    of other kinds are left out.
    """
    options = options or ClientOptions()
    http_auth = None if auth is None else build_auth(auth)
    http_client = httpx.AsyncClient(auth=http_auth, transport=transport)
    http = HttpTransport(http_client, options, timeout)
    try:
        response = await _fetch(url, http, options)
    finally:
        await http.aclose()
    try:
        entries = parse_catalog(from_json(response.body), response.url)
    except ValueError:
        entries = None
    if entries is None:
        raise InvalidResponseError(
            f"{response.url}: not a catalog, which has a list of entries; check the URL"
        )
    return entries


async def _fetch(url: str, http: HttpTransport, options: ClientOptions) -> ClientResponse:
    is_document = httpx.URL(url).path.endswith(".json")
    candidates = [url]
    if not is_document:
        folders = dict.fromkeys((url.rstrip("/"), to_origin(url)))
        candidates = [folder + CATALOG_PATH for folder in folders]
    headers = {**options.headers, "accept": "application/json"}
    status = 0
    for candidate in candidates:
        request = OutgoingRequest("GET", candidate, follow_redirects=True)
        response = await http.fetch(
            request, RetrySafety.READ, headers, max_bytes=options.limits.card_bytes
        )
        if response.is_success:
            return response
        status = response.status
    raise CardNotFoundError(
        f"No catalog at {', '.join(candidates)} (status {status}); check the URL, or pass "
        "the URL of the catalog itself"
    )
