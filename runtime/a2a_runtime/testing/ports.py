"""Ports for the servers of tests."""

from __future__ import annotations

import os
import random
import socket
from itertools import cycle, islice

_PORTS = range(20000, 30000)
"""Below those that the kernel gives to connections and to port 0: no connection takes the port of a
server that is killed and started again.
"""
_TRIES = 100


def _list_own_ports() -> range:
    """List the ports of this worker of pytest-xdist: a server that stops between two tests must
    find its port free again.
    """
    worker, count = (
        os.environ.get(name, "") for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    )
    number = worker.removeprefix("gw")
    if number.isdigit() and count.isdigit():
        return _PORTS[int(number) :: int(count)]
    return _PORTS


# Each process goes through all of its ports in an order of its own, so that it gives none out
# twice.
_own_ports = _list_own_ports()
_next_ports = cycle(random.SystemRandom().sample(_own_ports, k=len(_own_ports)))


def find_free_port() -> int:
    """Find a port of the loopback address that is free now."""
    for port in islice(_next_ports, _TRIES):
        with socket.socket() as probe:
            # A server sets this too: connections that ended a moment ago do not hold the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(
        f"find_free_port: {_TRIES} ports between {_PORTS[0]} and {_PORTS[-1]} are taken; end "
        "the servers that hold them"
    )
