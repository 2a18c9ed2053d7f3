"""The schedule of heartbeats.

Pure: results and jitter are passed in, so that a table can test every case.

    accepted, known        renew after the interval
    changed, unknown       register now
    rejected, unavailable  retry after a delay that doubles each time;
                           after some failures register instead of renewing

Retries never end. Half of each delay is jitter, so that not all agents meet a registry at once when
it is back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class HeartbeatResult(Enum):
    """The result of a heartbeat."""

    ACCEPTED = auto()
    """The registration was accepted."""
    REJECTED = auto()
    """The registration was rejected."""
    KNOWN = auto()
    """The agent is registered, and nothing has changed."""
    CHANGED = auto()
    """The agent is registered; a new registration returns what has changed."""
    UNKNOWN = auto()
    """The agent is not registered, or considered dead."""
    UNAVAILABLE = auto()
    """The registry is unreachable, or failed."""


@dataclass(frozen=True, slots=True)
class HeartbeatSchedule:
    """Interval and delays, in seconds."""

    interval: float = 5.0
    initial_delay: float = 1.0
    max_delay: float = 30.0
    register_after_failures: int = 4
    """Consecutive failures after which to register instead of renewing."""


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The next action, to register or else to renew, and the number of consecutive failures."""

    should_register: bool = True
    failures: int = 0


def plan_next(
    state: ScheduleState, result: HeartbeatResult, schedule: HeartbeatSchedule, jitter: float
) -> tuple[ScheduleState, float]:
    """Return the next state and the delay before it; ``jitter`` is between 0 and 1."""
    match result:
        case HeartbeatResult.ACCEPTED | HeartbeatResult.KNOWN:
            return ScheduleState(should_register=False), schedule.interval
        case HeartbeatResult.CHANGED | HeartbeatResult.UNKNOWN:
            return ScheduleState(), 0.0
        case HeartbeatResult.REJECTED | HeartbeatResult.UNAVAILABLE:
            failures = state.failures + 1
            should_register = state.should_register or failures >= schedule.register_after_failures
            return ScheduleState(should_register, failures), compute_delay(
                failures, schedule, jitter
            )


def compute_delay(failures: int, schedule: HeartbeatSchedule, jitter: float) -> float:
    """Compute the delay after a number of consecutive failures; half of it is jitter."""
    delay = min(
        schedule.initial_delay * 2.0 ** min(failures - 1, 32), schedule.max_delay
    )  # 32 is far beyond the longest delay
    return delay / 2 + delay / 2 * jitter
