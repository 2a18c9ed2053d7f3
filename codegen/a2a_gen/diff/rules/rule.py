"""A rule: one kind of change, its effect, its level for each usage, and its message."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum


class ChangeLevel(IntEnum):
    """Severity of a finding, in ascending order."""

    NONE = 0
    INFO = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


class Effect(Enum):
    """Effect of a change on the set of valid documents."""

    NONE = "none"
    NARROWS = "narrows"
    WIDENS = "widens"
    BOTH = "both"

    @property
    def is_narrowing(self) -> bool:
        """True if documents that were valid may become invalid."""
        return self in {Effect.NARROWS, Effect.BOTH}

    @property
    def is_widening(self) -> bool:
        """True if documents that were invalid may become valid."""
        return self in {Effect.WIDENS, Effect.BOTH}


_LETTERS = {
    "E": ChangeLevel.ERROR,
    "W": ChangeLevel.WARNING,
    "I": ChangeLevel.INFO,
    "-": ChangeLevel.NONE,
}


@dataclass(frozen=True, slots=True)
class ChangeLevels:
    """Levels of a change for schemas that are read, schemas that are written, and generated
    Python.
    """

    read: ChangeLevel
    write: ChangeLevel
    source: ChangeLevel

    @classmethod
    def parse(cls, letters: str) -> ChangeLevels:
        """Parse the three letters of the table, as in ``"E I W"``."""
        return cls(*(_LETTERS[letter] for letter in letters.split()))

    @property
    def letters(self) -> str:
        """The three letters of the table."""
        names = {level: letter for letter, level in _LETTERS.items()}
        return " ".join(names[level] for level in (self.read, self.write, self.source))


@dataclass(frozen=True, slots=True)
class ChangeRule:
    """One kind of change; ``mirror`` is the rule of the reverse change, or ``waiver`` gives the
    reason for its absence.

    ``message`` is formatted with the arguments of a change: ``{name}``, ``{old}``, ``{new}``.
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
"""As a mirror: the rule is its own reverse."""


def define_rule(
    label: str, facts: str, message: str, cure: str = "", *, mirror: str = "", waiver: str = ""
) -> ChangeRule:
    """Define a rule by its code and id, and its area, effect and three letters, as in ``"property
    narrows E I E"``.
    """
    code, identity = label.split()
    area, effect, letters = facts.split(" ", 2)
    mirror = identity if mirror == ITSELF else mirror
    levels = ChangeLevels.parse(letters)
    if (
        Effect(effect) is Effect.NONE
        and max(levels.read, levels.write, levels.source) > ChangeLevel.INFO
    ):
        usual = _DEFAULT_CURE
    else:
        usual = _CURES_BY_EFFECT[Effect(effect)]
    return ChangeRule(
        code, identity, area, Effect(effect), levels, message, cure or usual, mirror, waiver
    )


_DEFAULT_CURE = "restore it, or create a new version of the contract"
_CURES_BY_EFFECT = {
    Effect.NONE: "no action needed",
    Effect.NARROWS: "keep accepting the old documents, or create a new version of the contract",
    Effect.WIDENS: "keep to the old schema, or create a new version of the contract",
    Effect.BOTH: "add the new form beside the old one, or create a new version of the contract",
}
