"""Findings: a change with its places, its level, its users and its witnesses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from a2a_gen.diff.change import SchemaChange
from a2a_gen.diff.documents.witness import Witness
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeRule
from a2a_gen.diff.usage import Usage
from a2a_gen.problems import Place

PROFILES = ("WIRE", "SOURCE", "FULL", "BACKWARD", "FORWARD")
READ_PROFILES = frozenset({"WIRE", "FULL", "BACKWARD"})
WRITE_PROFILES = frozenset({"WIRE", "FULL", "FORWARD"})
STRICT_PROFILES = frozenset({"FULL"})
"""Profiles of which an undecided change is an error: nothing unproven is safe."""
SOURCE_PROFILES = frozenset({"SOURCE", "FULL"})


@dataclass(frozen=True, slots=True)
class Finding:
    """One reported change."""

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
    missing_witness: str = ""
    """Why no document shows an error of documents."""

    @property
    def lacks_witness(self) -> bool:
        """True if a document should show the break and none was found."""
        return self.can_have_witness and self.level is ChangeLevel.ERROR and not self.witnesses


def compute_level(change: SchemaChange, usages: frozenset[Usage], profile: str) -> ChangeLevel:
    """Return the level of a change for a profile: the highest of the usages that the profile
    includes; at most info if nothing uses it.
    """
    levels = change.levels
    if not usages and profile not in SOURCE_PROFILES:
        return min(ChangeLevel.INFO, max(levels.read, levels.write))
    relevant = [ChangeLevel.NONE]
    if profile in READ_PROFILES and Usage.READ in usages:
        relevant.append(levels.read)
    if profile in WRITE_PROFILES and Usage.WRITTEN in usages:
        relevant.append(levels.write)
    if profile in SOURCE_PROFILES:
        relevant.append(levels.source)
    return max(relevant)


def compute_fingerprint(change: SchemaChange) -> str:
    """Hash a change; the fingerprint survives moved lines, reworded messages and other commits."""
    old = change.old
    new = change.new
    identity = "|".join(
        (change.rule.id, *old, *new, *(f"{name}={value}" for name, value in change.arguments))
    )
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge the findings of one change, which several definitions or baselines may have; the
    highest level counts.
    """
    merged: dict[str, Finding] = {}
    for finding in findings:
        known = merged.get(finding.fingerprint)
        if known is None:
            merged[finding.fingerprint] = finding
        else:
            merged[finding.fingerprint] = _merge(
                *sorted((known, finding), key=lambda each: -each.level)
            )
    return tuple(merged.values())


def _merge(first: Finding, other: Finding) -> Finding:
    witnesses = first.witnesses or (other.witnesses if other.level is first.level else ())
    return replace(
        first,
        usages=first.usages | other.usages,
        users=tuple(sorted({*first.users, *other.users})),
        witnesses=witnesses,
        breaks_reading=first.breaks_reading or other.breaks_reading,
        breaks_writing=first.breaks_writing or other.breaks_writing,
        missing_witness="" if witnesses else first.missing_witness,
    )
