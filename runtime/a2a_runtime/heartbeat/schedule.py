"""What a heart does next, and when. Pure: what was heard goes in, and chance, so that every case can be told in a table.

    taken, known          ask again after the interval
    changed, forgotten    register now
    refused, trouble      try again after a pause that doubles each time; after some troubles register instead of asking

Pauses never end: half of each is left to chance, so that a registry that comes back is not met by everybody at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Heard(Enum):
    """What came of a beat."""

    TAKEN = auto()
    """The registry has taken what was announced."""
    REFUSED = auto()
    """It has read it and does not take it."""
    KNOWN = auto()
    """It knows the agent, and there is nothing new."""
    CHANGED = auto()
    """It knows the agent, and has news for those who announce themselves again."""
    FORGOTTEN = auto()
    """It does not know the agent, or takes it for dead."""
    TROUBLE = auto()
    """It is away, or has troubles of its own."""


class Beat(Enum):
    """What is done."""

    REGISTER = auto()
    ASK = auto()


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a heart beats; times are in seconds."""

    interval: float = 5.0
    first_pause: float = 1.0
    longest_pause: float = 30.0
    patience: int = 4
    """After how many failures in a row a heart registers instead of asking whether it is known."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """What comes next, and how often the last ones have failed."""

    beat: Beat = Beat.REGISTER
    failures: int = 0


def after(pulse: Pulse, heard: Heard, rhythm: Rhythm, chance: float) -> tuple[Pulse, float]:
    """Say what comes after a beat, and after how many seconds; ``chance`` is between 0 and 1."""
    match heard:
        case Heard.TAKEN | Heard.KNOWN:
            return Pulse(Beat.ASK), rhythm.interval
        case Heard.CHANGED | Heard.FORGOTTEN:
            return Pulse(Beat.REGISTER), 0.0
        case Heard.REFUSED | Heard.TROUBLE:
            failures = pulse.failures + 1
            beat = Beat.REGISTER if failures >= rhythm.patience else pulse.beat
            return Pulse(beat, failures), pause(failures, rhythm, chance)


def pause(failures: int, rhythm: Rhythm, chance: float) -> float:
    """Say how long to wait after so many failures in a row: half of it for certain, half by chance."""
    doublings = min(failures - 1, 32)  # far beyond the longest pause
    whole = min(rhythm.first_pause * 2.0**doublings, rhythm.longest_pause)
    return whole / 2 + whole / 2 * chance
