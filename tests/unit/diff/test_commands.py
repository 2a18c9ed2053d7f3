"""`a2a-gen diff` and `a2a-gen check --against` on the command line: baselines, forms of output, approvals, exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import jsonschema_rs
import pytest

from a2a_gen.diff.formats import FORMATS
from a2a_gen.entry import main

ROOT = Path(__file__).parents[3]
RULES = ROOT / "tests" / "rules"
SMALLEST = ROOT / "tests" / "cases" / "smallest"
CARD = RULES / "skill-removed"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command: its exit code, what it prints and what it complains about."""

    def command(*words: str | Path) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


def git(folder: Path, *words: str) -> None:
    """Run git with a name of its own."""
    settings = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)  # noqa: S607


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small contract in a repository, committed and tagged, with one break since."""
    folder = tmp_path / "project"
    shutil.copytree(SMALLEST / "input", folder)
    git(tmp_path, "init", "-q", "project")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First")
    git(folder, "tag", "-a", "v1.0.0", "-m", "A tag with a message of its own")
    request = folder / "schema" / "v1_0" / "request.json"
    request.write_text(request.read_text().replace('"minLength": 1', '"minLength": 3'))
    monkeypatch.chdir(folder)
    return folder


def twins(rule: str) -> list[Path]:
    """The two versions of an example."""
    return [RULES / rule / "previous", RULES / rule / "current"]


@pytest.mark.parametrize("ref", ["HEAD", "v1.0.0", "main", "v*", "HEAD:schema"])
@pytest.mark.usefixtures("project")
def test_a_ref_is_read_without_a_checkout(run: Run, ref: str) -> None:
    """A branch, an annotated tag, a pattern of tags and a path in a commit are baselines; relative references are followed inside the commit."""
    code, said, _ = run("diff", "--against", ref)
    assert code == 1
    assert "schema/v1_0/request.json:10 #/$defs/GetTaskRequest/properties/id/minLength" in said
    assert 'was accepted of GetTaskRequest and is refused now: {"id": "a"}' in said
    assert "Concerned: GetTask." in said


def test_the_lock_is_a_baseline(run: Run, project: Path) -> None:
    """The lock means the commit that last wrote it; one that nobody committed is no baseline."""
    (project / "a2a-gen.lock").write_text("{}")
    assert run("diff", "--against", "a2a-gen.lock")[0] == 3
    git(project, "add", "a2a-gen.lock")
    git(project, "commit", "-q", "-m", "Built")
    assert run("diff", "--against", "a2a-gen.lock")[0] == 1


@pytest.mark.parametrize(
    ("ref", "cure"),
    [("nothing", "git fetch origin nothing"), ("v9*", "git fetch --tags")],
    ids=["unknown", "no-tag"],
)
@pytest.mark.usefixtures("project")
def test_a_baseline_that_is_not_there(run: Run, ref: str, cure: str) -> None:
    """An unknown ref ends with 3 and the command to run, never with "no changes"."""
    code, said, complaint = run("diff", "--against", ref)
    assert (code, said) == (3, "")
    assert f"fix: {cure}" in complaint


def test_a_shallow_clone(run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shallow clone, as CI makes them, the message says how to get what is missing."""
    git(project, "commit", "-q", "-a", "-m", "Second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{project}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert "fix: git fetch --unshallow" in run("diff", "--against", "HEAD~1")[2]
    code, _, complaint = run("diff", "--against", "origin/other")
    assert code == 3
    assert "fix: git fetch --depth=1 origin other:refs/remotes/origin/other" in complaint


def test_a_folder_that_the_commit_has_not(run: Run, project: Path) -> None:
    """A baseline without the folder is no failure: everything is new."""
    (project / "more").mkdir()
    (project / "more" / "thing.json").write_text('{"$defs": {"Thing": {"type": "string"}}}')
    code, said, notes = run("diff", "--against", "HEAD", "more", "--plain")
    assert (code, "definition-added" in said) == (0, True)
    assert "HEAD has nothing at more: everything is new" in notes


def test_outside_of_a_repository(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ref needs a repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "thing.json").write_text("{}")
    code, _, complaint = run("diff", "--against", "main", ".", "--plain")
    assert code == 3
    assert "is in no Git repository" in complaint


def test_a_card_that_an_agent_answers(run: Run) -> None:
    """The address of an agent is a baseline: its card is compared with a file."""
    body = (CARD / "previous" / "card.json").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/.well-known/agent-card.json"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(body if found else b"{}")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        code, said, _ = run("diff", "--against", address, CARD / "current" / "card.json")
        missing, _, complaint = run("diff", "--against", f"{address}/other", CARD / "current" / "card.json")
        server.shutdown()
    assert (code, missing) == (1, 3)
    assert "the skill fry was removed" in said
    assert "there is no card at" in complaint


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


def test_a_transitive_profile_looks_at_every_tag(run: Run, project: Path) -> None:
    """What was widened and narrowed again is only seen by whoever compares with the first version too."""
    git(project, "commit", "-q", "-a", "-m", "Narrower")
    git(project, "tag", "v2.0.0")
    assert run("diff", "--against", "v*", "--profile", "BACKWARD")[0] == 0
    code, said, _ = run("diff", "--against", "v*", "--profile", "BACKWARD_TRANSITIVE")
    assert code == 1
    assert "clients of v1.0.0, v2.0.0" in said


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
