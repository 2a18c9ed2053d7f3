"""A window on the log has no holes and no doubles, whatever is handed to it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.streams.journal import KEY, FakeEventLog, sequence_numbers

from a2a_runtime.streams.hub import EventBuffer

pytestmark = pytest.mark.anyio


async def test_what_a_writer_hands_over_needs_no_look(journal: FakeEventLog) -> None:
    """Events that follow on the last one are taken as they are."""
    feed = EventBuffer(KEY, journal, after=0, max_events=8)
    await feed._read_page()
    looks = journal.read_count
    feed.append(journal.append(3))
    assert sequence_numbers(feed.events_after(0) or ()) == [1, 2, 3]
    assert sequence_numbers(feed.events_after(2) or ()) == [3]
    assert journal.read_count == looks


@pytest.mark.parametrize(
    ("offers", "taken", "looks"),
    [([[1, 2, 3]], [1, 2, 3], False), ([[1], [1], [1, 2]], [1, 2], False), ([[2, 3]], [], True), ([[1], [3]], [1], True)],
    ids=["in order", "doubled", "too early", "with a hole"],
)
async def test_only_the_next_event_is_taken(journal: FakeEventLog, offers: list[list[int]], taken: list[int], *, looks: bool) -> None:
    """An event is taken when it is the next one; one that comes too early makes the feed look into the log."""
    feed = EventBuffer(KEY, journal, after=0, max_events=8)
    await feed._read_page()
    events = {event.seq: event for event in journal.append(3)}
    before = journal.read_count
    for offer in offers:
        feed.append([events[seq] for seq in offer])
    assert sequence_numbers(feed.events_after(0) or ()) == taken
    if looks:
        await feed.wait(len(taken))
    assert (journal.read_count > before) is looks
    assert sequence_numbers(feed.events_after(0) or ()) == ([1, 2, 3] if looks else taken)


async def test_a_cursor_older_than_the_window_is_told_so(journal: FakeEventLog) -> None:
    """Who is further behind than the window reaches has to read the log."""
    feed = EventBuffer(KEY, journal, after=0, max_events=4)
    feed.append(journal.append(10))
    assert feed.events_after(5) is None
    assert sequence_numbers(feed.events_after(6) or ()) == [7, 8, 9, 10]
    assert feed.events_after(10) == ()
    assert feed.events_after(12) == ()


@given(st.lists(st.sampled_from(["write", "offer", "offer late", "lose", "ring"]), max_size=40), st.integers(1, 6))
def test_a_reader_sees_all_in_order_whatever_gets_lost(steps: list[str], size: int) -> None:
    """Events offered, lost, doubled or late: a reader that asks by cursor gets each one once and in order."""

    async def scenario() -> None:
        journal, seen = FakeEventLog(), list[int]()
        feed = EventBuffer(KEY, journal, after=0, max_events=size)
        for step in steps:
            if step == "write":
                journal.append()
            elif step == "offer":
                feed.append(journal.append(2))
            elif step == "offer late":
                feed.append(journal.events[-3:])
            elif step == "lose":
                journal.append(2)
            else:
                feed.mark_stale()
            seen += sequence_numbers(read_after(feed, journal, len(seen)))
        feed.mark_stale()
        journal.append()
        await feed.wait(len(journal.events) - 1)
        while len(seen) < len(journal.events):
            seen += sequence_numbers(read_after(feed, journal, len(seen)))
        assert seen == list(range(1, len(journal.events) + 1))

    asyncio.run(scenario())


def read_after(feed: EventBuffer, journal: FakeEventLog, cursor: int) -> list:
    """Read on as the hub does."""
    batch = feed.events_after(cursor)
    return journal.events[cursor:] if batch is None else list(batch)
