"""JUnit: a test case for every finding; only errors are failures."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from a2a_gen.diff.finding import Finding
from a2a_gen.diff.formats.text import render_witness
from a2a_gen.diff.report import Report, render_verdict
from a2a_gen.diff.rules.rule import ChangeLevel


def render(report: Report) -> str:
    """Render a report as JUnit XML."""
    failures = len(report.findings_at_least(ChangeLevel.ERROR))
    cases = [_render_case(finding) for finding in report.findings] or [
        '    <testcase classname="a2a-gen.diff" name="no changes"/>'
    ]
    head = (
        f'<testsuite name="a2a-gen diff" tests="{len(cases)}" failures="{failures}" errors="0" '
        'skipped="0">'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", f"  {head}"]
    return "\n".join(
        [
            *lines,
            *cases,
            f"    <system-out>{_escape(render_verdict(report))}</system-out>",
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _render_case(finding: Finding) -> str:
    name = quoteattr(
        _drop_unprintable(
            f"{finding.rule.id} {finding.new.file}#{finding.new.pointer} {finding.fingerprint}"
        )
    )
    head = f'    <testcase classname="a2a-gen.diff.{finding.rule.area}" name={name}'
    body = _escape(
        "\n".join(
            (str(finding.new), *map(render_witness, finding.witnesses), f"fix: {finding.rule.cure}")
        )
    )
    if finding.level is ChangeLevel.ERROR:
        return (
            f'{head}>\n      <failure type="{finding.rule.id}" '
            f"message={quoteattr(_drop_unprintable(finding.text))}>{body}</failure>\n    "
            "</testcase>"
        )
    return (
        f"{head}>\n      "
        f"<system-out>{_escape(f'{finding.level}: {finding.text}')}\n{body}</system-out>\n    "
        "</testcase>"
    )


_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _escape(text: str) -> str:
    return escape(_drop_unprintable(text))


def _drop_unprintable(text: str) -> str:
    """Replace characters that XML cannot represent."""
    return _NO_XML.sub("�", text)
