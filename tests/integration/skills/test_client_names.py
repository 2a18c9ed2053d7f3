"""Clients for agents with unusual skill names: any name on a card becomes a valid method."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from imported_modules import forget_packages

from a2a_gen.entry import main
from a2a_gen.ir.names import file_word, skill_methods
from a2a_runtime.skills.contract import SkillContract

SKILLS = [
    "echo",
    "Echo",
    "e cho",
    "E CHO",
    "aclose",
    "untyped",
    "str",
    "text",
    "dict",
    "class",
    "日本",
    "a-",
    "a",
    "skills",
    "print",
    "self",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to write clients to, from which they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    forget_packages("named")


def write(folder: Path, *skills: str) -> None:
    """Write a card; every other skill has a schema."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    skill_objects = [
        {
            "id": skill,
            "description": "",
            **({"metadata": {"input_schema": schema}} if at % 2 else {}),
        }
        for at, skill in enumerate(skills)
    ]
    (folder / "card.json").write_text(json.dumps({"name": "Agent X", "skills": skill_objects}))


def test_every_skill_has_a_method_of_its_own(folder: Path) -> None:
    """Whatever the skills are called, each is called by one method, and nothing that a client has
    is hidden.
    """
    write(folder, *SKILLS)
    assert main(["client", "card.json", "-o", "named"]) == 0
    client, table = (importlib.import_module(f"named.{module}") for module in ("client", "skills"))
    constants = {
        name: each.id for name, each in vars(table).items() if isinstance(each, SkillContract)
    }
    assert sorted(constants.values()) == sorted(SKILLS)
    methods = {
        name: inspect.getsource(each)
        for name, each in vars(client.AgentXClient).items()
        if inspect.isfunction(each)
    }
    assert sorted(
        skill
        for source in methods.values()
        for name, skill in constants.items()
        if f"skills.{name}," in source
    ) == sorted(SKILLS)
    assert not {"aclose", "untyped", "str", "class"} & methods.keys()
    assert inspect.getdoc(client.AgentXClient) == "Client of the skills of AgentX."


@pytest.mark.slow
def test_type_checkers_take_every_name(folder: Path) -> None:
    """No method stands in the way of an annotation, and none changes what a client has."""
    write(folder, *SKILLS)
    assert main(["client", "card.json", "-o", "named"]) == 0
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "named"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("skills", "methods"),
    [
        (["echo", "Echo"], ["echo", "echo_8335e4c9"]),
        (["Echo"], ["echo"]),
        (["a-", "a"], ["a_9baf4407", "a"]),
        (["str", "validate", "json"], ["str_", "validate", "json"]),
    ],
    ids=["capitals", "alone", "hyphen", "words"],
)
def test_a_skill_keeps_its_own_name(skills: list[str], methods: list[str]) -> None:
    """The skill that is called as the method is keeps it, in any order; only others that would be
    called so get a mark, which never changes.
    """
    assert list(skill_methods(skills).values()) == methods
    assert skill_methods(reversed(skills)) == dict(zip(skills, methods, strict=True))


def test_files_differ_in_more_than_capitals() -> None:
    """Schemas of two skills are two files on every system."""
    words = {file_word(skill).lower() for skill in SKILLS}
    assert len(words) == len(SKILLS)
    assert file_word("echo") == "echo"


@pytest.mark.parametrize(
    ("skills", "said"),
    [([], "the card has no skills"), (["a", "b", "a"], "several skills with the id 'a'")],
    ids=["none", "twice"],
)
def test_a_card_without_callable_skills_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], skills: list[str], said: str
) -> None:
    """An empty client has no use, and one method cannot call two skills."""
    write(folder, *skills)
    assert main(["client", "card.json", "-o", "named"]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "named").exists()
