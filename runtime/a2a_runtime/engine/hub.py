"""Event hub: the readers of tasks in one process, with one event buffer for each task that has a
reader.

    writer ── commit ──► hub.publish(key, result) ──► notifier.notify((key,)) ── ─ ┐
                         hub.on_notification(keys) ◄ ─ ─ in other processes ─ ─ ─ ─┘
    reader ── hub.follow(key, cursor) ◄── event buffer, or the event log when the cursor is older
    waiter ── hub.wait_for_run(key) ◄──── the event with which the run here leaves its task:
                                          no buffer, no log

The log is the only truth. Notifications may be lost, repeated or late, and each reader still gets
every event once and in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import TypeAlias

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.base.lifecycle import SETTLED
from a2a_runtime.errors import EventsGoneError, StoreUnavailableError
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import EventLog
from a2a_runtime.stores.models import ChangeResult, LoggedEvent, StoredTask
from a2a_runtime.stores.notifier import NotificationListener, Notifier, TeeNotifier

PAGE_EVENTS = 256
_SETTINGS = Settings()


Settled: TypeAlias = tuple[StoredTask | None]
"""The task as its run left it; without it where the store has to read it."""


class EventBuffer:
    """The newest events of one task: consecutive numbers that end at the newest event this process
    has seen.

    Events come from two sides, from a writer in this process after its commit and from reads of the
    log; both may overlap, come late or come twice. An event is taken only if its number is the next
    one, so the buffer has no gap and no duplicate.

    There is no queue per reader. A reader holds a cursor and asks for what comes after it; a reader
    that is too slow for the buffer reads the log. So nothing can overflow, and a slow reader delays
    no other.

    A database that fell back to an earlier state has lost events that are here, and may have others
    with their numbers. The marks of events show it: then the buffer ``is_over``, and each of its
    readers gets ``EventsGoneError``.
    """

    __slots__ = (
        "_events",
        "_is_idle",
        "_key",
        "_log",
        "_mark",
        "_read_lock",
        "_waiters",
        "is_over",
        "is_stale",
        "last_seq",
        "reader_count",
    )

    def __init__(
        self,
        key: str,
        log: EventLog,
        *,
        after: int,
        mark: int = 0,
        max_events: int,
        is_stale: bool = True,
    ) -> None:
        self._key = key
        self._log = log
        self._events: deque[LoggedEvent] = deque(maxlen=max_events)
        self._waiters: list[asyncio.Future[None]] = []
        self._read_lock: asyncio.Lock | None = (
            None  # made by the first read, which few buffers need
        )
        self._is_idle = False
        self.is_stale = is_stale
        """Set if the log may have events that are not here."""
        self.is_over = False
        self.last_seq = after
        self._mark = mark
        self.reader_count = 0

    def append(self, events: Iterable[LoggedEvent]) -> None:
        """Take committed events; after a gap, or beside another event with the same number, nothing
        is taken and the buffer is stale.
        """
        has_news = False
        for event in events:
            if event.seq == self.last_seq + 1:
                self._events.append(event)
                self.last_seq = event.seq
                self._mark = event.mark
                has_news = True
                self._is_idle = False
            elif event.seq > self.last_seq or self._is_other(event):
                self.is_stale = has_news = True
        if has_news:
            self._wake()

    def _is_other(self, event: LoggedEvent) -> bool:
        """Return whether an event that has come late is not the one that was here under its
        number.
        """
        place = event.seq - self.last_seq - 1
        known = self._mark if place == -1 else 0
        if -len(self._events) <= place:
            known = self._events[place].mark
        return known != event.mark

    def mark_stale(self) -> None:
        """Make the readers look into the log."""
        self.is_stale = True
        self._wake()

    def poll(self) -> None:
        """Make the readers look into the log if nothing was appended since the last poll: a
        notification may have been lost.
        """
        if self._is_idle:
            self.mark_stale()
        self._is_idle = True

    def events_after(self, cursor: int) -> Sequence[LoggedEvent] | None:
        """Return the buffered events after a cursor; ``None`` if the cursor is older than the
        buffer.
        """
        if cursor >= self.last_seq:
            return ()
        behind = self.last_seq - cursor
        if behind > len(self._events):
            return None
        if behind == 1:
            return (self._events[-1],)
        return tuple(self._events)[-behind:]

    def next_change(self) -> asyncio.Future[None]:
        """Return a future of its own for each reader, which is done after the next append or
        notification.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        return waiter

    async def read_page(self) -> None:
        """Read one page of the log, so that a reader far behind soon gets its first events.

        Concurrent readers share one read.
        """
        if self._read_lock is None:
            self._read_lock = asyncio.Lock()
        async with self._read_lock:
            if not self.is_stale:
                return
            # This comes first: what is committed during the read makes the buffer stale again.
            self.is_stale = False
            has_more = True
            try:
                page = await self._log.read_events(
                    self._key, self.last_seq, PAGE_EVENTS, mark=self._mark
                )
                has_more = len(page) == PAGE_EVENTS
            except EventsGoneError:
                self.is_over = True
                self._wake()
                raise
            # After an error, or a full page, there is more to read.
            finally:
                self.is_stale |= has_more
            self.append(page)

    def _wake(self) -> None:
        waiters = self._waiters
        self._waiters = []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


