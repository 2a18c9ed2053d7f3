"""Where a client reaches a surface, as far as the server can tell from a request.

https://host/proxy/v2/agents/one/tasks/7
            └ root_path of the server, or of what mounts the app
                  └ path of the app: Litestar(path="/v2")
                     └ path of the surface: all that the surface itself knows
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from litestar.types import HTTPScope

_HOST = re.compile(rb"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")


def base_url(scope: HTTPScope, path: str) -> str:
    """Make the address of a path from what the server believes: what a proxy forwards only where the server was told to believe it."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    if not _HOST.fullmatch(host):
        server: tuple[str, int | None] | None = scope.get("server")  # pyright: ignore[reportUnknownMemberType]  # Litestar's scopes have members of open types
        host = _of_socket(server[0], server[1]) if server else b"localhost"
    return f"{scope['scheme']}://{host.decode('ascii')}{_root_of(scope)}{_app_path(scope)}{path}"


def below(scope: HTTPScope, path: str) -> str | None:
    """Read what a request asks for below the path of a surface; ``None`` when it is somewhere else.

    The router takes the root of the server away where it places a request.
    """
    members: Mapping[str, object] = scope  # its type says that all of them are there
    root = "" if "route_handler" in members else _root_of(scope)
    asked = scope["path"].removeprefix(root).rstrip("/")
    start = _app_path(scope) + path
    return asked.removeprefix(start) if f"{asked}/".startswith(f"{start}/") else None


def _root_of(scope: HTTPScope) -> str:
    root: str = scope.get("root_path", "")  # pyright: ignore[reportUnknownMemberType]  # as above
    return root.rstrip("/")


def _app_path(scope: HTTPScope) -> str:
    return scope["litestar_app"].path.rstrip("/")


def _of_socket(name: str, port: int | None) -> bytes:
    shown = f"[{name}]" if ":" in name else name
    return f"{shown}:{port}".encode() if port else shown.encode()
