"""GitHub Actions: annotations at the lines of a pull request."""

from __future__ import annotations

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.formats.text import render_witness
from a2a_gen.diff.report import Report, render_verdict
from a2a_gen.diff.rules.rule import ChangeLevel

_WORDS = {ChangeLevel.ERROR: "error", ChangeLevel.WARNING: "warning", ChangeLevel.INFO: "notice"}


def render(report: Report) -> str:
    """Render a report as workflow commands of GitHub Actions."""
    return "".join(
        f"{line}\n" for line in (*map(_render_command, report.findings), render_verdict(report))
    )


def _render_command(finding: Finding) -> str:
    text = _escape_data("\n".join((finding.text, *map(render_witness, finding.witnesses))))
    file = _escape_value(finding.new.file)
    title = _escape_value(f"{finding.rule.code} {finding.rule.id}")
    return (
        f"::{_WORDS[finding.level]} file={file},line={finding.new.line or 1},title={title}::{text}"
    )


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_value(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
