"""An ``a2a.toml`` as values, with the names that everything gets in Python."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import jsonschema_rs

from a2a_gen.agent import keywords
from a2a_gen.agent.catalogue import pascal
from a2a_gen.agent.keywords import Schema
from a2a_gen.ir.names import field_name
from a2a_gen.problems import ContractError, Place, Problem
from a2a_gen.source.json_text import Json

FILE = "a2a.toml"


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """A skill: what is said about it, and the references to its schemas."""

    id: str
    method: str
    facts: Schema

    @staticmethod
    def method_of(skill: str) -> str:
        """Name the method of a skill."""
        return field_name(re.sub(r"\W", "_", skill))

    @property
    def references(self) -> Mapping[str, str]:
        """Say where the schemas are, by what they are for: ``input``, ``output``, and ``ask.`` with the name of a question."""
        own = {use: keywords.text(self.facts, use) for use in ("input", "output")}
        asks = {f"ask.{name}": text for name, text in keywords.members(self.facts, "asks").items() if isinstance(text, str)}
        return {use: text for use, text in {**own, **asks}.items() if text}

    @property
    def streams(self) -> bool:
        """Whether the output comes in chunks."""
        return self.facts.get("streaming") is True

    @property
    def type_name(self) -> str:
        """Give what the names of its types begin with, where nobody has named them."""
        return pascal(self.id)


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The whole file."""

    data: Schema
    skills: tuple[SkillSettings, ...]

    @property
    def agent(self) -> Schema:
        """Who the agent is."""
        return keywords.members(self.data, "agent")

    @property
    def class_name(self) -> str:
        """Give what the names of its classes begin with."""
        return pascal(keywords.text(self.agent, "name")) or "Agent"

    @property
    def dialects(self) -> list[Json]:
        """Name the dialects of surfaces that name none."""
        return keywords.items(self.data, "dialects") or ["1.0", "0.3"]

    @property
    def surfaces(self) -> list[Schema]:
        """List the surfaces; without any, one at the root has all skills."""
        found: list[Schema] = [each for each in keywords.items(self.data, "surfaces") if isinstance(each, dict)]
        return found or [{"path": "/"}]


def read_settings(config: Path) -> AgentSettings:
    """Read the file of an agent, or raise ``ContractError`` with everything that is wrong with it."""
    data: dict[str, Json] = tomllib.loads(config.read_text(encoding="utf-8"))
    problems = [*_wrong(data)]
    skills = tuple(
        SkillSettings(name, SkillSettings.method_of(name), facts)
        for name, facts in keywords.members(data, "skills").items()
        if isinstance(facts, dict)
    )
    problems += _clashes(skills)
    if problems:
        raise ContractError(problems)
    return AgentSettings(data, skills)


def _wrong(data: Json) -> Iterator[Problem]:
    spec = find_spec("a2a_contract")
    form = Path(spec.origin or "").parent / "schemas" / "project.json" if spec else None
    if form is None or not form.is_file():
        return
    for error in jsonschema_rs.validator_for(json.loads(form.read_text(encoding="utf-8"))).iter_errors(data):
        place = Place(FILE, 0, "".join(f"/{step}" for step in error.instance_path))
        yield Problem(
            place, "A2A-K03", f"{error.message[:1].lower()}{error.message[1:]}", "write what schemas/project.json of a2a_contract describes"
        )


def _clashes(skills: tuple[SkillSettings, ...]) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for skill in skills:
        other = seen.setdefault(skill.method, skill.id)
        if other != skill.id:
            text = f"skills {other} and {skill.id} would both be the method {skill.method}"
            yield Problem(Place(FILE, 0, f"/skills/{skill.id}"), "A2A-K04", text, "rename one of them")
        if skill.streams and skill.facts.get("answers") == "message":
            text = f"skill {skill.id} streams, and answers with a message: there is nothing to stream into"
            yield Problem(Place(FILE, 0, f"/skills/{skill.id}/answers"), "A2A-K05", text, 'leave out answers = "message", or streaming = true')
