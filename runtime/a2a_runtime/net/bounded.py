"""Bounded read of a response from a server that is configured, not chosen by a client: an issuer of
keys, a registry.
"""

from __future__ import annotations

import httpx

_MAX_BYTES = 1024 * 1024


async def read_bounded(response: httpx.Response) -> bytes:
    """Read a body of at most 1 MiB that is not compressed; ``httpx.DecodingError`` for any
    other.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx.DecodingError(
            "the response is compressed, although the request does not accept that"
        )
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise httpx.DecodingError("the response is too large")
    return bytes(body)
