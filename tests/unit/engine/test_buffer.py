"""Event buffers have no gaps and no duplicates, whatever is appended."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.engine.fake_log import KEY, FakeEventLog, sequence_numbers

from a2a_runtime.engine.hub import EventBuffer
from a2a_runtime.stores.models import LoggedEvent

pytestmark = pytest.mark.anyio


async def test_appended_events_need_no_read(event_log: FakeEventLog) -> None:
    """Events with the next numbers are taken as they are."""
    buffer = EventBuffer(KEY, event_log, after=0, max_events=8)
    await buffer.read_page()
    reads = event_log.read_count
    buffer.append(event_log.append(3))
    assert sequence_numbers(buffer.events_after(0) or ()) == [1, 2, 3]
    assert sequence_numbers(buffer.events_after(2) or ()) == [3]
    assert event_log.read_count == reads


@pytest.mark.parametrize(
    ("appended", "taken", "is_stale"),
    [
        ([[1, 2, 3]], [1, 2, 3], False),
        ([[1], [1], [1, 2]], [1, 2], False),
        ([[2, 3]], [], True),
        ([[1], [3]], [1], True),
    ],
    ids=["in order", "repeated", "too early", "with a gap"],
)
async def test_only_the_next_event_is_taken(
    event_log: FakeEventLog, appended: list[list[int]], taken: list[int], *, is_stale: bool
) -> None:
    """After a gap the buffer is stale, and the log has the missing events."""
    buffer = EventBuffer(KEY, event_log, after=0, max_events=8)
    await buffer.read_page()
    events = {event.seq: event for event in event_log.append(3)}
    for numbers in appended:
        buffer.append([events[seq] for seq in numbers])
    assert sequence_numbers(buffer.events_after(0) or ()) == taken
    assert buffer.is_stale is is_stale
    await buffer.read_page()
    assert sequence_numbers(buffer.events_after(0) or ()) == ([1, 2, 3] if is_stale else taken)


async def test_a_cursor_older_than_the_buffer_gets_none(event_log: FakeEventLog) -> None:
    """Such a reader reads the log."""
    buffer = EventBuffer(KEY, event_log, after=0, max_events=4)
    buffer.append(event_log.append(10))
    assert buffer.events_after(5) is None
    assert sequence_numbers(buffer.events_after(6) or ()) == [7, 8, 9, 10]
    assert buffer.events_after(10) == ()
    assert buffer.events_after(12) == ()


async def test_readers_that_gave_up_are_skipped(event_log: FakeEventLog) -> None:
    """Each reader awaits a future of its own, so that canceling one of them wakes no other."""
    buffer = EventBuffer(KEY, event_log, after=0, max_events=4)
    canceled = buffer.next_change()
    waiting = buffer.next_change()
    canceled.cancel()
    buffer.append(event_log.append())
    assert waiting.done()


@given(
    st.lists(st.sampled_from(["write", "append", "append late", "lose", "notify"]), max_size=40),
    st.integers(1, 6),
)
def test_a_reader_gets_every_event_in_order(steps: list[str], max_events: int) -> None:
    """Events may be appended, lost, repeated or late: a reader with a cursor gets each one once and
    in order.
    """

    async def read_all() -> None:
        event_log = FakeEventLog()
        seen = list[int]()
        buffer = EventBuffer(KEY, event_log, after=0, max_events=max_events)
        for step in steps:
            if step == "write":
                event_log.append()
            elif step == "append":
                buffer.append(event_log.append(2))
            elif step == "append late":
                buffer.append(event_log.events[-3:])
            elif step == "lose":
                event_log.append(2)
            else:
                buffer.mark_stale()
            seen += sequence_numbers(read_after(buffer, event_log, len(seen)))
        event_log.append()
        buffer.mark_stale()
        await buffer.read_page()
        while len(seen) < len(event_log.events):
            seen += sequence_numbers(read_after(buffer, event_log, len(seen)))
        assert seen == list(range(1, len(event_log.events) + 1))

    asyncio.run(read_all())


def read_after(buffer: EventBuffer, event_log: FakeEventLog, cursor: int) -> list[LoggedEvent]:
    """Read the events after a cursor as the hub does."""
    batch = buffer.events_after(cursor)
    if batch is None:
        return event_log.events[cursor:]
    return list(batch)
