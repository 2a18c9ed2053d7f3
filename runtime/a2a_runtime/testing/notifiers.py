"""Notifiers between agents in one process that lose notifications and connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from a2a_runtime.stores.notifier import InProcessNotifier, NotificationListener, Notifier


class UnreliableNotifier:
    """A notifier with all failures that the port allows: lost notifications and disconnected
    listeners.
    """

    def __init__(
        self, inner: Notifier | None = None, *, should_drop: Callable[[int], bool] = lambda _: False
    ) -> None:
        self._inner = inner or InProcessNotifier()
        self._should_drop = should_drop
        self._listeners: set[asyncio.Future[None]] = set()
        self.notify_count = self.dropped_count = self.disconnect_count = 0

    def notify(self, keys: Iterable[str]) -> None:
        """Pass a notification on, or drop it."""
        self.notify_count += 1
        if self._should_drop(self.notify_count):
            self.dropped_count += 1
        else:
            self._inner.notify(keys)

    async def listen(self, listener: NotificationListener) -> None:
        """Listen until disconnected."""
        connection = asyncio.ensure_future(self._inner.listen(listener))
        self._listeners.add(connection)
        try:
            await asyncio.wait((connection,))
        finally:
            self._listeners.discard(connection)
            connection.cancel()

    def disconnect_all(self) -> None:
        """Disconnect all listeners, as a database does that closes its connections."""
        for connection in self._listeners:
            self.disconnect_count += 1
            connection.cancel()
