"""Settings of an ``a2a.toml`` as values, with the Python names derived from them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import pascal
from a2a_gen.agent.schemas.files import Schema
from a2a_gen.ir.names import skill_method
from a2a_gen.problems import Level, Problem
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key
from a2a_gen.source.project import TomlDocument
from a2a_gen.support.config_schema import check_values
from a2a_gen.support.project_rules import RuleViolation, check_handlers, check_project

FILE = "a2a.toml"


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """The settings of a skill and the references to its schemas."""

    id: str
    method: str
    facts: Schema

    @property
    def references(self) -> Mapping[str, str]:
        """Return the schema references by use: ``input``, ``output``, and ``ask.`` with the name of
        a question.
        """
        own = {use: schemas.text(self.facts, use) for use in ("input", "output")}
        asks = {
            f"ask.{name}": text
            for name, text in schemas.members(self.facts, "asks").items()
            if isinstance(text, str)
        }
        return {use: text for use, text in {**own, **asks}.items() if text}

    @property
    def streams(self) -> bool:
        """Report that the output is streamed in chunks."""
        return self.facts.get("streaming") is True


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings of the whole file."""

    data: Schema
    skills: tuple[SkillSettings, ...]
    document: Document = field(default_factory=lambda: TomlDocument(FILE, "", {}))
    problems: tuple[Problem, ...] = ()

    @property
    def agent(self) -> Schema:
        """Return the identity of the agent."""
        return schemas.members(self.data, "agent")

    @property
    def class_name(self) -> str:
        """Return the prefix of its class names."""
        return pascal(schemas.text(self.agent, "name")) or "Agent"


def read_settings(config: Path) -> AgentSettings:
    """Read the settings of an agent with all their problems."""
    text = config.read_text(encoding="utf-8")
    data: dict[str, Json] = tomllib.loads(text)
    document = TomlDocument(FILE, text, data)
    skills = tuple(
        SkillSettings(name, skill_method(name), facts)
        for name, facts in schemas.members(data, "skills").items()
        if isinstance(facts, dict)
    )
    problems = [
        Problem(document.place_at(pointer), rule, text, cure)
        for pointer, rule, text, cure in _check_names(skills)
    ]
    return AgentSettings(data, skills, document, (*_check_rules(document, data), *problems))


_SettingsReader: TypeAlias = tuple[str, str, str, str]
"""JSON pointer, rule, problem, fix."""


def _check_values(data: Mapping[str, object]) -> Iterator[RuleViolation]:
    """Report settings that the schema of the file refuses; the schema comes with the contract."""
    spec = find_spec("a2a_contract")
    path = Path(spec.origin or "").parent / "schemas" / "project.json" if spec else None
    if path is not None and path.is_file():
        schema: dict[str, Json] = json.loads(path.read_text(encoding="utf-8"))
        yield from check_values(data, schema)


def _check_rules(document: Document, data: Mapping[str, object]) -> Iterator[Problem]:
    """Report what ``a2a-gen serve`` would refuse; handlers may be missing, an application can
    register its own.
    """
    checks = (
        ("A2A-K03", Level.ERROR, _check_values(data)),
        ("A2A-K09", Level.ERROR, check_project(data)),
        ("A2A-K09", Level.WARNING, check_handlers(data)),
    )
    for rule, level, found in checks:
        for each in found:
            pointer = "".join(f"/{escape_key(str(step))}" for step in each.path)
            yield Problem(document.place_at(pointer), rule, each.text, each.cure, level)


def _check_names(skills: tuple[SkillSettings, ...]) -> Iterator[_SettingsReader]:
    seen: dict[str, str] = {}
    for skill in skills:
        pointer = f"/skills/{escape_key(skill.id)}"
        other = seen.setdefault(skill.method, skill.id)
        if other != skill.id:
            yield (
                pointer,
                "A2A-K04",
                f"skills {other} and {skill.id} have the same method name {skill.method}",
                "rename one of them",
            )
        if skill.streams and skill.facts.get("answers") == "message":
            text = f"skill {skill.id} streams and answers with a message, but only tasks can stream"
            yield (
                f"{pointer}/answers",
                "A2A-K05",
                text,
                'remove answers = "message" or streaming = true',
            )
