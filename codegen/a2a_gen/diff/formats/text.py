"""For people at a terminal: the verdict, then findings by definition, each with its place, its witness and its cure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import Report, counts, verdict, ways
from a2a_gen.diff.rules.rule import Level
from a2a_gen.diff.witness import Witness

_LONGEST = 400


def write(report: Report) -> str:
    """Write a report for people."""
    lines = [verdict(report)]
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.new.file, finding.definition), []).append(finding)
    for (file, definition), findings in groups.items():
        lines += ["", f"{definition} ({file})", *(line for finding in findings for line in _finding(finding))]
    return "\n".join([*lines, "", counts(report.findings), ""])


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {finding.level}: {finding.text} [{finding.rule.code} {finding.rule.id}]"
    yield f"      at {finding.new}"
    if finding.users:
        yield f"      {ways(finding)}: {', '.join(finding.users[:8])}"
    for witness in finding.witnesses:
        yield f"      {told(witness)}"
    if finding.is_break_without_witness:
        yield "      no document was found that shows it"
    if finding.level is Level.ERROR:
        yield f"      fix: {finding.rule.cure}"


def told(witness: Witness) -> str:
    """Tell of a witness in one line."""
    document = shown(witness)
    of = f" of {witness.definition}" if witness.definition else ""
    return f"was accepted{of} and is refused now: {document}" if witness.was_taken else f"was never sent{of} and may be now: {document}"


def shown(witness: Witness) -> str:
    """Write a document in one line, and not more of it than anybody reads."""
    document = json.dumps(witness.document, ensure_ascii=False)
    return document if len(document) <= _LONGEST else f"{document[:_LONGEST]}… ({len(document)} characters)"
