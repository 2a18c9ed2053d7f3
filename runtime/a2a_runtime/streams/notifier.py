"""The doorbell: how a process that has committed something makes the others look.

A bell carries the keys of tasks and nothing else. It may be lost, doubled or late, and that costs time, never events: whoever hears it reads the
store, and readers look by themselves now and then. So a bell is rung after the commit, is never waited for, and cannot fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol


class NotificationListener(Protocol):
    """Who looks when the bell rings, such as the hub of a process."""

    def on_notification(self, keys: Iterable[str]) -> None:
        """These tasks have news."""

    def on_reconnect(self) -> None:
        """Bells may have been lost: every task may have news."""


class Notifier(Protocol):
    """Between the processes that share a store."""

    def notify(self, keys: Iterable[str]) -> None:
        """Tell the others that these tasks have news.

        The one who rings tells its own readers itself, and may or may not hear the bell too.
        """

    async def listen(self, listener: NotificationListener) -> None:
        """Pass on what is heard, until cancelled.

        A bell between processes is also rung from here: somebody has to listen for as long as anybody rings.
        """


class InProcessNotifier:
    """The doorbell of a single process: a function call."""

    def __init__(self) -> None:
        self._listeners: list[NotificationListener] = []

    def notify(self, keys: Iterable[str]) -> None:
        """Tell all who listen in this process."""
        keys = tuple(keys)
        for hearer in self._listeners:
            hearer.on_notification(keys)

    async def listen(self, listener: NotificationListener) -> None:
        """Pass on what is rung in this process, until cancelled."""
        self._listeners.append(listener)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._listeners.remove(listener)


# How the deliverer of a process hears of what the process has committed, without anybody else knowing of it.


class TeeNotifier:
    """A doorbell that somebody in this process overhears: rung for the other processes, if there are any, and heard here too."""

    def __init__(self, listener: NotificationListener, notifier: Notifier | None = None) -> None:
        self._listener, self._notifier = listener, notifier

    def notify(self, keys: Iterable[str]) -> None:
        """Tell the one who overhears, and the other processes."""
        keys = tuple(keys)
        self._listener.on_notification(keys)
        if self._notifier is not None:
            self._notifier.notify(keys)

    async def listen(self, listener: NotificationListener) -> None:
        """Pass on what is heard from the other processes, until cancelled."""
        if self._notifier is not None:
            await self._notifier.listen(listener)
        else:
            await asyncio.get_running_loop().create_future()
