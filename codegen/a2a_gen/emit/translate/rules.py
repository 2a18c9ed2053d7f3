"""The closed set of translation rules, and the collector of problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from a2a_gen.problems import Place, Problem


class Direction(StrEnum):
    """The direction of a translation: reading makes ours of theirs, writing makes theirs of
    ours.
    """

    READ = "read"
    WRITE = "write"


BOTH: Final = frozenset(Direction)
READ_ONLY: Final = frozenset({Direction.READ})
WRITE_ONLY: Final = frozenset({Direction.WRITE})


@dataclass(frozen=True, slots=True)
class RuleKind:
    """One kind of rule: the directions in which it carries a value whole, and those in which it
    creates one or carries a part.
    """

    carries: frozenset[Direction]
    sets: frozenset[Direction] = frozenset()


RULE_KINDS: Final[Mapping[str, RuleKind]] = {
    "rename": RuleKind(carries=BOTH, sets=BOTH),
    "not": RuleKind(carries=BOTH, sets=BOTH),
    "wrap": RuleKind(carries=BOTH, sets=BOTH),
    "only": RuleKind(carries=WRITE_ONLY, sets=BOTH),
    "resource": RuleKind(carries=BOTH, sets=BOTH),
    "milliseconds": RuleKind(carries=BOTH, sets=BOTH),
    "entry": RuleKind(carries=READ_ONLY, sets=BOTH),
    "derive": RuleKind(carries=BOTH, sets=BOTH),
    "state": RuleKind(carries=frozenset(), sets=WRITE_ONLY),
    "position": RuleKind(carries=frozenset(), sets=WRITE_ONLY),
    "constant": RuleKind(carries=frozenset(), sets=WRITE_ONLY),
    "fresh": RuleKind(carries=frozenset(), sets=READ_ONLY),
}
BRANCHES: Final = frozenset({"branch", "flat"})


class TranslationProblems:
    """Collects the problems of a dialect's translations without duplicates."""

    def __init__(self) -> None:
        self._problems: dict[Problem, None] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the problems found so far."""
        return tuple(self._problems)

    def add(self, place: Place, rule: str, text: str, cure: str) -> None:
        """Add a problem; ``rule`` is its stable id."""
        self._problems[Problem(place, rule, text, cure)] = None
