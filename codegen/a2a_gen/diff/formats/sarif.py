"""SARIF 2.1.0: code scanning, with fingerprints that survive moved lines."""

from __future__ import annotations

import json

from a2a_gen import __version__
from a2a_gen.diff.finding import Finding
from a2a_gen.diff.formats.text import render_witness
from a2a_gen.diff.report import Report
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeRule
from a2a_gen.source.json_text import Json

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {
    ChangeLevel.ERROR: "error",
    ChangeLevel.WARNING: "warning",
    ChangeLevel.INFO: "note",
    ChangeLevel.NONE: "none",
}


def render(report: Report) -> str:
    """Render a report as SARIF."""
    rules = {finding.rule.code: finding.rule for finding in report.findings}
    order = sorted(rules)
    driver: dict[str, Json] = {
        "name": "a2a-gen diff",
        "version": __version__,
        "rules": [_rule_to_json(rules[code]) for code in order],
    }
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            _result_to_json(finding, order.index(finding.rule.code)) for finding in report.findings
        ],
    }
    return (
        json.dumps(
            {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False
        )
        + "\n"
    )


def _rule_to_json(rule: ChangeRule) -> Json:
    worst = max(rule.levels.read, rule.levels.write, rule.levels.source)
    return {
        "id": rule.code,
        "name": rule.id,
        "shortDescription": {"text": rule.message.format(name="…", old="…", new="…")},
        "help": {"text": rule.cure},
        "defaultConfiguration": {"level": _LEVELS[worst]},
        "properties": {"area": rule.area, "effect": rule.effect.value},
    }


def _result_to_json(finding: Finding, index: int) -> Json:
    place: dict[str, Json] = {
        "artifactLocation": {"uri": finding.new.file},
        "region": {"startLine": finding.new.line or 1},
    }
    return {
        "ruleId": finding.rule.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.level],
        "message": {"text": "\n".join((finding.text, *map(render_witness, finding.witnesses)))},
        "locations": [
            {
                "physicalLocation": place,
                "logicalLocations": [
                    {"fullyQualifiedName": f"{finding.new.file}#{finding.new.pointer}"}
                ],
            }
        ],
        "partialFingerprints": {"a2aGenChange/v1": finding.fingerprint},
    }
