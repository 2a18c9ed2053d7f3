"""Sending one whole answer."""

from __future__ import annotations

from collections.abc import Iterable

from litestar.types import Send

JSON = b"application/json"

Header = tuple[bytes, bytes]


async def reply(send: Send, body: bytes, media_type: bytes = JSON, status: int = 200, headers: Iterable[Header] = ()) -> None:
    """Send a body, or with ``HEAD`` what would come with it: a server leaves the body away there by itself."""
    sent = [(b"content-type", media_type), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def reply_empty(send: Send, status: int, headers: Iterable[Header] = ()) -> None:
    """Send an answer that has no body."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
