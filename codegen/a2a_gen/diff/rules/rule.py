"""What a rule is: one kind of change, whom it hurts, and in which words it is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class Level(IntEnum):
    """How bad a finding is, the worst being the greatest."""

    NONE = 0
    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Effect(Enum):
    """What a change does to the set of documents."""

    NONE = "none"
    NARROWS = "narrows"
    WIDENS = "widens"
    BOTH = "both"

    @property
    def narrows(self) -> bool:
        """Whether documents that were taken may now be refused."""
        return self in {Effect.NARROWS, Effect.BOTH}

    @property
    def widens(self) -> bool:
        """Whether documents that were refused may now be taken."""
        return self in {Effect.WIDENS, Effect.BOTH}


_LETTERS = {"E": Level.ERROR, "W": Level.WARNING, "I": Level.INFO, "-": Level.NONE}


@dataclass(frozen=True, slots=True)
class Levels:
    """How bad a change is for those who read, those who write, and Python that is generated from it."""

    read: Level
    write: Level
    source: Level

    @classmethod
    def of(cls, letters: str) -> Levels:
        """Read the three letters of the table, as in ``"E I W"``."""
        return cls(*(_LETTERS[letter] for letter in letters.split()))

    @property
    def letters(self) -> str:
        """Write the three letters."""
        names = {level: letter for letter, level in _LETTERS.items()}
        return " ".join(names[level] for level in (self.read, self.write, self.source))


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of change; ``mirror`` is the rule for the way back, or ``waiver`` says why there is none.

    ``says`` is told with the words of a change put in: ``{name}``, ``{old}``, ``{new}``.
    """

    code: str
    id: str
    area: str
    effect: Effect
    levels: Levels
    says: str
    cure: str
    mirror: str = ""
    waiver: str = ""


SAME = "itself"
"""As a mirror: the rule for the way back is the same rule."""


def rule(label: str, facts: str, says: str, cure: str = "", *, mirror: str = "", waiver: str = "") -> Rule:
    """Write a rule down: its code and id, and its area, its effect and its three letters, as in ``"property narrows E I E"``."""
    code, identity = label.split()
    area, effect, letters = facts.split(" ", 2)
    mirror = identity if mirror == SAME else mirror
    levels = Levels.of(letters)
    usual = _KEPT if Effect(effect) is Effect.NONE and max(levels.read, levels.write, levels.source) > Level.INFO else _CURES[Effect(effect)]
    return Rule(code, identity, area, Effect(effect), levels, says, cure or usual, mirror, waiver)


_KEPT = "keep it as it was, or make a new version of the contract"
_CURES = {
    Effect.NONE: "nothing needs to be done",
    Effect.NARROWS: "keep taking what was taken, or make a new version of the contract",
    Effect.WIDENS: "keep to what was promised, or make a new version of the contract",
    Effect.BOTH: "add the new form beside the old one, or make a new version of the contract",
}
