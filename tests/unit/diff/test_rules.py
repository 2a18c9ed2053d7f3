"""Every rule by example: the files in `tests/rules`, and invariants of the rule table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from unit.diff.sides import read_versions

from a2a_gen.diff.formats.text import render_witness
from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.rules.document import render_document
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeRule
from a2a_gen.diff.rules.table import TABLE
from a2a_gen.diff.sides import build_side
from a2a_gen.source.revision_files import read_folder

TESTS = Path(__file__).parents[2]
RULES = TESTS / "rules"
SMALLEST = TESTS / "cases" / "smallest" / "input" / "schema"
NAMES = sorted(path.stem for path in RULES.glob("*.json"))


def compare_example(rule: str, version: str) -> Report:
    """Compare a version with the previous one."""
    versions = read_versions(rule)
    blobs = [versions[name] for name in ("previous", version)]
    if not any({"schema.json", "card.json"} & set(each) for each in blobs):
        blobs = [{**read_folder(SMALLEST), **each} for each in blobs]
    old, new = (
        build_side(each, label=name)
        for each, name in zip(blobs, ("previous", version), strict=True)
    )
    return compare(old, new, CompareOptions("FULL", include_docs=rule == "doc-changed"))


def render_findings(report: Report) -> list[str]:
    """Render findings as the lines that the examples hold."""
    lines: list[str] = []
    for finding in report.findings:
        lines.append(f"{finding.level} {finding.rule.id} {finding.new}: {finding.text}")
        lines += [f"    {render_witness(witness)}" for witness in finding.witnesses]
        lines += ["    no document was found that shows it"] if finding.lacks_witness else []
    return lines


@pytest.mark.parametrize("rule", NAMES)
@pytest.mark.parametrize("version", ["current", "allowed"])
def test_a_rule_by_example(
    rule: str,
    version: str,
    update: bool,  # noqa: FBT001 - a fixture
) -> None:
    """A rule yields exactly the findings and witnesses in its file, and is silent about the allowed
    version.
    """
    report = compare_example(rule, version)
    lines = render_findings(report)
    path = RULES / f"{rule}.json"
    example = json.loads(path.read_bytes())
    if update:
        example["findings"][version] = lines
        path.write_text(json.dumps(example, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert lines == example["findings"][version]
    assert (rule in {finding.rule.id for finding in report.findings}) == (version == "current")


def test_every_rule_has_an_example() -> None:
    """Every rule has a file, and every file a rule."""
    assert set(NAMES) == set(TABLE)


@pytest.mark.parametrize("rule", TABLE.values(), ids=lambda rule: rule.id)
def test_a_rule_has_a_mirror_or_a_waiver(rule: ChangeRule) -> None:
    """The reverse of a change has a rule too, or the rule gives the reason why not."""
    assert bool(rule.mirror) != bool(rule.waiver)
    assert not rule.mirror or TABLE[rule.mirror].mirror or TABLE[rule.mirror].waiver


def test_codes_and_ids_are_stable_names() -> None:
    """Codes are `A2A` and three digits, ids are kebab-case, and no two rules share either."""
    rules = list(TABLE.values())
    assert all(
        re.fullmatch(r"A2A\d{3}", rule.code) and re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
        for rule in rules
    )
    assert len({rule.code for rule in rules}) == len(rules)


@pytest.mark.parametrize(
    "rule", [rule for rule in TABLE.values() if rule.area != "policy"], ids=lambda rule: rule.id
)
def test_levels_follow_from_effects(rule: ChangeRule) -> None:
    """A change that only narrows is no error for written schemas, and one that only widens is none
    for read schemas.
    """
    assert (
        rule.effect.is_widening
        or rule.effect.value == "none"
        or rule.levels.write < ChangeLevel.ERROR
        or rule.area in {"agent", "operation", "property"}
    )
    assert (
        rule.effect.is_narrowing
        or rule.effect.value == "none"
        or rule.levels.read < ChangeLevel.ERROR
    )


def test_the_page_of_rules_is_generated_from_the_table() -> None:
    """`docs/rules.md` is the output of `python -m a2a_gen.diff.rules.document`."""
    assert (TESTS.parent / "docs" / "rules.md").read_text(encoding="utf-8") == render_document()
