"""What a rule is: one kind of change, whom it hurts, and in which words it is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class ChangeLevel(IntEnum):
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
    def is_narrowing(self) -> bool:
        """Whether documents that were taken may now be refused."""
        return self in {Effect.NARROWS, Effect.BOTH}

    @property
    def is_widening(self) -> bool:
        """Whether documents that were refused may now be taken."""
        return self in {Effect.WIDENS, Effect.BOTH}


_LETTERS = {"E": ChangeLevel.ERROR, "W": ChangeLevel.WARNING, "I": ChangeLevel.INFO, "-": ChangeLevel.NONE}


@dataclass(frozen=True, slots=True)
class ChangeLevels:
    """How bad a change is for those who read, those who write, and Python that is generated from it."""

    read: ChangeLevel
    write: ChangeLevel
    source: ChangeLevel

    @classmethod
    def parse(cls, letters: str) -> ChangeLevels:
        """Read the three letters of the table, as in ``"E I W"``."""
        return cls(*(_LETTERS[letter] for letter in letters.split()))

    @property
    def letters(self) -> str:
        """Write the three letters."""
        names = {level: letter for letter, level in _LETTERS.items()}
        return " ".join(names[level] for level in (self.read, self.write, self.source))


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """One kind of change; ``mirror`` is the rule for the way back, or ``waiver`` says why there is none.

    ``says`` is told with the words of a change put in: ``{name}``, ``{old}``, ``{new}``.
    """

    code: str
    id: str
    area: str
    effect: Effect
    levels: ChangeLevels
    message: str
    cure: str
    mirror: str = ""
    waiver: str = ""


ITSELF = "itself"
"""As a mirror: the rule for the way back is the same rule."""


def define_rule(label: str, facts: str, message: str, cure: str = "", *, mirror: str = "", waiver: str = "") -> ChangeRule:
    """Write a rule down: its code and id, and its area, its effect and its three letters, as in ``"property narrows E I E"``."""
    code, identity = label.split()
    area, effect, letters = facts.split(" ", 2)
    mirror = identity if mirror == ITSELF else mirror
    levels = ChangeLevels.parse(letters)
    usual = (
        _DEFAULT_CURE
        if Effect(effect) is Effect.NONE and max(levels.read, levels.write, levels.source) > ChangeLevel.INFO
        else _CURES_BY_EFFECT[Effect(effect)]
    )
    return ChangeRule(code, identity, area, Effect(effect), levels, message, cure or usual, mirror, waiver)


_DEFAULT_CURE = "keep it as it was, or make a new version of the contract"
_CURES_BY_EFFECT = {
    Effect.NONE: "nothing needs to be done",
    Effect.NARROWS: "keep taking what was taken, or make a new version of the contract",
    Effect.WIDENS: "keep to what was promised, or make a new version of the contract",
    Effect.BOTH: "add the new form beside the old one, or make a new version of the contract",
}
