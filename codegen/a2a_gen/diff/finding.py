"""What people are told: a change with its places, its level, whom it concerns, and a witness."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeRule
from a2a_gen.diff.usage import Usage
from a2a_gen.diff.witness import Witness
from a2a_gen.problems import Place

PROFILES = ("WIRE", "SOURCE", "FULL", "BACKWARD", "FORWARD")


@dataclass(frozen=True, slots=True)
class Finding:
    """One change, told; ``was_looked_for`` says whether documents could show it at all."""

    rule: ChangeRule
    level: ChangeLevel
    text: str
    old: Place
    new: Place
    definition: str
    usages: frozenset[Usage]
    users: tuple[str, ...]
    fingerprint: str
    witnesses: tuple[Witness, ...] = ()
    breaks_reading: bool = False
    breaks_writing: bool = False
    can_have_witness: bool = False

    @property
    def lacks_witness(self) -> bool:
        """Whether documents suffer, and none could be found that shows it."""
        return self.can_have_witness and self.level is ChangeLevel.ERROR and not self.witnesses


def compute_level(change: SchemaChange, usages: frozenset[Usage], profile: str) -> ChangeLevel:
    """Say how bad a change is for those whom a profile looks at: the worst of them counts."""
    levels = change.levels
    seen = [ChangeLevel.NONE]
    if profile in {"WIRE", "FULL", "BACKWARD"} and Usage.READ in usages:
        seen.append(levels.read)
    if profile in {"WIRE", "FULL", "FORWARD"} and Usage.WRITTEN in usages:
        seen.append(levels.write)
    if profile in {"SOURCE", "FULL"}:
        seen.append(levels.source)
    return max(seen)


def compute_fingerprint(change: SchemaChange) -> str:
    """Name a change so that an approval survives new lines, new words and other commits."""
    old, new = change.old, change.new
    said = "|".join((change.rule.id, *old, *new, *(f"{name}={word}" for name, word in change.arguments)))
    return hashlib.sha256(said.encode()).hexdigest()[:12]
