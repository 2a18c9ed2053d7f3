"""Opening connections, to judged addresses only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address

import httpcore

from a2a_runtime.net.errors import AddressRefusedError, UnreachableError
from a2a_runtime.net.policy import Address, Policy, permitted
from a2a_runtime.net.resolver import Resolver


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once and connects to what was judged; the name is used again only for TLS and the Host header.

    One address that is not called is enough to refuse a name: its owner means no good, or has made a mistake that would show every other time.
    """

    def __init__(self, policy: Policy, resolver: Resolver, *, encrypted: bool) -> None:
        self._policy, self._resolver, self._encrypted = policy, resolver, encrypted
        # Checkers take the class that httpcore has in place of this one where anyio is missing, which httpx never lets be.
        self._tcp: httpcore.AsyncNetworkBackend = httpcore.AnyIOBackend()  # pyright: ignore[reportAttributeAccessIssue]

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the port of httpcore says so
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address in await self._judged(host, port):
            try:
                return await self._tcp.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or UnreachableError(f"{host} has no address")

    async def _judged(self, host: str, port: int) -> Sequence[Address]:
        for address in (addresses := await self._addresses(host, port)):
            refusal = permitted(address, self._policy, encrypted=self._encrypted)
            if refusal is not None:
                raise AddressRefusedError(f"{host} leads to {refusal}")
        return addresses

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            return [ip_address(host)]
        except ValueError:
            pass
        try:
            return await self._resolver.resolve(host, port)
        except OSError as error:
            raise UnreachableError(f"{host} cannot be resolved: {error}") from error
