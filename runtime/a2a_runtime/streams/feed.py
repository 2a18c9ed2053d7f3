"""The recent events of one task, shared by everybody in this process who follows it.

A feed is a window on the log: a run of events with consecutive numbers that ends at the newest one this process has seen. It is filled from two
sides, by a writer in the same process that hands over what it just committed (``offer``), and by a look into the log. Both may overlap, come late or
come twice: an event is taken only when its number is the next one, so the window never has a hole and never repeats.

There is no queue per reader. A reader holds a cursor and asks for what comes after it; one that is too slow for the window reads the log instead. So
nothing can overflow, and a slow reader costs nobody anything but itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence

from a2a_runtime.stores.port import EventLog, LoggedEvent

PAGE = 256


class Feed:
    """A window on the newest events of one task."""

    __slots__ = ("_key", "_log", "_look", "_quiet", "_stale", "_waiters", "_window", "last", "readers")

    def __init__(self, key: str, log: EventLog, *, after: int, size: int, stale: bool = True) -> None:
        self._key = key
        self._log = log
        self._window: deque[LoggedEvent] = deque(maxlen=size)
        self._waiters: set[asyncio.Future[None]] = set()
        self._look = asyncio.Lock()
        self._stale = stale
        self._quiet = False
        self.last = after
        self.readers = 0

    def offer(self, events: Iterable[LoggedEvent]) -> None:
        """Take events that a writer of this process has committed; a gap before them only marks the window as stale."""
        if self._extend(events):
            self._wake()

    def ring(self) -> None:
        """Note that there may be news in the log."""
        self._stale = True
        self._wake()

    def after(self, cursor: int) -> Sequence[LoggedEvent] | None:
        """Everything in the window after a cursor; ``None`` when the cursor is older than the window."""
        if cursor >= self.last:
            return ()
        behind = self.last - cursor
        if behind > len(self._window):
            return None
        if behind == 1:
            return (self._window[-1],)
        return tuple(self._window)[-behind:]

    def tick(self) -> None:
        """Look into the log when nothing has come since the last tick: a bell may have been lost."""
        if self._quiet:
            self.ring()
        self._quiet = True

    async def wait(self, cursor: int) -> None:
        """Sleep until there may be something after the cursor."""
        while self._stale and self.last <= cursor:
            await self._look_once()
        if self.last > cursor:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    async def _look_once(self) -> None:
        """Read one page of the log, so that a reader far behind gets its first events soon; readers that want the same look share it."""
        async with self._look:
            if not self._stale:
                return
            self._stale, more = False, True
            try:
                page = await self._log.read_events(self._key, self.last, PAGE)
                more = len(page) == PAGE
            finally:
                self._stale |= more
            self._extend(page)
            self._wake()

    def _extend(self, events: Iterable[LoggedEvent]) -> bool:
        grown = False
        for event in events:
            if event.seq == self.last + 1:
                self._window.append(event)
                self.last = event.seq
                grown, self._quiet = True, False
            elif event.seq > self.last:
                self._stale = grown = True
        return grown

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
