"""The JSON Schema Test Suite over HTTP: an agent takes the values that the schemas of its skills
allow, answers with them, and refuses the others.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from contract.test_json_schema_suite import REFUSED, Group, groups
from contract.test_suite_packages import build_schema, has_names
from imported_modules import forget_packages
from integration.outcome_agent import serve_on_socket

from a2a_gen.agent import build as agents
from a2a_gen.problems import has_errors
from a2a_gen.source.project import Project, find_project
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.settings import Settings
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.handlers import UnaryHandler

DRAFTS = ("draft2020-12", "draft7")
BATCH = 60
SAMPLE = 8
PACKAGE = "suite_skills"
_JSON = {"content-type": "application/json"}
_HEAD = (
    '[agent]\nname = "suite"\ndescription = "Takes JSON."\nversion = '
    f'"1.0.0"\n\n[outputs]\npackage = "{PACKAGE}"\n'
)


async def answer(request: object, _context: object) -> object:
    """Answer with the input."""
    return request


def describe_agent(folder: Path, schemas: Mapping[str, object]) -> Project:
    """Write an agent with a skill for each schema, and read its project."""
    tables = [
        (
            f'\n[skills.{name}]\ndescription = "Takes it."\ninput = "schema/{name}.json"\noutput '
            f'= "schema/{name}.json"\n'
        )
        for name in schemas
    ]
    (folder / "schema").mkdir(parents=True)
    (folder / "a2a.toml").write_text(_HEAD + "".join(tables))
    for name, schema in schemas.items():
        (folder / "schema" / f"{name}.json").write_text(json.dumps(schema))
    return find_project(folder)


@contextmanager
def serve_project(folder: Path, project: Project) -> Iterator[httpx.Client]:
    """Build the package of an agent, and serve its skills."""
    for path, body in agents.emit(agents.read_agent(project).agent).items():
        target = folder / PACKAGE / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
    agent = Agent("suite")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        try:
            for contract in vars(importlib.import_module(f"{PACKAGE}.skills")).values():
                if isinstance(contract, SkillContract):
                    agent.add(contract.id, UnaryHandler(contract, answer), contract=contract)
            with serve_on_socket(create_app(agent, settings=Settings())) as client:
                yield client
        finally:
            forget_packages(PACKAGE)


def compare(client: httpx.Client, skill: str, group: Group, *, is_narrower: bool) -> Iterator[str]:
    """Post the values of a group, and compare the answers with its verdicts."""
    for test in group["tests"]:
        name = f"{group['file']}: {group['description']}: {test['description']}"
        found = client.post(f"/skills/{skill}", content=json.dumps(test["data"]), headers=_JSON)
        if found.status_code == 200:
            if not test["valid"]:
                yield f"{name}: wrongly accepted"
            elif found.json() != test["data"]:
                yield f"{name}: answered with {found.text}"
        elif found.status_code != 400:
            yield f"{name}: {found.status_code} {found.text}"
        elif test["valid"] and not is_narrower:
            yield f"{name}: wrongly refused: {found.text}"


def compare_agent(folder: Path, draft: str, chosen: Sequence[Group]) -> Iterator[str]:
    """Serve an agent with the schemas of some groups, and compare each; a schema that a build may
    refuse is left out.
    """
    by_name = {f"group-{index}": group for index, group in enumerate(chosen)}
    project = describe_agent(
        folder / "all", {name: build_schema(group, draft) for name, group in by_name.items()}
    )
    errors = [each for each in agents.problems(project) if has_errors([each])]
    yield from (
        f"refused: {each}" for each in errors if not any(reason in each.text for reason in REFUSED)
    )
    refused = {Path(each.place.file).stem for each in errors}
    kept = {name: group for name, group in by_name.items() if name not in refused}
    assert len(kept) > len(by_name) / 2
    root = folder / "kept"
    project = describe_agent(
        root, {name: build_schema(group, draft) for name, group in kept.items()}
    )
    warned = {
        Path(each.place.file).stem for each in agents.problems(project) if each.rule == "A2A-K07"
    }
    with serve_project(root, project) as client:
        for name, group in kept.items():
            yield from compare(client, name, group, is_narrower=name in warned)


def find_usable(draft: str) -> list[Group]:
    """Find the groups whose schemas may be in one agent."""
    return [group for group in groups(draft) if not has_names(group)]


@pytest.mark.peer
def test_an_agent_takes_what_a_part_of_the_suite_allows(tmp_path: Path) -> None:
    """A sample of the groups of the newest draft, as the skills of one agent."""
    draft = DRAFTS[0]
    usable = find_usable(draft)
    assert [*compare_agent(tmp_path, draft, usable[:: len(usable) // SAMPLE])] == []


@pytest.mark.peer
@pytest.mark.soak(share="contracts")
@pytest.mark.parametrize("draft", DRAFTS)
def test_agents_take_what_the_whole_suite_allows(draft: str, tmp_path: Path) -> None:
    """Every group whose schema has no name of its own, in a few agents."""
    usable = find_usable(draft)
    found = list[str]()
    for start in range(0, len(usable), BATCH):
        found += compare_agent(tmp_path / str(start), draft, usable[start : start + BATCH])
    assert found == []
