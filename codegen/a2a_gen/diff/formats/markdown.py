"""Markdown: a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.formats.text import render_document, render_witness
from a2a_gen.diff.report import Report, render_counts, render_verdict
from a2a_gen.diff.rules.rule import ChangeLevel

_SIGNS = {ChangeLevel.ERROR: "🔴", ChangeLevel.WARNING: "🟡", ChangeLevel.INFO: "⚪"}


def render(report: Report) -> str:
    """Render a report as Markdown: a table, with the witnesses folded below it."""
    lines = ["## Contract changes", "", f"**{_escape(render_verdict(report))}**", ""]
    important = [each for each in report.findings if each.level >= ChangeLevel.WARNING]
    rest = [each for each in report.findings if each.level < ChangeLevel.WARNING]
    if important:
        lines += [
            "| | change | location | rule |",
            "|---|---|---|---|",
            *map(_render_row, important),
            "",
        ]
    lines += _render_witnesses(important)
    if rest:
        lines += [
            "<details><summary>Changes without effect on clients</summary>",
            "",
            "| | change | location | rule |",
            "|---|---|---|---|",
        ]
        lines += [*map(_render_row, rest), "", "</details>", ""]
    return "\n".join([*lines, render_counts(report.findings), ""])


def _render_row(finding: Finding) -> str:
    where = f"`{finding.new.file}:{finding.new.line}` {_escape(finding.definition)}"
    return (
        f"| {_SIGNS[finding.level]} | {_escape(finding.text)} | {where} | `{finding.rule.code}` "
        f"{finding.rule.id} |"
    )


def _render_witnesses(findings: list[Finding]) -> Iterator[str]:
    with_one = [finding for finding in findings if finding.witnesses or finding.missing_witness]
    if not with_one:
        return
    yield from ("<details><summary>Witnesses: documents that show a break</summary>", "")
    for finding in with_one:
        yield f"- {_escape(finding.text)} (`{finding.rule.id}`)"
        for witness in finding.witnesses:
            yield f"  - {_escape(render_witness(witness).removesuffix(render_document(witness)))}"
            yield from (
                "    ```json",
                f"    {render_document(witness).replace('```', '` ``')}",
                "    ```",
            )
        if finding.missing_witness:
            yield f"  - {finding.missing_witness}"
    yield from ("", "</details>", "")


# An entity where Markdown has no escape: it begins markup, makes a mention or ends a cell.
_ENTITIES = {"<": "&lt;", ">": "&gt;", "@": "&#64;", "|": "&#124;"}
_ESCAPES = str.maketrans({each: f"\\{each}" for each in "\\`*_{}[]#"} | _ENTITIES)


def _escape(text: str) -> str:
    """Escape schema text that Markdown would interpret as table, markup or mention."""
    # All at once: an entity has a `#` of its own, which stays.
    return " ".join(text.translate(_ESCAPES).split())
