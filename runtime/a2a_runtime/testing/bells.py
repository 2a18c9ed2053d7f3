"""Doorbells between agents in one process, and what can go wrong with doorbells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from a2a_runtime.streams.notifier import InProcessNotifier, NotificationListener, Notifier


class UnreliableNotifier:
    """A doorbell that is treated as badly as the port allows: bells get lost, and listeners are cut off."""

    def __init__(self, inner: Notifier | None = None, *, should_drop: Callable[[int], bool] = lambda _: False) -> None:
        self._inner = inner or InProcessNotifier()
        self._should_drop = should_drop
        self._listeners: set[asyncio.Future[None]] = set()
        self.notify_count = self.dropped_count = self.disconnect_count = 0

    def notify(self, keys: Iterable[str]) -> None:
        """Pass it on, or lose it."""
        self.notify_count += 1
        if self._should_drop(self.notify_count):
            self.dropped_count += 1
        else:
            self._inner.notify(keys)

    async def listen(self, listener: NotificationListener) -> None:
        """Listen until cut off."""
        line = asyncio.ensure_future(self._inner.listen(listener))
        self._listeners.add(line)
        try:
            await asyncio.wait((line,))
        finally:
            self._listeners.discard(line)
            line.cancel()

    def disconnect_all(self) -> None:
        """Cut all lines, as when a database ends its connections."""
        for line in self._listeners:
            self.disconnect_count += 1
            line.cancel()
