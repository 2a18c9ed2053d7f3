"""Builds that reuse the last one: the bytes are those of a build from nothing, whatever was edited,
renamed or deleted in between.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from a2a_gen import pipeline
from a2a_gen.output.cache import FOLDER
from a2a_gen.source.project import find_project

Schema = dict[str, Any]


@dataclass
class Contract:
    """An agent whose files follow from it: skills with a schema each, and files that they share."""

    random: Random
    skills: dict[str, Schema] = field(default_factory=dict)
    shared: dict[str, Schema] = field(default_factory=dict)
    number: int = 0

    def fresh(self, word: str) -> str:
        """Return a name that was never used."""
        self.number += 1
        return f"{word}{self.number}"

    def add_shared(self) -> None:
        """Add a file that others may refer to; it may refer to an older one."""
        name = self.fresh("part")
        self.shared[name] = {
            "title": name.title(),
            "type": "object",
            "properties": {"x": {"type": "number"}, **self._reference()},
        }

    def add_skill(self) -> None:
        """Add a skill with a union that only validators decide, a list and a reference."""
        branches = [
            {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
            for name in ("a", "b")
        ]
        self.skills[self.fresh("skill")] = {
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "choice": {"anyOf": branches},
                "list": {"$ref": "#/$defs/List"},
                **self._reference(),
            },
            "required": ["id"],
            "$defs": {"List": {"type": "array", "items": {"type": "string", "format": "date"}}},
        }

    def _reference(self) -> Schema:
        if self.shared and self.random.random() < 0.7:
            return {"part": {"$ref": f"{self.random.choice([*self.shared])}.json"}}
        return {}

    def edit(self) -> None:
        """Make one random change."""
        edits: tuple[Callable[[], object], ...] = (
            self.add_skill,
            self.add_shared,
            self._remove_skill,
            self._rename_skill,
            *(
                self._add_member,
                self._rename_member,
                self._describe,
                self._close,
                self._share_title,
            ),
        )
        self.random.choice(edits)()

    def _any(self) -> Schema:
        return self.random.choice([*self.skills.values(), *self.shared.values()])

    def _remove_skill(self) -> None:
        if len(self.skills) > 2:
            del self.skills[self.random.choice([*self.skills])]

    def _rename_skill(self) -> None:
        self.skills[self.fresh("renamed")] = self.skills.pop(self.random.choice([*self.skills]))

    def _add_member(self) -> None:
        kinds = (
            {"type": "boolean"},
            {"type": ["string", "null"], "default": "x"},
            {"type": "object", "properties": {"y": {"type": "integer"}}},
        )
        self._any()["properties"][self.fresh("member")] = self.random.choice(kinds)

    def _rename_member(self) -> None:
        members = self._any()["properties"]
        members[self.fresh("other")] = (
            members.pop(self.random.choice([*members])) if len(members) > 1 else {"type": "string"}
        )

    def _describe(self) -> None:
        self._any()["description"] = self.fresh("Text number ")

    def _close(self) -> None:
        self._any()["additionalProperties"] = self.random.random() < 0.5

    def _share_title(self) -> None:
        """Let two files want one name."""
        self._any()["title"] = self.random.choice(("Meeting", "Thing", "Value"))

    def write(self, folder: Path) -> None:
        """Write the files of the project, and delete those that are gone."""
        shutil.rmtree(folder / "schemas", ignore_errors=True)
        (folder / "schemas").mkdir(parents=True)
        for name, schema in {**self.skills, **self.shared}.items():
            required = [each for each in schema.get("required", []) if each in schema["properties"]]
            (folder / "schemas" / f"{name}.json").write_text(
                json.dumps({**schema, "required": required}, indent=1)
            )
        tables = (
            f'[skills.{name}]\ndescription = "A skill."\ninput = "schemas/{name}.json"\n'
            for name in self.skills
        )
        head = (
            'service = "service:Service"\n[agent]\nname = "Many"\ndescription = '
            '"Skills."\nversion = "1"\n[outputs]\npackage = "many"\n'
        )
        (folder / "a2a.toml").write_text("\n".join([head, *tables]))


def outputs(folder: Path) -> dict[str, bytes]:
    """Read what a build wrote."""
    files = [
        folder / "a2a-gen.lock",
        *sorted(file for file in (folder / "many").rglob("*") if file.is_file()),
    ]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def build_cold(contract: Contract, folder: Path) -> dict[str, bytes]:
    """Build the same project from nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    contract.write(folder)
    pipeline.build(find_project(folder))
    return outputs(folder)


