"""The hub of a process: one feed for each task that somebody here follows, and nothing for all others.

    writer ── commit ──► hub.offer(key, events) ──► doorbell.ring(key) ── ─ ─ ► hubs of other processes: hub.ring(keys)
    reader ── hub.follow(key, cursor) ◄── window of the feed, or the log when the cursor is older

The log is the only truth; the hub may lose, repeat or delay every bell and a reader still gets each event once and in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.port import EventLog, LoggedEvent
from a2a_runtime.streams.feed import PAGE, Feed


class Hub:
    """Lets any number of readers follow tasks, at the price of one window for each task that is followed."""

    def __init__(self, log: EventLog, *, window: int = 512, tick_seconds: float = 1.0, patience_seconds: float = 30.0) -> None:
        self._log = log
        self._window = window
        self._tick_seconds = tick_seconds
        self._patience = patience_seconds
        self._feeds: dict[str, Feed] = {}
        self._timer: asyncio.TimerHandle | None = None

    def offer(self, key: str, events: Iterable[LoggedEvent]) -> None:
        """Hand over events that this process has just committed."""
        feed = self._feeds.get(key)
        if feed is not None:
            feed.offer(events)

    def ring(self, keys: Iterable[str]) -> None:
        """Another process says that these tasks have news."""
        for key in keys:
            feed = self._feeds.get(key)
            if feed is not None:
                feed.ring()

    def ring_all(self) -> None:
        """Bells may have been lost: every feed looks for itself."""
        self.ring(tuple(self._feeds))

    def followed(self) -> int:
        """How many tasks are followed right now."""
        return len(self._feeds)

    async def follow(self, key: str, cursor: int) -> AsyncGenerator[LoggedEvent, None]:
        """Yield every event after the cursor, once and in order, until the one that ends the task.

        A store that is away for a while only delays the reader; when it stays away, the reader is told (``StoreUnavailableError``) and can come back
        with its cursor.
        """
        feed = self._enter(key, cursor)
        try:
            while True:
                for event in await self._next(feed, key, cursor):
                    yield event
                    cursor = event.seq
                    if event.state in TERMINAL:
                        return
        finally:
            self._leave(key, feed)

    async def until(self, key: str, cursor: int, states: frozenset[State], *, fresh: bool = False) -> LoggedEvent:
        """Wait for the first event after the cursor that leaves the task in one of these states, or ends it.

        ``fresh`` says that there is nothing after the cursor yet and that the next event will come from this process: then nobody has to look.
        """
        feed = self._enter(key, cursor, fresh=fresh)
        try:
            while True:
                for event in await self._next(feed, key, cursor):
                    if event.state in states or event.state in TERMINAL:
                        return event
                    cursor = event.seq
        finally:
            self._leave(key, feed)

    async def _next(self, feed: Feed, key: str, cursor: int) -> Sequence[LoggedEvent]:
        deadline: float | None = None
        while True:
            try:
                batch = feed.after(cursor)
                if batch is None:
                    batch = await self._log.read_events(key, cursor, PAGE)
                if batch:
                    return batch
                await feed.wait(cursor)
                deadline = None
            except StoreUnavailableError:
                now = asyncio.get_running_loop().time()
                deadline = deadline or now + self._patience
                if now >= deadline:
                    raise
                await asyncio.sleep(self._tick_seconds)

    def _enter(self, key: str, cursor: int, *, fresh: bool = False) -> Feed:
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = Feed(key, self._log, after=cursor, size=self._window, stale=not fresh)
        feed.readers += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)
        return feed

    def _leave(self, key: str, feed: Feed) -> None:
        feed.readers -= 1
        if not feed.readers:
            del self._feeds[key]

    def _tick(self) -> None:
        """Let quiet feeds look for themselves; the timer stops by itself when nobody follows anything any more."""
        self._timer = None
        for feed in self._feeds.values():
            feed.tick()
        if self._feeds:
            self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)
