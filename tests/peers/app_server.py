"""Runs in the environment of an official SDK: serves an app on a free port of this machine, and says which one."""

import socket
import sys

import uvicorn


def serve(app) -> None:  # noqa: ANN001 - the SDK's environment need not know our types
    """Bind first, so that a reader of the address can connect at once."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sys.stdout.write(url + "\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app(url), log_level="error", timeout_graceful_shutdown=1)).run(sockets=[listener])