def run_edits(
    folder: Path, seed: int, count: int, every: int
) -> Iterator[tuple[dict[str, bytes], dict[str, bytes]]]:
    """Edit and build, and now and then yield the output beside that of a build from nothing."""
    contract = Contract(Random(seed))  # noqa: S311 - edits, not secrets
    for step in (
        contract.add_shared,
        contract.add_skill,
        contract.add_shared,
        contract.add_skill,
        contract.add_skill,
    ):
        step()
    for number in range(count + 1):
        contract.write(folder / "project")
        pipeline.build(find_project(folder / "project"))
        if number % every == 0 or number == count:
            yield outputs(folder / "project"), build_cold(contract, folder / "cold")
        for _ in range(contract.random.randint(1, 3)):
            contract.edit()


def test_edits_give_the_bytes_of_a_cold_build(tmp_path: Path) -> None:
    """After half a dozen builds with edits, renames and deletions between them."""
    for warm, cold in run_edits(tmp_path, seed=1, count=6, every=3):
        assert warm == cold


@pytest.mark.soak
def test_many_edits_give_the_bytes_of_a_cold_build(tmp_path: Path) -> None:
    """After each of 200 edits the output equals that of a cold build."""
    for warm, cold in run_edits(tmp_path, seed=int.from_bytes(os.urandom(4)), count=200, every=10):
        assert warm == cold


def test_the_cache_is_ignored_by_git_and_safe_to_lose(tmp_path: Path) -> None:
    """It is one folder that ignores itself; without it, broken, or after files were lost or edited,
    a build writes the same bytes.
    """
    contract = Contract(Random(2))  # noqa: S311 - as above
    contract.add_shared()
    contract.add_skill()
    first = build_cold(contract, tmp_path)
    assert (tmp_path / FOLDER / ".gitignore").read_text() == "*\n"
    module = tmp_path / "many" / "types" / "skill2.py"
    for harm in (
        lambda: shutil.rmtree(tmp_path / FOLDER),
        lambda: (tmp_path / FOLDER / "files.json").write_text('{"types/skill2.py": ["x"]}'),
        module.unlink,
        lambda: shutil.rmtree(tmp_path / "many"),
    ):
        harm()
        pipeline.build(find_project(tmp_path))
        assert outputs(tmp_path) == first
    module.write_text("broken")
    pipeline.build(find_project(tmp_path), force=True)
    assert outputs(tmp_path) == first


def test_unchanged_modules_are_not_generated_again(tmp_path: Path) -> None:
    """An edit of one schema writes its files alone; those of others keep their time."""
    contract = Contract(Random(3))  # noqa: S311 - as above
    for _ in range(3):
        contract.add_skill()
    contract.write(tmp_path)
    pipeline.build(find_project(tmp_path))
    times = {
        file: file.stat().st_mtime_ns for file in (tmp_path / "many").rglob("*") if file.is_file()
    }
    next(iter(contract.skills.values()))["description"] = "Edited."
    contract.write(tmp_path)
    result = pipeline.build(find_project(tmp_path))
    changed = {
        file.relative_to(tmp_path / "many").as_posix()
        for file, time in times.items()
        if file.stat().st_mtime_ns != time
    }
    assert changed == {"schemas/skill1.input.json", "types/skill1.py", "types/schemas.json"}
    assert result.written_count == len(changed)
