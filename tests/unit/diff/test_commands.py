"""`a2a-gen diff` and `a2a-gen check --against` on the command line: output formats, ignore files,
exit codes.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema_rs
import pytest
from unit.diff.sides import CARD, ROOT, Run, build_plain_side, diff, lay_out_versions

from a2a_gen.diff.formats import FORMATS


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "rule", ["const-changed", "union-branch-added", "skill-removed", "property-added-optional"]
)
def test_every_output_format(run: Run, form: str, rule: str, tmp_path: Path) -> None:
    """Every format has the rule and the file, and the exit code is the same."""
    old, new = lay_out_versions(rule, tmp_path)
    code, output, _ = run("diff", old, new, "--format", form)
    assert code == (0 if rule == "property-added-optional" else 1)
    assert rule in output
    assert str(new) in output or "card.json" in output
    if form == "json":
        schema = json.loads((ROOT / "schema" / "meta" / "diff.schema.json").read_bytes())
        jsonschema_rs.validate(schema, json.loads(output))
    if form == "sarif":
        (report,) = json.loads(output)["runs"]
        assert [
            rule
            for rule in report["tool"]["driver"]["rules"]
            if "{" in rule["shortDescription"]["text"]
        ] == []
        result = report["results"][0]
        assert set(result) == {
            "ruleId",
            "ruleIndex",
            "level",
            "message",
            "locations",
            "partialFingerprints",
        }
    if form == "junit":
        # The output is our own.
        assert ET.fromstring(output).find("testsuite").get("failures") in {"0", "1"}  # noqa: S314


def test_text_of_a_schema_is_no_markdown() -> None:
    """A name makes no mention, ends no cell and shows its own signs, each escaped once."""
    hostile = "@ops|<b>#1*"
    old = build_plain_side(Kind={"const": "plain"})
    output = FORMATS["markdown"](diff(old, build_plain_side(Kind={"const": hostile})))
    assert r"&#64;ops&#124;&lt;b&gt;\#1\*" in output


def test_annotations_are_at_the_line_of_the_new_file(run: Run, tmp_path: Path) -> None:
    """The file, line and pointer are those of the revision."""
    old, new = lay_out_versions("bound-tightened", tmp_path)
    output = run("diff", old, new, "--format", "github")[1]
    line = next(
        index
        for index, text in enumerate((new / "schema.json").read_text().splitlines(), 1)
        if "minLength" in text
    )
    assert (
        f"current/schema.json,line={line},title=A2A060 bound-tightened::minLength changed "
        "from 1 to 3"
    ) in output


@pytest.mark.parametrize(
    ("level", "codes"),
    [("error", (1, 0, 0)), ("warning", (1, 1, 0)), ("info", (1, 1, 1)), ("none", (0, 0, 0))],
    ids=str,
)
def test_fail_on(run: Run, level: str, codes: tuple[int, ...], tmp_path: Path) -> None:
    """`--fail-on` is the lowest level that ends with 1."""
    rules = ("bound-tightened", "default-changed", "property-added-optional")
    assert (
        tuple(
            run("diff", *lay_out_versions(rule, tmp_path), "--fail-on", level)[0] for rule in rules
        )
        == codes
    )


@pytest.mark.parametrize(
    ("profile", "code"),
    [
        ("BACKWARD", 1),
        ("FORWARD", 0),
        ("WIRE", 1),
        ("SOURCE", 0),
        ("FULL", 1),
        ("BACKWARD_TRANSITIVE", 1),
    ],
    ids=str,
)
def test_profiles(run: Run, profile: str, code: int, tmp_path: Path) -> None:
    """A profile selects usages: a narrowing change breaks schemas that are read."""
    assert (
        run("diff", *lay_out_versions("bound-tightened", tmp_path), "--profile", profile)[0] == code
    )


def test_ignore_file(run: Run, tmp_path: Path) -> None:
    """An ignored finding is removed; entries without a reason are refused, expired and unused
    entries are reported.
    """
    file = tmp_path / "approved.toml"
    words = ("diff", *lay_out_versions("bound-tightened", tmp_path), "--ignore", file)
    assert run(*words, "--write-ignore")[0] == 1
    code, _, message = run(*words)
    assert (code, "reason is missing" in message) == (2, True)
    file.write_text(file.read_text().replace('reason = ""', 'reason = "No client sends less."'))
    assert run(*words)[0] == 0
    good = file.read_text()
    file.write_text(
        good
        + (
            'until = 2020-01-01\n[[ignore]]\nrule = "type-changed"\npath = '
            '"nowhere.json"\nreason = "An old one."\n'
        )
    )
    code, _, notes = run(*words)
    assert code == 1
    assert "approved.toml: A2A060" in notes
    assert "expired on 2020-01-01" in notes
    assert "approved.toml: type-changed nowhere.json matches no finding; delete it" in notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[ignore]]\nreason = 'x'\n", "neither a fingerprint nor a rule with a path"),
        (
            "[[ignore]]\nrule = 'no-such-rule'\npath = 'x'\nreason = 'x'\n",
            "rule 'no-such-rule' does not exist",
        ),
        ("[[ignore]]\nfingerprint = 'x'\nreason = 'x'\nuntil = 'soon'\n", "until is not a date"),
        ("[[ignore]]\nwhy = 'x'\n", "entry 1: unknown keys"),
        ("ignored = 1\n", "unknown keys beside [[ignore]]"),
        ("[[", "cannot be read"),
    ],
    ids=["nothing", "rule", "day", "key", "table", "toml"],
)
def test_invalid_ignore_files(run: Run, tmp_path: Path, text: str, message: str) -> None:
    """An invalid ignore file ends with 2 and names the entry."""
    file = tmp_path / "approved.toml"
    file.write_text(text)
    code, _, output = run("diff", *lay_out_versions("bound-tightened", tmp_path), "--ignore", file)
    assert code == 2
    assert message in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["diff"], "BASE: not given"),
        (["diff", "a", "b", "c"], "BASE: not given"),
        (["diff", "bound-set", "bound-set/nothing"], "no such file or folder"),
        (["diff", "bound-set", "HEAD"], "a Git ref can only be the base"),
        (["diff", "skill-removed/previous", "bound-set/current"], "compare two sides of one kind"),
    ],
    ids=["none", "three", "missing", "ref", "unlike"],
)
def test_wrong_use(
    run: Run, words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrong use never ends with 0."""
    for rule in ("bound-set", CARD):
        lay_out_versions(rule, tmp_path)
    monkeypatch.chdir(tmp_path)
    code, _, output = run(*words)
    assert code in {2, 3}
    assert message in output


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"$defs": {"A": {"$ref": "#/$defs/B"}}}', "A2A-R02"),
        ("{", "A2A-S06"),
        ('{"$ref": "other.json"}', "A2A-R02"),
    ],
    ids=["dangling", "no-json", "no-file"],
)
def test_invalid_schemas(run: Run, tmp_path: Path, text: str, rule: str) -> None:
    """An invalid revision ends with 2 and names the place."""
    (tmp_path / "thing.json").write_text(text)
    code, _, output = run("diff", lay_out_versions("bound-set", tmp_path)[0], tmp_path, "--plain")
    assert (code, rule in output) == (2, True)


