"""Servers of the standard library, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TypeVar

AnyServer = TypeVar("AnyServer", bound=HTTPServer)


@contextmanager
def serve_in_thread(server: AnyServer) -> Iterator[AnyServer]:
    """Let a server answer until the block is left."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
