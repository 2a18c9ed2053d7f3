"""For programs: everything in a report; ``schema/meta/diff.schema.json`` is its schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import Report, verdict
from a2a_gen.diff.rules.rule import Level
from a2a_gen.problems import Place
from a2a_gen.source.json_text import Json

VERSION = 1


def write(report: Report) -> str:
    """Write a report as JSON."""
    levels = [finding.level for finding in report.findings]
    data: dict[str, Json] = {
        "version": VERSION,
        "baseline": report.baseline,
        "verdict": verdict(report),
        "compared": report.compared,
        "counts": {str(level): levels.count(level) for level in (Level.ERROR, Level.WARNING, Level.INFO)},
        "findings": [_finding(finding) for finding in report.findings],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Json]:
    return {
        "rule": finding.rule.id,
        "code": finding.rule.code,
        "area": finding.rule.area,
        "level": str(finding.level),
        "text": finding.text,
        "cure": finding.rule.cure,
        "definition": finding.definition,
        "old": _place(finding.old),
        "new": _place(finding.new),
        "roles": _texts(sorted(role.value for role in finding.roles)),
        "users": _texts(finding.users),
        "fingerprint": finding.fingerprint,
        "breaks": _texts(_breaks(finding)),
        "witnesses": [
            {"document": witness.document, "definition": witness.definition, "accepted_by": "old" if witness.was_taken else "new"}
            for witness in finding.witnesses
        ],
    }


def _breaks(finding: Finding) -> Iterator[str]:
    if finding.breaks_reading:
        yield "reading"
    if finding.breaks_writing:
        yield "writing"


def _texts(words: Iterable[str]) -> Json:
    return [*words]


def _place(place: Place) -> Json:
    return {"file": place.file, "line": place.line, "pointer": place.pointer} if place.file else None
