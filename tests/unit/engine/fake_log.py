"""An event log of one task in a list, which fails as often as a test needs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from a2a_contract.lifecycle import State
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.changes import check_read
from a2a_runtime.stores.models import LoggedEvent

KEY = "task"


class FakeEventLog:
    """Events of one task, readable by cursor; counts the reads."""

    def __init__(self) -> None:
        self.events: list[LoggedEvent] = []
        self.read_count = 0
        self.failures_left = 0

    def append(self, count: int = 1, *, is_final: bool = False) -> Sequence[LoggedEvent]:
        """Append some events, the last of which may end the task."""
        first = len(self.events) + 1
        states = [State.WORKING] * (count - 1) + [State.COMPLETED if is_final else State.WORKING]
        new = [
            LoggedEvent(seq, b"event %d" % seq, state) for seq, state in enumerate(states, first)
        ]
        self.events += new
        return new

    async def read_events(
        self, key: str, after: int, limit: int = 256, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read the events after a cursor."""
        assert key == KEY
        last = self.events[after - 1].mark if 0 < after <= len(self.events) else 0
        check_read(after, mark, len(self.events), last)
        self.read_count += 1
        if self.failures_left:
            self.failures_left -= 1
            raise StoreUnavailableError
        return self.events[after : after + limit]


def sequence_numbers(events: Iterable[LoggedEvent]) -> list[int]:
    """Return the numbers of events."""
    return [event.seq for event in events]
