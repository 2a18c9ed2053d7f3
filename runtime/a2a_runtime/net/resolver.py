"""The addresses of a name: a port, so that whoever has a resolver of their own, or a test, can hand it in."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Protocol

from a2a_runtime.net.policy import Address


class Resolver(Protocol):
    """Finds addresses."""

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Find the addresses of a host, the preferred one first; ``OSError`` when it has none."""
        ...

    async def close(self) -> None:
        """Let go of everything."""
        ...


class SystemResolver:
    """Asks the machine's own resolver, in threads of its own: a name server that does not answer must hold up nobody else."""

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, "a2a-resolver")

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        """Ask."""
        # As bytes, or Python would encode the name once more, and raise something else for one that it does not like.
        question = (host.encode("ascii"), port, socket.AF_UNSPEC, socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, socket.getaddrinfo, *question)
        return list(dict.fromkeys(ip_address(str(place[0])) for *_, place in found))

    async def close(self) -> None:
        """Ask nothing more; what was asked is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
