"""Where a client reaches a surface, as far as the server can tell from a request."""

from __future__ import annotations

import re

from litestar.types import HTTPScope

_HOST = re.compile(rb"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")


def base_url(scope: HTTPScope, path: str) -> str:
    """Make the address of a path from what the server believes: what a proxy forwards only where the server was told to believe it."""
    root: str = scope.get("root_path", "")  # pyright: ignore[reportUnknownMemberType]  # Litestar's scopes have members of open types
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    if not _HOST.fullmatch(host):
        server: tuple[str, int | None] | None = scope.get("server")  # pyright: ignore[reportUnknownMemberType]  # as above
        host = _of_socket(server[0], server[1]) if server else b"localhost"
    return f"{scope['scheme']}://{host.decode('ascii')}{root.rstrip('/')}{path}"


def _of_socket(name: str, port: int | None) -> bytes:
    shown = f"[{name}]" if ":" in name else name
    return f"{shown}:{port}".encode() if port else shown.encode()
