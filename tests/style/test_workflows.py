"""The workflows of this repository, and those that it gives to users: fixed actions, the least
permissions.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from peers.environments import interpreter
from style.source_files import ROOT

OWN = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GIVEN = [
    *sorted((ROOT / "docs" / "ci").glob("*.yml")),
    ROOT / "examples" / "report" / ".github" / "workflows" / "ci.yml",
]
STARTERS = sorted((ROOT / "codegen" / "a2a_gen" / "starters").rglob(".github/workflows/*.in"))
COMMIT = re.compile(r"[\w./-]+@[0-9a-f]{40}")


def read_workflow(path: Path) -> dict[str, Any]:
    """Read one; YAML takes the bare word of its triggers for a truth value."""
    workflow: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    workflow["on"] = workflow.pop(True)
    return workflow


def name_file(path: Path) -> str:
    """Name a file in the summary of a run."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*OWN, *GIVEN, *STARTERS], ids=name_file)
def test_actions_are_commits_and_permissions_are_set(path: Path) -> None:
    """A tag can be moved to other code, and the default permissions let a job write to the
    repository.
    """
    workflow = read_workflow(path)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert [
        step["uses"] for step in steps if "uses" in step and not COMMIT.fullmatch(step["uses"])
    ] == []
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []
    assert workflow["permissions"] is not None
    for job in workflow["jobs"].values():
        granted = {**workflow["permissions"], **job.get("permissions", {})}
        assert granted.get("contents", "none") != "write"


def test_equal_actions_are_equal_commits() -> None:
    """An action is updated in all files at once, its version beside it."""
    found: dict[str, set[str]] = {}
    for path in (*OWN, *GIVEN, *STARTERS):
        for line in re.findall(r"uses: (\S+@[0-9a-f]{40}.*)", path.read_text(encoding="utf-8")):
            found.setdefault(line.partition("@")[0], set()).add(line)
    assert {action: lines for action, lines in found.items() if len(lines) > 1} == {}
    assert [
        line
        for lines in found.values()
        for line in lines
        if not re.search(r" # v\d+\.\d+\.\d+$", line)
    ] == []


def test_pushes_and_pull_requests_run_the_checks() -> None:
    """Nothing reaches main unseen: the same script runs that runs anywhere else."""
    workflow = read_workflow(ROOT / ".github" / "workflows" / "ci.yml")
    assert set(workflow["on"]) == {"push", "pull_request"}
    assert [
        step["run"]
        for step in workflow["jobs"]["check"]["steps"]
        if ".ci/run" in step.get("run", "")
    ]


@pytest.mark.peer
def test_workflows_are_sound() -> None:
    """By their schema, and by an audit of workflows, pedantic for those of this repository."""
    tools = interpreter("deployment-tools").parent
    given = [*map(str, GIVEN)]
    own = [*map(str, OWN)]
    for words in (
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *own, *given],
        ["zizmor", "--offline", "--quiet", "--pedantic", *own],
        ["zizmor", "--offline", "--quiet", *given],
    ):
        command = [str(tools / words[0]), *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