class EventHub:
    """Lets any number of readers follow tasks. Without a notifier no other process has readers."""

    loop: asyncio.AbstractEventLoop
    """The event loop of its engine, kept because asking for the running one is a system call; set
    when the engine opens.
    """

    def __init__(
        self,
        log: EventLog,
        notifier: Notifier | None = None,
        settings: Settings = _SETTINGS,
        poll_interval_seconds: float = 1.0,
    ) -> None:
        self._log = log
        self.notifier = notifier
        self._buffer_events = settings.stream_buffer_events
        self._poll_interval_seconds = poll_interval_seconds
        self._retry_timeout_seconds = settings.store_retry_timeout
        self._buffers: dict[str, EventBuffer] = {}
        self._waiters: dict[str, asyncio.Future[Settled | None]] = {}
        self._old_waiters: Sequence[str] = ()
        """Keys of those that were there at the last poll."""
        self._timer: asyncio.TimerHandle | None = None

    def add_listener(self, listener: NotificationListener) -> None:
        """Notify a listener in this process of every commit from now on."""
        self.notifier = TeeNotifier(listener, self.notifier)

    def publish(self, key: str, result: ChangeResult) -> None:
        """Hand the events of a change that this process has committed to the readers of its task,
        here and in other processes.

        Of a change that was committed before, in an attempt whose answer was lost, the readers find
        the events in the log.
        """
        if not result.is_new:
            self.on_notification((key,))
        waiter = self._waiters.get(key)
        if waiter is not None and result.state in SETTLED and not waiter.done():
            waiter.set_result((result.stored,))
        buffer = self._buffers.get(key)
        if buffer is not None:
            buffer.append(result.events)
        if self.notifier is not None:
            self.notifier.notify((key,))

    def notify_others(self, keys: Iterable[str]) -> None:
        """Notify the other processes, if there are any."""
        if self.notifier is not None:
            self.notifier.notify(keys)

    def on_notification(self, keys: Iterable[str]) -> None:
        """Make the readers of these tasks look into the log."""
        for key in keys:
            buffer = self._buffers.get(key)
            if buffer is not None:
                buffer.mark_stale()
            self._dismiss(key)

    def on_reconnect(self) -> None:
        """Make all readers look into the log: notifications may have been lost."""
        self.on_notification((*self._buffers, *self._waiters))

    async def follow(
        self,
        key: str,
        cursor: int,
        until: frozenset[State] = TERMINAL,
        *,
        mark: int = 0,
        shows_messages: bool = False,
    ) -> AsyncGenerator[LoggedEvent, None]:
        """Yield every event after the cursor, once and in order, up to the one that leaves the task
        in a state of ``until`` or ends it.

        ``mark`` is that of the event at the cursor. Messages of the client are left out unless the
        reader wants them. An unavailable store delays the reader; after the retry timeout it gets
        ``StoreUnavailableError``, and can come back with its cursor.
        """
        buffer = self._acquire_buffer(key, cursor, mark)
        try:
            while True:
                for event in buffer.events_after(cursor) or await self._read_batch(
                    buffer, key, cursor, mark
                ):
                    cursor = event.seq
                    mark = event.mark
                    if not shows_messages and event.is_message:
                        continue
                    yield event
                    if event.state in until or event.state in TERMINAL:
                        return
        finally:
            self._release_buffer(key, buffer)

    async def wait_for_run(self, key: str) -> Settled | None:
        """Wait until the run of a new task in this process ends or suspends it.

        ``None`` says to read the log, as ``wait_for`` does: the wait takes long, another process
        has changed the task, or another caller waits here. Most runs end before anything of a
        reader would be of use.
        """
        if key in self._waiters:
            return None
        waiter: asyncio.Future[Settled | None] = self.loop.create_future()
        self._waiters[key] = waiter
        if self._timer is None:
            self._start_timer()
        try:
            return await waiter
        finally:
            del self._waiters[key]

    def _dismiss(self, key: str) -> None:
        waiter = self._waiters.get(key)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def wait_for(
        self,
        key: str,
        cursor: int,
        until: frozenset[State],
        *,
        mark: int = 0,
        is_current: bool = False,
    ) -> LoggedEvent:
        """Wait for the first event after the cursor that leaves the task in a state of ``until`` or
        ends it.

        ``is_current`` states that the log has no event after the cursor and that this process
        writes the next one: then the log is not read.
        """
        buffer = self._acquire_buffer(key, cursor, mark, is_current=is_current)
        try:
            if is_current and buffer.last_seq == cursor:
                await buffer.next_change()
            while True:
                for event in buffer.events_after(cursor) or await self._read_batch(
                    buffer, key, cursor, mark
                ):
                    if event.state in until or event.state in TERMINAL:
                        return event
                    cursor = event.seq
                    mark = event.mark
        finally:
            self._release_buffer(key, buffer)

    async def _read_batch(
        self, buffer: EventBuffer, key: str, cursor: int, mark: int
    ) -> Sequence[LoggedEvent]:
        """Wait for the next events after a cursor."""
        deadline: float | None = None
        while True:
            try:
                if buffer.is_over:
                    raise EventsGoneError
                batch = buffer.events_after(cursor)
                if batch is None:
                    batch = await self._log.read_events(key, cursor, PAGE_EVENTS, mark=mark)
                if batch:
                    return batch
                if not buffer.is_stale:
                    await buffer.next_change()
                    continue
                await buffer.read_page()
                deadline = None
            except StoreUnavailableError:
                now = asyncio.get_running_loop().time()
                deadline = deadline or now + self._retry_timeout_seconds
                if now >= deadline:
                    raise
                await asyncio.sleep(self._poll_interval_seconds)

    def _acquire_buffer(
        self, key: str, cursor: int, mark: int, *, is_current: bool = False
    ) -> EventBuffer:
        buffer = self._buffers.get(key)
        # The log no longer has what the readers of a buffer need that is over. They end with an
        # error; a new reader begins anew.
        if buffer is None or buffer.is_over:
            buffer = EventBuffer(
                key,
                self._log,
                after=cursor,
                mark=mark,
                max_events=self._buffer_events,
                is_stale=not is_current,
            )
            self._buffers[key] = buffer
        buffer.reader_count += 1
        if self._timer is None:
            self._start_timer()
        return buffer

    def _release_buffer(self, key: str, buffer: EventBuffer) -> None:
        buffer.reader_count -= 1
        # A buffer that was over may have a successor, which stays.
        if not buffer.reader_count and self._buffers.get(key) is buffer:
            del self._buffers[key]

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(
            self._poll_interval_seconds, self._poll_buffers
        )

    def _poll_buffers(self) -> None:
        """Poll every buffer, and let those who have waited since the last poll become readers; the
        timer runs only while there are some.
        """
        self._timer = None
        for buffer in self._buffers.values():
            buffer.poll()
        for key in self._old_waiters:
            self._dismiss(key)
        self._old_waiters = tuple(self._waiters)
        if self._buffers or self._waiters:
            self._start_timer()
