"""JSON: the complete report, as described by ``schema/meta/diff.schema.json``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from a2a_gen.diff.documents.witness import Witness
from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import Report, render_verdict
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.problems import Place
from a2a_gen.source.json_text import Json

VERSION = 1


def render(report: Report) -> str:
    """Render a report as JSON."""
    levels = [finding.level for finding in report.findings]
    data: dict[str, Json] = {
        "version": VERSION,
        "baseline": report.baseline,
        "verdict": render_verdict(report),
        "compared": report.compared_count,
        "counts": {
            str(level): levels.count(level)
            for level in (ChangeLevel.ERROR, ChangeLevel.WARNING, ChangeLevel.INFO)
        },
        "findings": [_finding_to_json(finding) for finding in report.findings],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _finding_to_json(finding: Finding) -> dict[str, Json]:
    return {
        "rule": finding.rule.id,
        "code": finding.rule.code,
        "area": finding.rule.area,
        "level": str(finding.level),
        "text": finding.text,
        "cure": finding.rule.cure,
        "definition": finding.definition,
        "old": _place_to_json(finding.old),
        "new": _place_to_json(finding.new),
        "roles": _strings_to_json(sorted(role.value for role in finding.usages)),
        "users": _strings_to_json(finding.users),
        "fingerprint": finding.fingerprint,
        "breaks": _strings_to_json(_list_breaks(finding)),
        "witnesses": list(map(_witness_to_json, finding.witnesses)),
        "missing_witness": finding.missing_witness,
    }


def _list_breaks(finding: Finding) -> Iterator[str]:
    if finding.breaks_reading:
        yield "reading"
    if finding.breaks_writing:
        yield "writing"


def _strings_to_json(arguments: Iterable[str]) -> Json:
    return [*arguments]


def _place_to_json(place: Place) -> Json:
    if place.file:
        return {"file": place.file, "line": place.line, "pointer": place.pointer}
    return None


def _witness_to_json(witness: Witness) -> Json:
    return {
        "document": witness.document,
        "definition": witness.definition,
        "accepted_by": "old" if witness.is_newly_refused else "new",
    }
