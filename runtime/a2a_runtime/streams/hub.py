"""The hub of a process: one feed for each task that somebody here follows, and nothing for all others.

    writer ── commit ──► hub.offer(key, events) ──► doorbell.ring(key) ── ─ ─ ► hubs of other processes: hub.ring(keys)
    reader ── hub.follow(key, cursor) ◄── window of the feed, or the log when the cursor is older

The log is the only truth; the hub may lose, repeat or delay every bell and a reader still gets each event once and in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import EventLog, LoggedEvent

# The recent events of one task, shared by everybody in this process who follows it.
#
# A feed is a window on the log: a run of events with consecutive numbers that ends at the newest one this process has seen. It is filled from two
# sides, by a writer in the same process that hands over what it just committed (``offer``), and by a look into the log. Both may overlap, come late
# or
# come twice: an event is taken only when its number is the next one, so the window never has a hole and never repeats.
#
# There is no queue per reader. A reader holds a cursor and asks for what comes after it; one that is too slow for the window reads the log instead.
# So
# nothing can overflow, and a slow reader costs nobody anything but itself.
#

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
