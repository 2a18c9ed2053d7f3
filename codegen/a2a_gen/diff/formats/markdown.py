"""For a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.formats.text import shown, told
from a2a_gen.diff.report import Report, counts, verdict
from a2a_gen.diff.rules.rule import Level

_SIGNS = {Level.ERROR: "🔴", Level.WARNING: "🟡", Level.INFO: "⚪"}


def write(report: Report) -> str:
    """Write a report as Markdown: a table, and the witnesses folded away below it."""
    lines = ["## Contract changes", "", f"**{_plain(verdict(report))}**", ""]
    important = [each for each in report.findings if each.level >= Level.WARNING]
    rest = [each for each in report.findings if each.level < Level.WARNING]
    if important:
        lines += ["| | what | where | rule |", "|---|---|---|---|", *map(_row, important), ""]
    lines += _witnesses(important)
    if rest:
        lines += ["<details><summary>Changes that harm nobody</summary>", "", "| | what | where | rule |", "|---|---|---|---|"]
        lines += [*map(_row, rest), "", "</details>", ""]
    return "\n".join([*lines, counts(report.findings), ""])


def _row(finding: Finding) -> str:
    where = f"`{finding.new.file}:{finding.new.line}` {_plain(finding.definition)}"
    return f"| {_SIGNS[finding.level]} | {_plain(finding.text)} | {where} | `{finding.rule.code}` {finding.rule.id} |"


def _witnesses(findings: list[Finding]) -> Iterator[str]:
    with_one = [finding for finding in findings if finding.witnesses or finding.is_break_without_witness]
    if not with_one:
        return
    yield from ("<details><summary>Documents that show it</summary>", "")
    for finding in with_one:
        yield f"- {_plain(finding.text)} (`{finding.rule.id}`)"
        for witness in finding.witnesses:
            yield f"  - {_plain(told(witness).removesuffix(shown(witness)))}"
            yield from ("    ```json", f"    {shown(witness).replace('```', '` ``')}", "    ```")
        if finding.is_break_without_witness:
            yield "  - no document was found that shows it"
    yield from ("", "</details>", "")


def _plain(text: str) -> str:
    """Keep what a schema says from becoming a part of the table or a mention."""
    for character in "\\`*_{}[]<>|@#":
        text = text.replace(
            character, f"\\{character}" if character not in "<>@|" else {"<": "&lt;", ">": "&gt;", "@": "&#64;", "|": "&#124;"}[character]
        )
    return " ".join(text.split())
