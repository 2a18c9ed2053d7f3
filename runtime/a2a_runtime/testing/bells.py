"""Doorbells between agents in one process, and what can go wrong with doorbells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from a2a_runtime.streams.notifier import Doorbell, Hearer, LocalDoorbell


class UnreliableDoorbell:
    """A doorbell that is treated as badly as the port allows: bells get lost, and listeners are cut off."""

    def __init__(self, inner: Doorbell | None = None, *, lose: Callable[[int], bool] = lambda _: False) -> None:
        self._inner = inner or LocalDoorbell()
        self._lose = lose
        self._listeners: set[asyncio.Future[None]] = set()
        self.rung = self.lost = self.cut_off = 0

    def ring(self, keys: Iterable[str]) -> None:
        """Pass it on, or lose it."""
        self.rung += 1
        if self._lose(self.rung):
            self.lost += 1
        else:
            self._inner.ring(keys)

    async def listen(self, hearer: Hearer) -> None:
        """Listen until cut off."""
        line = asyncio.ensure_future(self._inner.listen(hearer))
        self._listeners.add(line)
        try:
            await asyncio.wait((line,))
        finally:
            self._listeners.discard(line)
            line.cancel()

    def cut(self) -> None:
        """Cut all lines, as when a database ends its connections."""
        for line in self._listeners:
            self.cut_off += 1
            line.cancel()
