"""Baselines: refs, locks, folders and cards; and the error for a missing one."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from unit.diff.sides import CARD, Run, git, lay_out_versions


@pytest.mark.parametrize("ref", ["HEAD", "v1.0.0", "main", "v*", "HEAD:schema"])
@pytest.mark.usefixtures("project")
def test_a_ref_is_read_without_a_checkout(run: Run, ref: str) -> None:
    """A branch, an annotated tag, a tag pattern and a path in a commit are baselines; relative
    references stay inside the commit.
    """
    code, output, _ = run("diff", "--against", ref)
    assert code == 1
    assert "schema/v1_0/request.json:10 #/$defs/GetTaskRequest/properties/id/minLength" in output
    assert 'was accepted as GetTaskRequest, now rejected: {"id": "a"}' in output
    assert "Affected: GetTask." in output


def test_the_lock_is_a_baseline(run: Run, project: Path) -> None:
    """The lock stands for the commit that last wrote it; an uncommitted lock is no baseline."""
    (project / "a2a-gen.lock").write_text("{}")
    assert run("diff", "--against", "a2a-gen.lock")[0] == 3
    git(project, "add", "a2a-gen.lock")
    git(project, "commit", "-q", "-m", "Built")
    assert run("diff", "--against", "a2a-gen.lock")[0] == 1


@pytest.mark.parametrize(
    ("ref", "cure"),
    [("nothing", "correct the name; git branch --all"), ("v9*", "git fetch --tags")],
    ids=["unknown", "no-tag"],
)
@pytest.mark.usefixtures("project")
def test_a_missing_baseline(run: Run, ref: str, cure: str) -> None:
    """An unknown ref ends with 3 and the command to run, never with "no changes"."""
    code, output, message = run("diff", "--against", ref)
    assert (code, output) == (3, "")
    assert f"fix: {cure}" in message


def test_a_shallow_clone(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a shallow clone, as CI creates them, the message has the command that fetches the
    baseline.
    """
    git(project, "commit", "-q", "-a", "-m", "Second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{project}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    assert "fix: git fetch --unshallow" in run("diff", "--against", "HEAD~1")[2]
    code, _, message = run("diff", "--against", "origin/other")
    assert code == 3
    assert "fix: git fetch --depth=1 origin other:refs/remotes/origin/other" in message


def test_a_folder_missing_in_the_baseline(run: Run, project: Path) -> None:
    """A baseline without the folder is not an error: everything is new."""
    (project / "more").mkdir()
    (project / "more" / "thing.json").write_text('{"$defs": {"Thing": {"type": "string"}}}')
    code, output, notes = run("diff", "--against", "HEAD", "more", "--plain")
    assert (code, "definition-added" in output) == (0, True)
    assert "HEAD: no files at more; everything is new" in notes


def test_outside_of_a_repository(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with a ref is an error outside of a repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "thing.json").write_text("{}")
    code, _, message = run("diff", "--against", "main", ".", "--plain")
    assert code == 3
    assert "not in a Git repository" in message


def test_the_card_of_a_running_agent(run: Run, tmp_path: Path) -> None:
    """The URL of an agent is a baseline: its card is compared with a file."""
    previous, current = lay_out_versions(CARD, tmp_path)
    body = (previous / "card.json").read_bytes()

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
        code, output, _ = run("diff", "--against", address, current / "card.json")
        missing, _, message = run("diff", "--against", f"{address}/other", current / "card.json")
        server.shutdown()
    assert (code, missing) == (1, 3)
    assert "skill fry was removed" in output
    assert "Affected: skill fry." in output
    assert "no agent card" in message


def test_a_transitive_profile_compares_with_every_tag(run: Run, project: Path) -> None:
    """A schema that was widened and narrowed again only breaks against the first version."""
    git(project, "commit", "-q", "-a", "-m", "Narrower")
    git(project, "tag", "v2.0.0")
    assert run("diff", "--against", "v*", "--profile", "BACKWARD")[0] == 0
    code, output, _ = run("diff", "--against", "v*", "--profile", "BACKWARD_TRANSITIVE")
    assert code == 1
    assert "clients of v1.0.0, v2.0.0" in output


SCHEMA = """
title: Order
properties:
  name: {$ref: "more/names.yaml"}
  part: {$ref: "a2a:v1_0#/$defs/Part"}
required: [name]
"""
AGENT = """
[agent]
name = "baker"
description = "Bakes."
version = "1.0.0"

[skills.bake]
description = "Bakes."
input = "schema/order.yaml"
output = "schema/order.yaml"
"""


@pytest.fixture
def baker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent in a repository, with schemas in YAML, and with files that are not its contract."""
    files = {
        "a2a.toml": AGENT,
        "schema/order.yaml": SCHEMA,
        "schema/more/names.yaml": "type: string\n",
        "schema/unused.json": '{"type": "string"}',
        "src/baker/schemas/bake.input.json": (
            '{"properties": {"name": {"type": "string"}}, "required": ["name"]}'
        ),
        "settings.json": "{ // of another tool",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q", ".")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_only_reachable_schemas_are_the_contract(run: Run, baker: Path) -> None:
    """Changes of schema copies in a built package, of unused schemas and of files of other tools
    yield no findings.
    """
    copy = baker / "src" / "baker" / "schemas" / "bake.input.json"
    unused = baker / "schema" / "unused.json"
    copy.write_text(copy.read_text().replace('"name"]', '"name", "more"]'))
    unused.write_text('{"type": "integer"}')
    code, output, _ = run("diff", "--against", "HEAD")
    assert (code, output.count("error: ")) == (0, 0)


def test_schemas_in_yaml_are_compared_too(run: Run, baker: Path) -> None:
    """A break in a YAML file that a skill refers to is reported at its line."""
    (baker / "schema" / "more" / "names.yaml").write_text("# no names\ntype: integer\n")
    code, output, _ = run("diff", "--against", "HEAD")
    assert code == 1
    assert "at schema/more/names.yaml:2" in output
    assert "Affected: bake." in output
    (baker / "schema" / "more" / "names.yaml").write_text("type: [\n")
    code, _, message = run("diff", "--against", "HEAD")
    assert code != 0
    assert "schema/more/names.yaml:2" in message


def test_a_folder_of_the_project_is_the_project(
    run: Run, baker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any folder of a project, paths are relative to its root, and its ignore file applies; the
    version has its line.
    """
    (baker / "schema" / "order.yaml").write_text(SCHEMA.replace("string", "integer"))
    (baker / "schema" / "more" / "names.yaml").write_text("type: integer\n")
    above = run("diff", "--against", "HEAD", "--fail-on", "info")
    line = next(
        number for number, text in enumerate(AGENT.splitlines(), 1) if text.startswith("version")
    )
    assert f"a2a.toml:{line} #/agent/version" in above[1]
    monkeypatch.chdir(baker / "src" / "baker")
    assert run("diff", "--against", "HEAD", "--fail-on", "info") == above
    run("diff", "--against", "HEAD", "--fail-on", "info", "--write-ignore")
    approved = baker / "a2a-gen.ignore.toml"
    approved.write_text(
        approved.read_text().replace('reason = ""', 'reason = "No client uses it."')
    )
    assert run("diff", "--against", "HEAD", "--fail-on", "info")[0] == 0


def test_a_project_configures_its_baselines(run: Run, baker: Path) -> None:
    """`diff` and `check` use [compat]; command line options override it."""
    config = baker / "a2a.toml"
    names = baker / "schema" / "more" / "names.yaml"
    assert run("diff")[0] == 2
    config.write_text(
        f'{AGENT}\n[compat]\nbaselines = ["HEAD"]\nfail_on = "warning"\n\n[outputs]\npackage '
        '= "baker.contract"\nfolder = "src"\n'
    )
    names.write_text("type: string\nmaxLength: 3\n")
    code, output, _ = run("diff")
    assert (code, "bound-set" in output) == (1, True)
    assert run("diff", "--fail-on", "none")[0] == 0
    assert run("build")[0] == 0
    code, output, _ = run("check")
    assert (code, "bound-set" in output) == (1, True)
    assert run("check", "--fail-on", "none")[0] == 0
