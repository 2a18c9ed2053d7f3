"""Notifiers: a process that has committed something makes the other processes look into the store.

A notification carries task keys and nothing else. It may be lost, repeated or late, and that costs
time, never events: listeners read the store, and readers poll it now and then. So a notification is
sent after the commit, is never awaited, and cannot fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol


class NotificationListener(Protocol):
    """Looks into the store after a notification, such as the event hub of a process."""

    def on_notification(self, keys: Iterable[str]) -> None:
        """Look for new events of these tasks."""

    def on_reconnect(self) -> None:
        """Look for new events of every task: notifications may have been lost."""


class Notifier(Protocol):
    """Connects the processes that share a store."""

    def notify(self, keys: Iterable[str]) -> None:
        """Tell the other processes that these tasks have new events.

        The listener of the notifying process may or may not get the notification too, so the
        process tells its own readers by itself.
        """

    async def listen(self, listener: NotificationListener) -> None:
        """Pass notifications on to a listener, until canceled.

        ``notify`` may need the same connection: a process that notifies must also listen.
        """


class InProcessNotifier:
    """The notifier of a single process: a function call."""

    def __init__(self) -> None:
        self._listeners: list[NotificationListener] = []

    def notify(self, keys: Iterable[str]) -> None:
        """Call every listener of this process."""
        keys = tuple(keys)
        for listener in self._listeners:
            listener.on_notification(keys)

    async def listen(self, listener: NotificationListener) -> None:
        """Pass notifications of this process on, until canceled."""
        self._listeners.append(listener)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.remove(listener)


class TeeNotifier:
    """Notifies a listener in this process, such as the push sender, besides the other processes, if
    there are any.
    """

    def __init__(self, listener: NotificationListener, notifier: Notifier | None = None) -> None:
        self._listener = listener
        self._notifier = notifier

    def notify(self, keys: Iterable[str]) -> None:
        """Call the listener, and notify the other processes."""
        keys = tuple(keys)
        self._listener.on_notification(keys)
        if self._notifier is not None:
            self._notifier.notify(keys)

    async def listen(self, listener: NotificationListener) -> None:
        """Pass notifications of the other processes on, until canceled."""
        if self._notifier is not None:
            await self._notifier.listen(listener)
        else:
            await asyncio.get_running_loop().create_future()
