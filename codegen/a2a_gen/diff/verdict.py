"""The answer in words, above everything else: can the new version be deployed while clients of the old one live?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.gate import Report
from a2a_gen.diff.roles import Role
from a2a_gen.diff.rules.rule import Level

_MOST_NAMED = 6
_CALLS = frozenset({"operation", "agent", "proto", "state"})


def verdict(report: Report) -> str:
    """Say in a sentence or two what the findings mean for those who rely on the old version."""
    errors, warnings = report.at_least(Level.ERROR), [each for each in report.findings if each.level is Level.WARNING]
    wire = [each for each in errors if each.breaks_reading or each.breaks_writing]
    old = f"clients of {report.baseline}" if report.baseline else "clients of the old version"
    if wire:
        return f"Not safe to deploy while {old} live: {_reasons(wire)}.{_concerned(wire)}"
    if errors:
        return f"Safe on the wire while {old} live, but Python code that uses what is generated must change ({_count(len(errors), 'place')})."
    if warnings:
        return f"Probably safe to deploy while {old} live; {_count(len(warnings), 'change')} may be noticed: look at the warnings."
    if report.findings:
        return f"Safe to deploy while {old} live: everything that changed is an addition or makes no difference to them."
    return f"Safe to deploy while {old} live: nothing changed for them."


def counts(findings: Iterable[Finding]) -> str:
    """Count findings by their level."""
    found = Counter(finding.level for finding in findings)
    return ", ".join(_count(found[level], str(level)) for level in (Level.ERROR, Level.WARNING)) + f", {found[Level.INFO]} info"


def _reasons(wire: list[Finding]) -> str:
    calls = [each for each in wire if each.rule.area in _CALLS]
    documents = [each for each in wire if each.rule.area not in _CALLS]
    reading, writing = sum(each.breaks_reading for each in documents), sum(each.breaks_writing for each in documents)
    reasons: list[str] = []
    if calls:
        reasons.append(f"what they call or rely on is not what it was ({_count(len(calls), 'change')})")
    if reading:
        reasons.append(f"documents that they send would be refused ({_count(reading, 'change')})")
    if writing:
        reasons.append(f"they would get documents that they refuse ({_count(writing, 'change')})")
    return ", and ".join(reasons)


def _concerned(wire: list[Finding]) -> str:
    users = sorted({user for each in wire for user in each.users})
    if not users:
        return ""
    shown = ", ".join(users[:_MOST_NAMED])
    return f" Concerned: {shown}{f' and {len(users) - _MOST_NAMED} more' if len(users) > _MOST_NAMED else ''}."


def ways(finding: Finding) -> str:
    """Say in which ways a definition is used."""
    return " and ".join(role.value for role in (Role.READ, Role.WRITTEN) if role in finding.roles)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
