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

PAGE_EVENTS = 256


class EventBuffer:
    """A window on the newest events of one task."""

    __slots__ = ("_events", "_is_idle", "_is_stale", "_key", "_log", "_read_lock", "_waiters", "last_seq", "reader_count")

    def __init__(self, key: str, log: EventLog, *, after: int, max_events: int, is_stale: bool = True) -> None:
        self._key = key
        self._log = log
        self._events: deque[LoggedEvent] = deque(maxlen=max_events)
        self._waiters: set[asyncio.Future[None]] = set()
        self._read_lock = asyncio.Lock()
        self._is_stale = is_stale
        self._is_idle = False
        self.last_seq = after
        self.reader_count = 0

    def append(self, events: Iterable[LoggedEvent]) -> None:
        """Take events that a writer of this process has committed; a gap before them only marks the window as stale."""
        if self._extend(events):
            self._wake()

    def mark_stale(self) -> None:
        """Note that there may be news in the log."""
        self._is_stale = True
        self._wake()

    def events_after(self, cursor: int) -> Sequence[LoggedEvent] | None:
        """Everything in the window after a cursor; ``None`` when the cursor is older than the window."""
        if cursor >= self.last_seq:
            return ()
        behind = self.last_seq - cursor
        if behind > len(self._events):
            return None
        if behind == 1:
            return (self._events[-1],)
        return tuple(self._events)[-behind:]

    def poll(self) -> None:
        """Look into the log when nothing has come since the last tick: a bell may have been lost."""
        if self._is_idle:
            self.mark_stale()
        self._is_idle = True

    async def wait(self, cursor: int) -> None:
        """Sleep until there may be something after the cursor."""
        while self._is_stale and self.last_seq <= cursor:
            await self._read_page()
        if self.last_seq > cursor:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    async def _read_page(self) -> None:
        """Read one page of the log, so that a reader far behind gets its first events soon; readers that want the same look share it."""
        async with self._read_lock:
            if not self._is_stale:
                return
            self._is_stale, more = False, True
            try:
                page = await self._log.read_events(self._key, self.last_seq, PAGE_EVENTS)
                more = len(page) == PAGE_EVENTS
            finally:
                self._is_stale |= more
            self._extend(page)
            self._wake()

    def _extend(self, events: Iterable[LoggedEvent]) -> bool:
        grown = False
        for event in events:
            if event.seq == self.last_seq + 1:
                self._events.append(event)
                self.last_seq = event.seq
                grown, self._is_idle = True, False
            elif event.seq > self.last_seq:
                self._is_stale = grown = True
        return grown

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class EventHub:
    """Lets any number of readers follow tasks, at the price of one window for each task that is followed."""

    def __init__(self, log: EventLog, *, buffer_events: int = 512, poll_interval_seconds: float = 1.0, retry_timeout_seconds: float = 30.0) -> None:
        self._log = log
        self._buffer_events = buffer_events
        self._poll_interval_seconds = poll_interval_seconds
        self._retry_timeout_seconds = retry_timeout_seconds
        self._buffers: dict[str, EventBuffer] = {}
        self._timer: asyncio.TimerHandle | None = None

    def append(self, key: str, events: Iterable[LoggedEvent]) -> None:
        """Hand over events that this process has just committed."""
        feed = self._buffers.get(key)
        if feed is not None:
            feed.append(events)

    def on_notification(self, keys: Iterable[str]) -> None:
        """Another process says that these tasks have news."""
        for key in keys:
            feed = self._buffers.get(key)
            if feed is not None:
                feed.mark_stale()

    def on_reconnect(self) -> None:
        """Bells may have been lost: every feed looks for itself."""
        self.on_notification(tuple(self._buffers))

    def count_followed_tasks(self) -> int:
        """How many tasks are followed right now."""
        return len(self._buffers)

    async def follow(self, key: str, cursor: int, until: frozenset[State] = TERMINAL) -> AsyncGenerator[LoggedEvent, None]:
        """Yield every event after the cursor, once and in order, up to and with the one that brings the task into one of these states, or ends it.

        A store that is away for a while only delays the reader; when it stays away, the reader is told (``StoreUnavailableError``) and can come back
        with its cursor.
        """
        feed = self._acquire_buffer(key, cursor)
        try:
            while True:
                for event in await self._read_batch(feed, key, cursor):
                    yield event
                    cursor = event.seq
                    if event.state in until or event.state in TERMINAL:
                        return
        finally:
            self._release_buffer(key, feed)

    async def wait_for(self, key: str, cursor: int, states: frozenset[State], *, is_current: bool = False) -> LoggedEvent:
        """Wait for the first event after the cursor that leaves the task in one of these states, or ends it.

        ``fresh`` says that there is nothing after the cursor yet and that the next event will come from this process: then nobody has to look.
        """
        feed = self._acquire_buffer(key, cursor, is_current=is_current)
        try:
            while True:
                for event in await self._read_batch(feed, key, cursor):
                    if event.state in states or event.state in TERMINAL:
                        return event
                    cursor = event.seq
        finally:
            self._release_buffer(key, feed)

    async def _read_batch(self, buffer: EventBuffer, key: str, cursor: int) -> Sequence[LoggedEvent]:
        deadline: float | None = None
        while True:
            try:
                batch = buffer.events_after(cursor)
                if batch is None:
                    batch = await self._log.read_events(key, cursor, PAGE_EVENTS)
                if batch:
                    return batch
                await buffer.wait(cursor)
                deadline = None
            except StoreUnavailableError:
                now = asyncio.get_running_loop().time()
                deadline = deadline or now + self._retry_timeout_seconds
                if now >= deadline:
                    raise
                await asyncio.sleep(self._poll_interval_seconds)

    def _acquire_buffer(self, key: str, cursor: int, *, is_current: bool = False) -> EventBuffer:
        feed = self._buffers.get(key)
        if feed is None:
            feed = self._buffers[key] = EventBuffer(key, self._log, after=cursor, max_events=self._buffer_events, is_stale=not is_current)
        feed.reader_count += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._poll_interval_seconds, self._poll_buffers)
        return feed

    def _release_buffer(self, key: str, buffer: EventBuffer) -> None:
        buffer.reader_count -= 1
        if not buffer.reader_count:
            del self._buffers[key]

    def _poll_buffers(self) -> None:
        """Let quiet feeds look for themselves; the timer stops by itself when nobody follows anything any more."""
        self._timer = None
        for feed in self._buffers.values():
            feed.poll()
        if self._buffers:
            self._timer = asyncio.get_running_loop().call_later(self._poll_interval_seconds, self._poll_buffers)
