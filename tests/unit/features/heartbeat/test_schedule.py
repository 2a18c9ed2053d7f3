"""The schedule of heartbeats, as a table."""

from __future__ import annotations

import pytest

from a2a_runtime.features.heartbeat.schedule import (
    HeartbeatResult,
    HeartbeatSchedule,
    ScheduleState,
    compute_delay,
    plan_next,
)

RHYTHM = HeartbeatSchedule()
REGISTER = ScheduleState(should_register=True)
ASK = ScheduleState(should_register=False)
TABLE = {
    "registered": (REGISTER, HeartbeatResult.ACCEPTED, ASK, 5.0),
    "registered after failures": (
        ScheduleState(should_register=True, failures=9),
        HeartbeatResult.ACCEPTED,
        ASK,
        5.0,
    ),
    "known": (ASK, HeartbeatResult.KNOWN, ASK, 5.0),
    "known after failures": (
        ScheduleState(should_register=False, failures=3),
        HeartbeatResult.KNOWN,
        ASK,
        5.0,
    ),
    "topology changed": (ASK, HeartbeatResult.CHANGED, REGISTER, 0.0),
    "forgotten": (ASK, HeartbeatResult.UNKNOWN, REGISTER, 0.0),
    "refused": (
        REGISTER,
        HeartbeatResult.REJECTED,
        ScheduleState(should_register=True, failures=1),
        0.5,
    ),
    "in trouble when asked": (
        ASK,
        HeartbeatResult.UNAVAILABLE,
        ScheduleState(should_register=False, failures=1),
        0.5,
    ),
    "still in trouble": (
        ScheduleState(should_register=False, failures=2),
        HeartbeatResult.UNAVAILABLE,
        ScheduleState(should_register=False, failures=3),
        2.0,
    ),
    "in trouble for long": (
        ScheduleState(should_register=False, failures=3),
        HeartbeatResult.UNAVAILABLE,
        ScheduleState(should_register=True, failures=4),
        4.0,
    ),
    "away at the start": (
        REGISTER,
        HeartbeatResult.UNAVAILABLE,
        ScheduleState(should_register=True, failures=1),
        0.5,
    ),
    "away for days": (
        ScheduleState(should_register=True, failures=5000),
        HeartbeatResult.UNAVAILABLE,
        ScheduleState(should_register=True, failures=5001),
        15.0,
    ),
}


@pytest.mark.parametrize(("pulse", "result", "then", "wait"), TABLE.values(), ids=TABLE.keys())
def test_each_result_has_a_next_action(
    pulse: ScheduleState, result: HeartbeatResult, then: ScheduleState, wait: float
) -> None:
    """The result selects the action; jitter is the second half of a delay."""
    assert plan_next(pulse, result, RHYTHM, 0.0) == (then, wait)


def test_half_of_a_delay_is_jitter() -> None:
    """Delays double up to the maximum, and lie between half and all of it."""
    assert [compute_delay(failures, RHYTHM, 0.0) for failures in range(1, 8)] == [
        0.5,
        1.0,
        2.0,
        4.0,
        8.0,
        15.0,
        15.0,
    ]
    assert [compute_delay(failures, RHYTHM, 1.0) for failures in range(1, 8)] == [
        1.0,
        2.0,
        4.0,
        8.0,
        16.0,
        30.0,
        30.0,
    ]
    assert compute_delay(1, RHYTHM, 0.5) == 0.75
