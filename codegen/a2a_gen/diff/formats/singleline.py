"""Single lines: one finding per line, for grep, editors and logs."""

from __future__ import annotations

from a2a_gen.diff.report import Report


def render(report: Report) -> str:
    """Render a report line by line."""
    return "".join(
        f"{each.new.file}:{each.new.line or 1}: {each.level}: {' '.join(each.text.split())} "
        f"[{each.rule.code} {each.rule.id}]"
        f" #{each.new.pointer} {each.fingerprint}\n"
        for each in report.findings
    )
