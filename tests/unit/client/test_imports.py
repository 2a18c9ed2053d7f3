"""Modules that the client loads."""

from __future__ import annotations

import subprocess
import sys


def test_the_client_needs_no_server() -> None:
    """The client loads no Litestar, no database driver and no module of the server."""
    code = "import sys, a2a_runtime.client; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    own = {name for name in loaded if name.startswith("a2a_runtime.")}
    assert not {name.partition(".")[0] for name in loaded} & {
        "litestar",
        "asyncpg",
        "sqlite3",
        "a2a_gen",
        "uvicorn",
    }
    rooms = {name.split(".")[1] for name in own}
    assert rooms == {"base", "client", "features", "net"}
    features = {name.split(".")[2] for name in own if name.count(".") > 1 and ".features." in name}
    assert features == {"catalog", "double_base64", "grpc"}
