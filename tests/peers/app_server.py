"""Runs in the environment of an official SDK: serves an app on a free port of this machine, and
says which one.
"""

import socket
import sys
from contextlib import asynccontextmanager

import grpc
import uvicorn


def find_free_address() -> str:
    """Find an address for gRPC that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def serve_grpc(address: str, add, servicer):  # noqa: ANN001, ANN201 - the SDK's own
    """Make a lifespan that serves the SDK's own handler over gRPC, too."""

    @asynccontextmanager
    async def lifespan(_app):  # noqa: ANN001, ANN202 - of Starlette
        server = grpc.aio.server()
        add(servicer, server)
        server.add_insecure_port(address)
        await server.start()
        yield
        await server.stop(0)

    return lifespan


def serve(app) -> None:  # noqa: ANN001 - the SDK's environment need not know our types
    """Bind first, so that a reader of the address can connect at once."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sys.stdout.write(url + "\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app(url), log_level="error", timeout_graceful_shutdown=1)).run(
        sockets=[listener]
    )
