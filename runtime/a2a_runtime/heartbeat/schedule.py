"""What a heart does next, and when. Pure: what was heard goes in, and chance, so that every case can be told in a table.

    taken, known          ask again after the interval
    changed, forgotten    register now
    refused, trouble      try again after a pause that doubles each time; after some troubles register instead of asking

Pauses never end: half of each is left to chance, so that a registry that comes back is not met by everybody at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class HeartbeatResult(Enum):
    """What came of a beat."""

    ACCEPTED = auto()
    """The registry has taken what was announced."""
    REJECTED = auto()
    """It has read it and does not take it."""
    KNOWN = auto()
    """It knows the agent, and there is nothing new."""
    CHANGED = auto()
    """It knows the agent, and has news for those who announce themselves again."""
    UNKNOWN = auto()
    """It does not know the agent, or takes it for dead."""
    UNAVAILABLE = auto()
    """It is away, or has troubles of its own."""


class HeartbeatAction(Enum):
    """What is done."""

    REGISTER = auto()
    RENEW = auto()


@dataclass(frozen=True, slots=True)
class HeartbeatSchedule:
    """How often a heart beats; times are in seconds."""

    interval: float = 5.0
    initial_delay: float = 1.0
    max_delay: float = 30.0
    register_after_failures: int = 4
    """After how many failures in a row a heart registers instead of asking whether it is known."""


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """What comes next, and how often the last ones have failed."""

    action: HeartbeatAction = HeartbeatAction.REGISTER
    failures: int = 0


def plan_next(state: ScheduleState, result: HeartbeatResult, schedule: HeartbeatSchedule, jitter: float) -> tuple[ScheduleState, float]:
    """Say what comes after a beat, and after how many seconds; ``chance`` is between 0 and 1."""
    match result:
        case HeartbeatResult.ACCEPTED | HeartbeatResult.KNOWN:
            return ScheduleState(HeartbeatAction.RENEW), schedule.interval
        case HeartbeatResult.CHANGED | HeartbeatResult.UNKNOWN:
            return ScheduleState(HeartbeatAction.REGISTER), 0.0
        case HeartbeatResult.REJECTED | HeartbeatResult.UNAVAILABLE:
            failures = state.failures + 1
            beat = HeartbeatAction.REGISTER if failures >= schedule.register_after_failures else state.action
            return ScheduleState(beat, failures), compute_delay(failures, schedule, jitter)


def compute_delay(failures: int, schedule: HeartbeatSchedule, jitter: float) -> float:
    """Say how long to wait after so many failures in a row: half of it for certain, half by chance."""
    doublings = min(failures - 1, 32)  # far beyond the longest pause
    whole = min(schedule.initial_delay * 2.0**doublings, schedule.max_delay)
    return whole / 2 + whole / 2 * jitter
