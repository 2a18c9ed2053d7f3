"""The closed set of rules, and the problems that a table of translations can have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from a2a_gen.problems import Place, Problem


class Direction(StrEnum):
    """Which way a translation goes: reading makes ours of theirs, writing makes theirs of ours."""

    READ = "read"
    WRITE = "write"


BOTH: Final = frozenset(Direction)
READ_ONLY: Final = frozenset({Direction.READ})
WRITE_ONLY: Final = frozenset({Direction.WRITE})


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of rule: the directions in which it carries a value whole, and those in which it makes one up or carries a part."""

    carries: frozenset[Direction]
    sets: frozenset[Direction] = frozenset()


KINDS: Final[Mapping[str, Kind]] = {
    "rename": Kind(carries=BOTH, sets=BOTH),
    "not": Kind(carries=BOTH, sets=BOTH),
    "wrap": Kind(carries=BOTH, sets=BOTH),
    "only": Kind(carries=WRITE_ONLY, sets=BOTH),
    "resource": Kind(carries=BOTH, sets=BOTH),
    "milliseconds": Kind(carries=BOTH, sets=BOTH),
    "entry": Kind(carries=READ_ONLY, sets=BOTH),
    "derive": Kind(carries=BOTH, sets=BOTH),
    "state": Kind(carries=frozenset(), sets=WRITE_ONLY),
    "json": Kind(carries=frozenset(), sets=WRITE_ONLY),
    "position": Kind(carries=frozenset(), sets=WRITE_ONLY),
    "constant": Kind(carries=frozenset(), sets=WRITE_ONLY),
    "fresh": Kind(carries=frozenset(), sets=READ_ONLY),
}
BRANCHES: Final = frozenset({"branch", "flat"})


class Report:
    """Collects what is wrong with the translations of a dialect; a thing found twice is said once."""

    def __init__(self) -> None:
        self._problems: dict[Problem, None] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything found so far."""
        return tuple(self._problems)

    def add(self, place: Place, rule: str, text: str, cure: str) -> None:
        """Note one problem; ``rule`` is its stable name."""
        self._problems[Problem(place, rule, text, cure)] = None
