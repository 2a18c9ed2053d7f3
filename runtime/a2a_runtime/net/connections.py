"""Connections that are kept for the next call to the same place.

Not httpcore's own pool: that one looks at every connection, and counts the idle ones for each of them, whenever a call begins or ends. With 50
webhooks this took the event loop 5 ms for each call (134 calls/s against 806), and whoever else lives on the loop waits for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ssl import SSLContext

import httpcore

_IDLE_SECONDS = 15.0
_MOST_IDLE = 32


class Connections:
    """Lends connections, one call at a time for each; a few of those that are not in use stay open for a while."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, trust: SSLContext) -> None:
        self._backend, self._trust = backend, trust
        self._idle: OrderedDict[httpcore.AsyncHTTPConnection, httpcore.Origin] = OrderedDict()  # the one used last is last

    @asynccontextmanager
    async def lent(self, origin: httpcore.Origin) -> AsyncGenerator[httpcore.AsyncHTTPConnection, None]:
        """Have a connection for one call."""
        connection = await self._kept(origin) or httpcore.AsyncHTTPConnection(
            origin, self._trust, keepalive_expiry=_IDLE_SECONDS, network_backend=self._backend
        )
        try:
            yield connection
        finally:
            if connection.is_idle() and not connection.is_closed():
                self._idle[connection] = origin
                await self._tidy()
            else:
                await connection.aclose()

    async def close(self) -> None:
        """Close all that are kept."""
        while self._idle:
            await self._idle.popitem()[0].aclose()

    async def _kept(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection | None:
        for connection in [each for each, to in reversed(self._idle.items()) if to == origin]:
            del self._idle[connection]
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def _tidy(self) -> None:
        """Close the one that nobody has used for the longest time, if it is of no more use or one too many."""
        oldest = next(iter(self._idle))
        if len(self._idle) > _MOST_IDLE or oldest.has_expired():
            del self._idle[oldest]
            await oldest.aclose()
