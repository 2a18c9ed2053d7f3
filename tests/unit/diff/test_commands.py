"""`a2a-gen diff` and `a2a-gen check --against` on the command line: forms of output, approvals, exit codes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema_rs
import pytest
from unit.diff.sides import CARD, ROOT, RULES, Run, twins

from a2a_gen.diff.formats import FORMATS


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rule", ["const-changed", "union-branch-added", "skill-removed", "property-added-optional"])
def test_every_form_of_output(run: Run, form: str, rule: str) -> None:
    """Every form names the rule and the file, and ends with the same exit code."""
    code, said, _ = run("diff", *twins(rule), "--format", form)
    assert code == (0 if rule == "property-added-optional" else 1)
    assert rule in said
    assert str(twins(rule)[1].relative_to(ROOT)) in said or "card.json" in said
    if form == "json":
        schema = json.loads((ROOT / "schema" / "meta" / "diff.schema.json").read_bytes())
        jsonschema_rs.validate(schema, json.loads(said))
    if form == "sarif":
        result = json.loads(said)["runs"][0]["results"][0]
        assert set(result) == {"ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"}
    if form == "junit":
        assert ET.fromstring(said).find("testsuite").get("failures") in {"0", "1"}  # noqa: S314 - our own output


def test_annotations_stand_at_the_line_of_the_new_file(run: Run) -> None:
    """The file, line and pointer are those of the new version."""
    old, new = twins("bound-tightened")
    said = run("diff", old, new, "--format", "github")[1]
    line = next(index for index, text in enumerate((new / "schema.json").read_text().splitlines(), 1) if "minLength" in text)
    assert f"current/schema.json,line={line},title=A2A060 bound-tightened::minLength went from 1 to 3" in said


@pytest.mark.parametrize(("level", "codes"), [("error", (1, 0, 0)), ("warning", (1, 1, 0)), ("info", (1, 1, 1)), ("none", (0, 0, 0))], ids=str)
def test_fail_on(run: Run, level: str, codes: tuple[int, ...]) -> None:
    """`--fail-on` is the mildest finding that ends with 1."""
    rules = ("bound-tightened", "bound-set", "property-added-optional")
    assert tuple(run("diff", *twins(rule), "--fail-on", level)[0] for rule in rules) == codes


@pytest.mark.parametrize(
    ("profile", "code"),
    [("BACKWARD", 1), ("FORWARD", 0), ("WIRE", 1), ("SOURCE", 0), ("FULL", 1), ("BACKWARD_TRANSITIVE", 1)],
    ids=str,
)
def test_profiles(run: Run, profile: str, code: int) -> None:
    """A profile says who counts: what narrows hurts those whose documents are read."""
    assert run("diff", *twins("bound-tightened"), "--profile", profile)[0] == code


def test_approvals(run: Run, tmp_path: Path) -> None:
    """A finding that is approved is gone; approvals without a reason are refused, and those that are over or fit nothing are reported."""
    file = tmp_path / "approved.toml"
    words = ("diff", *twins("bound-tightened"), "--ignore", file)
    assert run(*words, "--write-ignore")[0] == 1
    code, _, complaint = run(*words)
    assert (code, "has no reason" in complaint) == (2, True)
    file.write_text(file.read_text().replace('reason = ""', 'reason = "Nobody sends less."'))
    assert run(*words)[0] == 0
    good = file.read_text()
    file.write_text(good + 'until = 2020-01-01\n[[ignore]]\nrule = "type-changed"\npath = "nowhere.json"\nreason = "An old one."\n')
    code, _, notes = run(*words)
    assert code == 1
    assert "is over since 2020-01-01" in notes
    assert "type-changed nowhere.json fits no finding: delete it" in notes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[ignore]]\nreason = 'x'\n", "does not say which change it means"),
        ("[[ignore]]\nrule = 'no-such-rule'\npath = 'x'\nreason = 'x'\n", "there is no rule no-such-rule"),
        ("[[ignore]]\nfingerprint = 'x'\nreason = 'x'\nuntil = 'soon'\n", "until is no day"),
        ("[[ignore]]\nwhy = 'x'\n", "keys that mean nothing here"),
        ("ignored = 1\n", "keys beside [[ignore]]"),
        ("[[", "cannot be read"),
    ],
    ids=["nothing", "rule", "day", "key", "table", "toml"],
)
def test_approvals_that_are_none(run: Run, tmp_path: Path, text: str, complaint: str) -> None:
    """A file of approvals with a mistake ends with 2 and says which entry is wrong."""
    file = tmp_path / "approved.toml"
    file.write_text(text)
    code, _, said = run("diff", *twins("bound-tightened"), "--ignore", file)
    assert code == 2
    assert complaint in said


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["diff"], "name what to compare with"),
        (["diff", "a", "b", "c"], "name what to compare with"),
        (["diff", str(RULES / "bound-set"), str(RULES / "bound-set" / "nothing")], "there is no"),
        (["diff", str(CARD / "previous"), str(RULES / "bound-set" / "current")], "compare like with like"),
    ],
    ids=["none", "three", "missing", "unlike"],
)
def test_wrong_use(run: Run, words: list[str], complaint: str) -> None:
    """Wrong use never ends with 0."""
    code, _, said = run(*words)
    assert code in {2, 3}
    assert complaint in said


@pytest.mark.parametrize(
    ("text", "rule"),
    [('{"$defs": {"A": {"$ref": "#/$defs/B"}}}', "A2A-R02"), ("{", "A2A-S06"), ('{"$ref": "other.json"}', "A2A-R02")],
    ids=["dangling", "no-json", "no-file"],
)
def test_schemas_that_are_none(run: Run, tmp_path: Path, text: str, rule: str) -> None:
    """A new side that cannot be understood ends with 2 and names the place."""
    (tmp_path / "thing.json").write_text(text)
    code, _, said = run("diff", twins("bound-set")[0], tmp_path, "--plain")
    assert (code, rule in said) == (2, True)


def test_an_agent_with_skills(run: Run, tmp_path: Path) -> None:
    """The schemas of skills are compared in their roles: an input must not narrow, an output must not widen."""
    project = (
        '[agent]\nname = "Cook"\ndescription = "Cooks."\nversion = "{version}"\n[skills.bake]\ndescription = "Bakes."\ninput = "s.json#/$defs/In"\n'
    )
    for name, version, kind in (("old", "1.0.0", "number"), ("new", "1.1.0", "integer")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a2a.toml").write_text(project.format(version=version) + 'output = "s.json#/$defs/Out"\n')
        definitions = {"In": {"type": kind}, "Out": {"type": kind}}
        (tmp_path / name / "s.json").write_text(json.dumps({"$defs": definitions}))
    code, said, _ = run("diff", tmp_path / "old", tmp_path / "new")
    assert code == 1
    assert "was accepted of In and is refused now: 0.5" in said
    assert "Concerned: bake." in said
    assert said.count("error: ") == 1
    assert "major-not-bumped" in said
    (tmp_path / "new" / "a2a.toml").write_text((tmp_path / "new" / "a2a.toml").read_text() + '[skills.fry]\ndescription = "Fries."\ntags = ["}]"]\n')
    assert "new/a2a.toml:9 #/skills/fry" in run("diff", tmp_path / "old", tmp_path / "new")[1]


@pytest.mark.usefixtures("project")
def test_check_is_stale_output_lint_and_gate_in_one(run: Run) -> None:
    """`check --against` ends with 1 for a break as for stale output, and with 0 when nothing is wrong."""
    assert run("build")[0] == 0
    assert run("check")[0] == 0
    code, said, _ = run("check", "--against", "v1.0.0")
    assert (code, "bound-tightened" in said) == (1, True)
    assert run("check", "--against", "v1.0.0", "--fail-on", "none")[0] == 0
