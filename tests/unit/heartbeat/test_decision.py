"""What a heart does next, in a table."""

from __future__ import annotations

import pytest

from a2a_runtime.heartbeat.schedule import Beat, Heard, Pulse, Rhythm, after, pause

RHYTHM = Rhythm()
REGISTER, ASK = Pulse(Beat.REGISTER), Pulse(Beat.ASK)
TABLE = {
    "registered": (REGISTER, Heard.TAKEN, ASK, 5.0),
    "registered after failures": (Pulse(Beat.REGISTER, 9), Heard.TAKEN, ASK, 5.0),
    "known": (ASK, Heard.KNOWN, ASK, 5.0),
    "known after failures": (Pulse(Beat.ASK, 3), Heard.KNOWN, ASK, 5.0),
    "topology changed": (ASK, Heard.CHANGED, REGISTER, 0.0),
    "forgotten": (ASK, Heard.FORGOTTEN, REGISTER, 0.0),
    "refused": (REGISTER, Heard.REFUSED, Pulse(Beat.REGISTER, 1), 0.5),
    "in trouble when asked": (ASK, Heard.TROUBLE, Pulse(Beat.ASK, 1), 0.5),
    "still in trouble": (Pulse(Beat.ASK, 2), Heard.TROUBLE, Pulse(Beat.ASK, 3), 2.0),
    "in trouble for long": (Pulse(Beat.ASK, 3), Heard.TROUBLE, Pulse(Beat.REGISTER, 4), 4.0),
    "away at the start": (REGISTER, Heard.TROUBLE, Pulse(Beat.REGISTER, 1), 0.5),
    "away for days": (Pulse(Beat.REGISTER, 5000), Heard.TROUBLE, Pulse(Beat.REGISTER, 5001), 15.0),
}


@pytest.mark.parametrize(("pulse", "heard", "then", "wait"), TABLE.values(), ids=TABLE.keys())
def test_what_comes_next(pulse: Pulse, heard: Heard, then: Pulse, wait: float) -> None:
    """What was heard decides, and chance decides how much longer than half a pause is."""
    assert after(pulse, heard, RHYTHM, 0.0) == (then, wait)


def test_half_of_a_pause_is_chance() -> None:
    """Pauses double up to the longest one, and lie between their half and their whole."""
    assert [pause(failures, RHYTHM, 0.0) for failures in range(1, 8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]
    assert [pause(failures, RHYTHM, 1.0) for failures in range(1, 8)] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert pause(1, RHYTHM, 0.5) == 0.75
