"""How long a store keeps things, and how much of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from a2a_runtime.clock import Clock, SystemClock

DAY = 86_400.0

FailPoint = Callable[[str], None]


def no_fault(_point: str) -> None:
    """Do nothing at a named point: what a store does everywhere but in fault tests."""


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What every store needs to know; times are in seconds, ``None`` is for ever."""

    clock: Clock = SystemClock()  # noqa: RUF009 - it has no state
    retention: float | None = 7 * DAY  # of a task, from its end
    conversation: float | None = 30 * DAY  # of a message, from when it was said
    conversation_limit: int = 100  # messages of a conversation that outlive their tasks
    lease: float = 15.0  # of a process, from its last beat
    wire_id_reuse: float = 300.0  # from the end of the task that has the id
    capacity: int = 100_000  # tasks in a memory store, and conversations that outlive theirs
    finished_logs: int = 1_000  # logs of finished tasks in a memory store
    fault: FailPoint = no_fault  # called at the named points of a write, for fault tests

    def expired(self, after: float | None) -> int:
        """Say what is too old: the moment, in milliseconds, at which something must have begun to have lasted that long."""
        return -1 if after is None else self.clock.millis() - round(after * 1000)


DEFAULTS = StoreOptions()
