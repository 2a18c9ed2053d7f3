"""An ASGI connection by hand: what a server passes to an app, and what the app sends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from litestar.types import HTTPScope, Receive

from a2a_runtime.http.asgi import HttpRequest
from a2a_runtime.service.context import ProtocolBinding


def build_scope(
    method: str = "POST", path: str = "/", query: str = "", **headers: str
) -> HTTPScope:
    """Build the scope of a request; underscores in the names of headers stand for hyphens."""
    listed = [
        (name.replace("_", "-").encode(), value.encode("latin-1"))
        for name, value in headers.items()
    ]
    return {  # type: ignore[return-value]  # the members that Litestar adds are missing
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": listed,
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 1),
        "root_path": "",
        "path_params": {},
    }


@dataclass
class Connection:
    """The two callables of ASGI: chunks of a body are received, then the client stays connected
    until it leaves.
    """

    chunks: list[bytes] = field(default_factory=lambda: [b""])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Any] = field(default_factory=list)
    received: int = 0

    async def receive(self) -> Any:  # noqa: ANN401 - ASGI messages of every kind
        """Return the next chunk, or the disconnect."""
        if self.received < len(self.chunks):
            self.received += 1
            return {
                "type": "http.request",
                "body": self.chunks[self.received - 1],
                "more_body": self.received < len(self.chunks),
            }
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:  # noqa: ANN401 - as above
        """Record a message of the app."""
        self.sent.append(message)

    def request(self, receive: Receive | None = None, **headers: str) -> HttpRequest:
        """Build a request of this connection."""
        return HttpRequest(
            build_scope(**headers), receive or self.receive, self.send, ProtocolBinding.HTTP
        )

    @property
    def status(self) -> int:
        """The status that was sent."""
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        """The body that was sent."""
        return b"".join(message["body"] for message in self.sent[1:])
