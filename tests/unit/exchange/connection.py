"""A connection by hand: what a server would give to an app, and what the app sends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from litestar.types import HTTPScope


def build_scope(method: str = "POST", path: str = "/", query: str = "", **headers: str) -> HTTPScope:
    """Make the scope of a request; underscores in the names of headers stand for hyphens."""
    listed = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {  # type: ignore[return-value]  # what a server leaves to Litestar is not here
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
    """The two callables of ASGI: chunks of a body are received, then the client stays until it leaves."""

    chunks: list[bytes] = field(default_factory=lambda: [b""])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Any] = field(default_factory=list)
    received: int = 0

    async def receive(self) -> Any:  # noqa: ANN401 - ASGI messages of every kind
        """Give the next chunk, or the end."""
        if self.received < len(self.chunks):
            self.received += 1
            return {"type": "http.request", "body": self.chunks[self.received - 1], "more_body": self.received < len(self.chunks)}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:  # noqa: ANN401 - as above
        """Take what the app sends."""
        self.sent.append(message)

    @property
    def status(self) -> int:
        """The status that was sent."""
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        """Everything that was sent after it."""
        return b"".join(message["body"] for message in self.sent[1:])