def test_an_agent_with_skills(run: Run, tmp_path: Path) -> None:
    """The schemas of skills are compared by usage: an input must not narrow, an output must not
    widen.
    """
    project = (
        '[agent]\nname = "Cook"\ndescription = "Cooks."\nversion = '
        '"{version}"\n[skills.bake]\ndescription = "Bakes."\ninput = "s.json#/$defs/In"\n'
    )
    for name, version, kind in (("old", "1.0.0", "number"), ("new", "1.1.0", "integer")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a2a.toml").write_text(
            project.format(version=version) + 'output = "s.json#/$defs/Out"\n'
        )
        definitions = {"In": {"type": kind}, "Out": {"type": kind}}
        (tmp_path / name / "s.json").write_text(json.dumps({"$defs": definitions}))
    code, output, _ = run("diff", tmp_path / "old", tmp_path / "new")
    assert code == 1
    assert "was accepted as In, now rejected: 0.5" in output
    assert "Affected: bake." in output
    assert output.count("error: ") == 1
    assert "major-not-bumped" in output
    (tmp_path / "new" / "a2a.toml").write_text(
        (tmp_path / "new" / "a2a.toml").read_text()
        + '[skills.fry]\ndescription = "Fries."\ntags = ["}]"]\n'
    )
    assert "new/a2a.toml:9 #/skills/fry" in run("diff", tmp_path / "old", tmp_path / "new")[1]


@pytest.mark.usefixtures("project")
def test_check_reports_stale_output_lint_and_breaking_changes(run: Run) -> None:
    """`check --against` ends with 1 for a break as for stale output, and with 0 without
    findings.
    """
    assert run("build")[0] == 0
    assert run("check")[0] == 0
    code, output, _ = run("check", "--against", "v1.0.0")
    assert (code, "bound-tightened" in output) == (1, True)
    assert run("check", "--against", "v1.0.0", "--fail-on", "none")[0] == 0
