"""Settings of an ``a2a.toml`` as values, with the Python names derived from them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import jsonschema_rs

from a2a_gen.agent import schemas
from a2a_gen.agent.catalog import pascal
from a2a_gen.agent.schemas import Schema
from a2a_gen.ir.names import skill_method
from a2a_gen.problems import Level, Problem
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key
from a2a_gen.source.project import TomlDocument
from a2a_gen.support.project_rules import check_handlers, check_project

FILE = "a2a.toml"


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """The settings of a skill and the references to its schemas."""

    id: str
    method: str
    facts: Schema

    @property
    def references(self) -> Mapping[str, str]:
        """Return the schema references by use: ``input``, ``output``, and ``ask.`` with the name of a question."""
        own = {use: schemas.text(self.facts, use) for use in ("input", "output")}
        asks = {f"ask.{name}": text for name, text in schemas.members(self.facts, "asks").items() if isinstance(text, str)}
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
        SkillSettings(name, skill_method(name), facts) for name, facts in schemas.members(data, "skills").items() if isinstance(facts, dict)
    )
    problems = [Problem(document.place_at(pointer), rule, text, cure) for pointer, rule, text, cure in (*_invalid_value(data), *_check_names(skills))]
    return AgentSettings(data, skills, document, (*problems, *_check_rules(document, data)))


_SettingsReader: TypeAlias = tuple[str, str, str, str]
"""JSON pointer, rule, problem, fix."""


def _invalid_value(data: Json) -> Iterator[_SettingsReader]:
    spec = find_spec("a2a_contract")
    form = Path(spec.origin or "").parent / "schemas" / "project.json" if spec else None
    if form is None or not form.is_file():
        return
    schema: dict[str, Json] = json.loads(form.read_text(encoding="utf-8"))
    for error in jsonschema_rs.validator_for(schema).iter_errors(data):
        pointer = "".join(f"/{escape_key(str(step))}" for step in error.instance_path)
        match error.kind:
            case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected=names):
                known = sorted(_list_keys(schema, error.schema_path))
                yield from ((f"{pointer}/{escape_key(name)}", "A2A-K03", f"unknown setting {name}", _suggest_key(name, known)) for name in names)
            case jsonschema_rs.ValidationErrorKind.Required(property=name):
                yield pointer, "A2A-K03", f"{name} is required", f"add {name} = …"
            case _:
                text = f"{error.message[:1].lower()}{error.message[1:]}"
                yield pointer, "A2A-K03", text, _describe_value(_follow_path(schema, error.schema_path))


def _list_keys(schema: dict[str, Json], path: Sequence[str | int]) -> Iterable[str]:
    """List the settings of the table that an error belongs to."""
    return schemas.members(_follow_path(schema, path)[-1], "properties")


def _describe_value(path: Sequence[dict[str, Json]]) -> str:
    """Describe what a value should be: in the words of the nearest schema that has some."""
    description = next((text for each in reversed(path) if (text := schemas.text(each, "description"))), "")
    return f"correct the value: {description}".rstrip(".")


def _suggest_key(name: str, known: Sequence[str]) -> str:
    similar = get_close_matches(name, known, 1)
    return f"write {similar[0]}" if similar else f"use one of {', '.join(known)}"


def _follow_path(schema: dict[str, Json], path: Sequence[str | int]) -> Sequence[dict[str, Json]]:
    """List the schemas on the way to a keyword, from the outside in."""
    node: Json = schema
    found = [schema]
    for step in path[:-1]:
        match node, step:
            case dict(), str():
                node = node.get(step)
            case list(), int():
                node = node[step]
            case _:
                break
        if isinstance(node, dict):
            found.append(node)
    return found


def _check_rules(document: Document, data: Mapping[str, object]) -> Iterator[Problem]:
    """Report what ``a2a-gen serve`` would refuse; handlers may be missing, an application can register its own."""
    for level, found in ((Level.ERROR, check_project(data)), (Level.WARNING, check_handlers(data))):
        for each in found:
            pointer = "".join(f"/{escape_key(str(step))}" for step in each.path)
            yield Problem(document.place_at(pointer), "A2A-K09", each.text, each.cure, level)


def _check_names(skills: tuple[SkillSettings, ...]) -> Iterator[_SettingsReader]:
    seen: dict[str, str] = {}
    for skill in skills:
        pointer = f"/skills/{escape_key(skill.id)}"
        other = seen.setdefault(skill.method, skill.id)
        if other != skill.id:
            yield pointer, "A2A-K04", f"skills {other} and {skill.id} have the same method name {skill.method}", "rename one of them"
        if skill.streams and skill.facts.get("answers") == "message":
            text = f"skill {skill.id} streams and answers with a message, but only tasks can stream"
            yield f"{pointer}/answers", "A2A-K05", text, 'remove answers = "message" or streaming = true'
