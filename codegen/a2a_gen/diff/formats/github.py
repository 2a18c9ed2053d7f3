"""For GitHub Actions: annotations at the lines of a pull request."""

from __future__ import annotations

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.formats.text import told
from a2a_gen.diff.report import Report, verdict
from a2a_gen.diff.rules.rule import Level

_WORDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.INFO: "notice"}


def write(report: Report) -> str:
    """Write a report as commands of GitHub Actions."""
    return "".join(f"{line}\n" for line in (*map(_command, report.findings), verdict(report)))


def _command(finding: Finding) -> str:
    text = "\n".join((finding.text, *map(told, finding.witnesses)))
    title = f"{finding.rule.code} {finding.rule.id}"
    return f"::{_WORDS[finding.level]} file={_value(finding.new.file)},line={finding.new.line or 1},title={_value(title)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
