"""What people are told: a change with its places, its level, whom it concerns, and a witness."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from a2a_gen.diff.change import Change
from a2a_gen.diff.rules.rule import Level, Rule
from a2a_gen.diff.usage import Role
from a2a_gen.diff.witness import Witness
from a2a_gen.problems import Place

PROFILES = ("WIRE", "SOURCE", "FULL", "BACKWARD", "FORWARD")


@dataclass(frozen=True, slots=True)
class Finding:
    """One change, told; ``was_looked_for`` says whether documents could show it at all."""

    rule: Rule
    level: Level
    text: str
    old: Place
    new: Place
    definition: str
    roles: frozenset[Role]
    users: tuple[str, ...]
    fingerprint: str
    witnesses: tuple[Witness, ...] = ()
    breaks_reading: bool = False
    breaks_writing: bool = False
    was_looked_for: bool = False

    @property
    def is_break_without_witness(self) -> bool:
        """Whether documents suffer, and none could be found that shows it."""
        return self.was_looked_for and self.level is Level.ERROR and not self.witnesses


def level(change: Change, roles: frozenset[Role], profile: str) -> Level:
    """Say how bad a change is for those whom a profile looks at: the worst of them counts."""
    levels = change.levels
    seen = [Level.NONE]
    if profile in {"WIRE", "FULL", "BACKWARD"} and Role.READ in roles:
        seen.append(levels.read)
    if profile in {"WIRE", "FULL", "FORWARD"} and Role.WRITTEN in roles:
        seen.append(levels.write)
    if profile in {"SOURCE", "FULL"}:
        seen.append(levels.source)
    return max(seen)


def fingerprint(change: Change) -> str:
    """Name a change so that an approval survives new lines, new words and other commits."""
    old, new = change.old, change.new
    said = "|".join((change.rule.id, *old, *new, *(f"{name}={word}" for name, word in change.words)))
    return hashlib.sha256(said.encode()).hexdigest()[:12]
