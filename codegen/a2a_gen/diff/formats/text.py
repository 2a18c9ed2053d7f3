"""Text: the verdict, then findings by definition, each with its place, witness and cure."""

from __future__ import annotations

import json
from collections.abc import Iterator

from a2a_gen.diff.documents.witness import Witness
from a2a_gen.diff.finding import Finding
from a2a_gen.diff.report import Report, render_counts, render_usages, render_verdict
from a2a_gen.diff.rules.rule import ChangeLevel

_MAX_DOCUMENT_LENGTH = 400


def render(report: Report) -> str:
    """Render a report for a terminal."""
    lines = [render_verdict(report)]
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.new.file, finding.definition), []).append(finding)
    for (file, definition), findings in groups.items():
        lines += ["", f"{definition} ({file})"]
        for finding in findings:
            lines += _render_finding(finding)
    return "\n".join([*lines, "", render_counts(report.findings), ""])


def _render_finding(finding: Finding) -> Iterator[str]:
    yield f"  {finding.level}: {finding.text} [{finding.rule.code} {finding.rule.id}]"
    yield f"      at {finding.new}"
    if finding.users:
        yield f"      {render_usages(finding)}: {', '.join(finding.users[:8])}"
    for witness in finding.witnesses:
        yield f"      {render_witness(witness)}"
    if finding.missing_witness:
        yield f"      {finding.missing_witness}"
    if finding.level is ChangeLevel.ERROR:
        yield f"      fix: {finding.rule.cure}"


def render_witness(witness: Witness) -> str:
    """Render a witness in one line."""
    document = render_document(witness)
    name = f" as {witness.definition}" if witness.definition else ""
    if witness.is_newly_refused:
        return f"was accepted{name}, now rejected: {document}"
    return f"was never sent{name}, may be sent now: {document}"


def render_document(witness: Witness) -> str:
    """Render a document in one line, truncated to a readable length."""
    document = json.dumps(witness.document, ensure_ascii=False)
    if len(document) <= _MAX_DOCUMENT_LENGTH:
        return document
    return f"{document[:_MAX_DOCUMENT_LENGTH]}… ({len(document)} characters)"
