"""Ports for the servers of tests."""

from __future__ import annotations

import socket
from contextlib import closing


def find_free_port() -> int:
    """Find a port of the loopback address that is free now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
