"""Event hub: readers get each event once and in order, and release their buffer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest
from unit.engine.fake_log import KEY, FakeEventLog, sequence_numbers

from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.engine.hub import EventHub
from a2a_runtime.errors import EventsGoneError, StoreUnavailableError
from a2a_runtime.settings import Settings
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import ChangeResult, LoggedEvent, StoredTask
from a2a_runtime.testing.store_contract.case import SCOPE, build_new_task

pytestmark = pytest.mark.anyio


@pytest.fixture
def hub(event_log: FakeEventLog) -> EventHub:
    """A hub that polls often."""
    return EventHub(
        event_log,
        settings=Settings(stream_buffer_events=64, store_retry_timeout=0.2),
        poll_interval_seconds=0.02,
    )


async def collect(events: AsyncIterator[LoggedEvent], pause: float = 0) -> list[int]:
    """Read to the end, with a pause after each event."""
    seen = []
    async for event in events:
        seen.append(event.seq)
        if pause:
            await asyncio.sleep(pause)
    return seen


async def let_readers_wait() -> None:
    """Give every task as many turns as it needs to wait for an event: neither the hub nor the log
    waits for time.
    """
    for _ in range(20):
        await asyncio.sleep(0)


async def test_readers_get_every_event_although_notifications_are_lost(
    event_log: FakeEventLog, hub: EventHub
) -> None:
    """50 readers start at any time with any cursor, some of them slow, while half of the writes are
    never announced.
    """
    chance = random.Random(3)  # noqa: S311 - any sequence will do
    readers: list[tuple[int, asyncio.Task[list[int]]]] = []

    def join() -> None:
        cursor = chance.randint(0, len(event_log.events))
        readers.append(
            (
                cursor,
                asyncio.create_task(
                    collect(hub.follow(KEY, cursor), chance.choice([0, 0, 0.0005]))
                ),
            )
        )

    for round_ in range(100):
        if round_ % 2:
            join()
        new = event_log.append(chance.randint(1, 9), is_final=round_ == 99)
        announce(
            hub,
            new,
            chance.choice(["append", "notify", "reconnect", "lose", "lose", "append late"]),
        )
        await asyncio.sleep(0)
    async with asyncio.timeout(30):
        for cursor, reader in readers:
            assert await reader == list(range(cursor + 1, len(event_log.events) + 1))
    assert len(hub._buffers) == 0


def to_result(events: Sequence[LoggedEvent], stored: StoredTask | None = None) -> ChangeResult:
    """Build the result of the change that has appended some events."""
    return ChangeResult(2, events[-1].state, events[-1].seq, events, stored=stored)


def announce(hub: EventHub, new: Sequence[LoggedEvent], how: str) -> None:
    """Announce a write in one of several ways, or not at all."""
    match how:
        case "append":
            hub.publish(KEY, to_result(new))
        case "notify":
            hub.on_notification([KEY, "another"])
        case "reconnect":
            hub.on_reconnect()
        case "append late":
            asyncio.get_running_loop().call_later(0.005, hub.publish, KEY, to_result(new))


async def test_a_lost_notification_costs_time_only(event_log: FakeEventLog, hub: EventHub) -> None:
    """The reader gets its event by polling."""
    async with asyncio.timeout(30), aclosing(hub.follow(KEY, 0)) as events:
        reader = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.01)
        event_log.append()
        assert (await reader).seq == 1


async def test_many_readers_share_one_read(event_log: FakeEventLog) -> None:
    """A notification causes one read, not one for each reader."""
    hub = EventHub(event_log, poll_interval_seconds=60)
    readers = [asyncio.create_task(collect(hub.follow(KEY, 0))) for _ in range(50)]
    await let_readers_wait()
    reads = event_log.read_count
    event_log.append(5, is_final=True)
    hub.on_notification([KEY])
    async with asyncio.timeout(30):
        assert [await reader for reader in readers] == [[1, 2, 3, 4, 5]] * 50
    assert event_log.read_count - reads <= 2


async def test_a_stream_ends_with_the_event_that_ends_the_task(
    event_log: FakeEventLog, hub: EventHub
) -> None:
    """Nothing follows the terminal event, for late readers too."""
    event_log.append(3, is_final=True)
    async with asyncio.timeout(30):
        assert await collect(hub.follow(KEY, 0)) == [1, 2, 3]
        assert await collect(hub.follow(KEY, 2)) == [3]


async def test_a_stream_ends_in_a_state_of_until(event_log: FakeEventLog, hub: EventHub) -> None:
    """``until`` adds states to those that end the task."""
    event_log.append(3)
    async with asyncio.timeout(30):
        assert await collect(hub.follow(KEY, 0, frozenset({State.WORKING}))) == [1]
        assert (await hub.wait_for(KEY, 1, frozenset({State.WORKING}))).seq == 2


async def test_an_unavailable_store_delays_a_reader(event_log: FakeEventLog) -> None:
    """A reader retries, and misses nothing."""
    hub = EventHub(event_log, settings=Settings(store_retry_timeout=30), poll_interval_seconds=0.02)
    event_log.append(2, is_final=True)
    event_log.failures_left = 3
    async with asyncio.timeout(30):
        assert await collect(hub.follow(KEY, 0)) == [1, 2]


async def test_a_reader_fails_after_the_retry_timeout(
    event_log: FakeEventLog, hub: EventHub
) -> None:
    """The stream ends with an explicit error, never silently."""
    event_log.failures_left = 10_000
    async with asyncio.timeout(30):
        with pytest.raises(StoreUnavailableError):
            await collect(hub.follow(KEY, 0))
    assert len(hub._buffers) == 0


@pytest.mark.parametrize(
    "error", [EventsGoneError, TaskNotFoundError], ids=lambda error: error.__name__
)
async def test_a_deleted_log_is_an_error(error: type[Exception]) -> None:
    """The error of the log reaches a reader whose task is deleted, or whose events are."""

    class DeletedLog(FakeEventLog):
        async def read_events(
            self, key: str, after: int, limit: int = 256, *, mark: int = 0
        ) -> list[LoggedEvent]:
            if self.read_count > 2:
                raise error
            return list(await super().read_events(key, after, limit, mark=mark))

    hub = EventHub(DeletedLog(), poll_interval_seconds=0.01)
    async with asyncio.timeout(30):
        with pytest.raises(error):
            await collect(hub.follow(KEY, 0))


async def test_canceled_readers_release_the_buffer(event_log: FakeEventLog, hub: EventHub) -> None:
    """The last reader removes the buffer, and the timer stops."""
    readers = [asyncio.create_task(collect(hub.follow(KEY, 0))) for _ in range(3)]
    await let_readers_wait()
    assert len(hub._buffers) == 1
    async with aclosing(hub.follow(KEY, 0)) as events:
        hub.publish(KEY, to_result(event_log.append()))
        assert sequence_numbers([await anext(events)]) == [1]
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    assert len(hub._buffers) == 0
    async with asyncio.timeout(30):
        while hub._timer is not None:  # noqa: ASYNC110 - it ends at its next poll
            await asyncio.sleep(0.01)


async def test_a_reader_may_be_ahead_of_the_buffer(event_log: FakeEventLog, hub: EventHub) -> None:
    """A cursor of a newer snapshot waits for later events."""
    behind = asyncio.create_task(collect(hub.follow(KEY, 0)))
    await let_readers_wait()
    event_log.append(5)
    ahead = asyncio.create_task(collect(hub.follow(KEY, 5)))
    await asyncio.sleep(0)
    hub.publish(KEY, to_result(event_log.append(is_final=True)))
    async with asyncio.timeout(30):
        assert await ahead == [6]
        assert await behind == [1, 2, 3, 4, 5, 6]


@pytest.fixture
async def waiter(hub: EventHub) -> asyncio.Task[tuple[StoredTask | None] | None]:
    """A caller that waits for the run of a new task."""
    hub.loop = asyncio.get_running_loop()
    waiting = asyncio.create_task(hub.wait_for_run(KEY))
    await let_readers_wait()
    return waiting


async def test_a_waiter_gets_the_task_with_the_event_that_ends_it(
    event_log: FakeEventLog, hub: EventHub, waiter: asyncio.Task[object]
) -> None:
    """It needs no buffer and no read, and events before the end leave it waiting."""
    created = await MemoryStore().create_task(SCOPE, build_new_task())
    hub.publish(KEY, to_result(event_log.append(3)))
    await let_readers_wait()
    assert not waiter.done()
    hub.publish(KEY, to_result(event_log.append(is_final=True), created.stored))
    async with asyncio.timeout(30):
        assert await waiter == (created.stored,)
    assert (event_log.read_count, hub._buffers, hub._waiters) == (0, {}, {})


@pytest.mark.parametrize("announcement", ["notify", "reconnect"])
async def test_a_waiter_reads_the_log_when_another_process_has_written(
    hub: EventHub, waiter: asyncio.Task[object], announcement: str
) -> None:
    """A notification or a new connection ends the wait; the reader then looks into the log."""
    announce(hub, (), announcement)
    async with asyncio.timeout(30):
        assert await waiter is None


async def test_a_waiter_reads_the_log_after_a_while(waiter: asyncio.Task[object]) -> None:
    """A notification may have been lost."""
    async with asyncio.timeout(30):
        assert await waiter is None


async def test_a_second_waiter_reads_the_log(hub: EventHub, waiter: asyncio.Task[object]) -> None:
    """One of them waits without a buffer; one that is canceled leaves nothing behind."""
    async with asyncio.timeout(30):
        assert await hub.wait_for_run(KEY) is None
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    assert hub._waiters == {}
