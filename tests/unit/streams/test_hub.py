"""Readers of a task get each event once and in order, and leave nothing behind."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing

import pytest
from unit.streams.journal import KEY, FakeEventLog, sequence_numbers

from a2a_contract.errors import TaskNotFoundError
from a2a_runtime.errors import EventsGoneError, StoreUnavailableError
from a2a_runtime.stores.base import LoggedEvent
from a2a_runtime.streams.hub import EventHub

pytestmark = pytest.mark.anyio


@pytest.fixture
def hub(journal: FakeEventLog) -> EventHub:
    """A hub that is quick to look for itself."""
    return EventHub(journal, buffer_events=64, poll_interval_seconds=0.02, retry_timeout_seconds=0.2)


async def collect(events: AsyncIterator[LoggedEvent], pause: float = 0) -> list[int]:
    """Read to the end, taking one's time."""
    seen = []
    async for event in events:
        seen.append(event.seq)
        if pause:
            await asyncio.sleep(pause)
    return seen


async def test_readers_join_mid_way_while_most_bells_get_lost(journal: FakeEventLog, hub: EventHub) -> None:
    """50 readers join at any time with any cursor, some slow, while half of what is written is never announced: nobody misses anything."""
    chance = random.Random(3)  # noqa: S311 - any sequence will do
    readers: list[tuple[int, asyncio.Task[list[int]]]] = []

    def join() -> None:
        cursor = chance.randint(0, len(journal.events))
        readers.append((cursor, asyncio.create_task(collect(hub.follow(KEY, cursor), chance.choice([0, 0, 0.0005])))))

    for round_ in range(100):
        if round_ % 2:
            join()
        new = journal.append(chance.randint(1, 9), is_final=round_ == 99)
        announce(hub, new, chance.choice(["offer", "ring", "ring all", "lose", "lose", "offer late"]))
        await asyncio.sleep(0)
    async with asyncio.timeout(20):
        for cursor, reader in readers:
            assert await reader == list(range(cursor + 1, len(journal.events) + 1))
    assert hub.count_followed_tasks() == 0


def announce(hub: EventHub, new: Iterable[LoggedEvent], how: str) -> None:
    """Say that something was written, well or badly."""
    match how:
        case "offer":
            hub.append(KEY, new)
        case "ring":
            hub.on_notification([KEY, "another"])
        case "ring all":
            hub.on_reconnect()
        case "offer late":
            asyncio.get_running_loop().call_later(0.005, hub.append, KEY, list(new))


async def test_a_lost_bell_costs_time_only(journal: FakeEventLog, hub: EventHub) -> None:
    """Nobody says anything, and the reader gets its event all the same, by the look that a quiet feed takes now and then."""
    async with asyncio.timeout(5), aclosing(hub.follow(KEY, 0)) as events:
        reader = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.01)
        journal.append()
        assert (await reader).seq == 1


async def test_many_readers_share_one_look(journal: FakeEventLog, hub: EventHub) -> None:
    """A bell makes the feed look once, not every reader."""
    readers = [asyncio.create_task(collect(hub.follow(KEY, 0))) for _ in range(50)]
    await asyncio.sleep(0.005)
    looks = journal.read_count
    journal.append(5, is_final=True)
    hub.on_notification([KEY])
    async with asyncio.timeout(5):
        assert [await reader for reader in readers] == [[1, 2, 3, 4, 5]] * 50
    assert journal.read_count - looks <= 2


async def test_a_stream_ends_with_the_event_that_ends_the_task(journal: FakeEventLog, hub: EventHub) -> None:
    """After the terminal event there is nothing, for late readers too."""
    journal.append(3, is_final=True)
    async with asyncio.timeout(5):
        assert await collect(hub.follow(KEY, 0)) == [1, 2, 3]
        assert await collect(hub.follow(KEY, 2)) == [3]


async def test_a_store_that_is_away_for_a_while_delays_a_reader(journal: FakeEventLog, hub: EventHub) -> None:
    """A reader waits for the store to come back, and has missed nothing."""
    journal.append(2, is_final=True)
    journal.failures_left = 3
    async with asyncio.timeout(5):
        assert await collect(hub.follow(KEY, 0)) == [1, 2]


async def test_a_reader_is_told_when_the_store_stays_away(journal: FakeEventLog, hub: EventHub) -> None:
    """Patience ends with an explicit error, never with a silent end."""
    journal.failures_left = 10_000
    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailableError):
            await collect(hub.follow(KEY, 0))
    assert hub.count_followed_tasks() == 0


@pytest.mark.parametrize("error", [EventsGoneError, TaskNotFoundError], ids=lambda error: error.__name__)
async def test_a_log_that_is_gone_is_an_error(error: type[Exception]) -> None:
    """A reader that waits for a task that is deleted, or whose log was cut, is told."""

    class Forgotten(FakeEventLog):
        async def read_events(self, key: str, after: int, limit: int = 256) -> list[LoggedEvent]:
            if self.read_count > 2:
                raise error
            return list(await super().read_events(key, after, limit))

    hub = EventHub(Forgotten(), poll_interval_seconds=0.01)
    async with asyncio.timeout(5):
        with pytest.raises(error):
            await collect(hub.follow(KEY, 0))


async def test_readers_that_leave_leave_nothing(journal: FakeEventLog, hub: EventHub) -> None:
    """A reader that is canceled or closed frees its place at once; the last one takes the feed with it."""
    readers = [asyncio.create_task(collect(hub.follow(KEY, 0))) for _ in range(3)]
    await asyncio.sleep(0.005)
    assert hub.count_followed_tasks() == 1
    async with aclosing(hub.follow(KEY, 0)) as events:
        hub.append(KEY, journal.append())
        assert sequence_numbers([await anext(events)]) == [1]
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    assert hub.count_followed_tasks() == 0
    await asyncio.sleep(0.05)
    assert hub._timer is None


async def test_a_reader_may_be_ahead_of_the_feed(journal: FakeEventLog, hub: EventHub) -> None:
    """A cursor from a newer snapshot than the feed has seen waits for what comes after it."""
    behind = asyncio.create_task(collect(hub.follow(KEY, 0)))
    await asyncio.sleep(0.005)
    journal.append(5)
    ahead = asyncio.create_task(collect(hub.follow(KEY, 5)))
    await asyncio.sleep(0)
    hub.append(KEY, journal.append(is_final=True))
    async with asyncio.timeout(5):
        assert await ahead == [6]
        assert await behind == [1, 2, 3, 4, 5, 6]
