"""What the modules of a package are written from: every name and type decided, nothing left to templates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum

from a2a_gen.agent import schemas
from a2a_gen.agent.catalog import SchemaCatalog, bundle
from a2a_gen.agent.models import Definitions, assign_modules
from a2a_gen.agent.schemas import Library, SchemaRef
from a2a_gen.agent.settings import FILE, AgentSettings, SkillSettings
from a2a_gen.agent.type_builder import TypeBuilder
from a2a_gen.emit.render import BUILD, Code
from a2a_gen.ir.names import skill_constant
from a2a_gen.source.json_text import Json, escape_key


@dataclass(frozen=True, slots=True)
class TypedSchemaIR:
    """A schema of a skill: its type in Python, and the file that it is written to; plain text has no file."""

    type: str
    file: str | None = None
    document: bytes = b""

    @property
    def code(self) -> Code:
        """Write what makes the form."""
        return Code(f"TypedSchema[{self.type}]({self.type}, _SCHEMAS / {self.file!r})" if self.file else "TEXT")


TEXT = TypedSchemaIR("str")


@dataclass(frozen=True, slots=True)
class SkillIR:
    """A skill."""

    id: str
    method: str
    constant: str
    description: str
    input: TypedSchemaIR
    output: TypedSchemaIR
    replies: Mapping[str, TypedSchemaIR]
    streams: bool
    handler: str | None
    facts: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class AgentIR:
    """An agent; ``source`` and ``command`` are what the files of its package say of where they come from."""

    settings: AgentSettings
    skills: tuple[SkillIR, ...]
    definitions: Definitions
    modules: Mapping[str, str]
    source: str = FILE
    command: str = BUILD

    @property
    def class_name(self) -> str:
        """Give what the names of its classes begin with."""
        return self.settings.class_name

    @property
    def own_skills(self) -> tuple[SkillIR, ...]:
        """List the skills that the service class does."""
        return tuple(skill for skill in self.skills if skill.handler is None)


# What the card shows of a skill, as ``Agent.add`` takes it.
_FACTS = ("name", "description", "tags", "examples", "input_modes", "output_modes", "answers", "timeout", "restartable", "require", "only_extended")


@dataclass(frozen=True, slots=True)
class ReachableSchemas:
    """The schemas that the skills of an agent lead to, by skill and use; what leads nowhere is a problem of the library."""

    settings: AgentSettings
    roots: Mapping[tuple[str, str], SchemaRef | None]
    catalogue: SchemaCatalog


def collect_schemas(settings: AgentSettings, library: Library) -> ReachableSchemas:
    """Follow every reference."""
    roots = {
        (skill.id, use): library.resolve(text, SchemaRef(FILE, f"/skills/{escape_key(skill.id)}/{use.replace('ask.', 'asks/')}"))
        for skill in settings.skills
        for use, text in skill.references.items()
    }
    return ReachableSchemas(settings, roots, SchemaCatalog(library, {target: None for target in roots.values() if target}))


def build_agent_ir(reached: ReachableSchemas) -> AgentIR:
    """Decide everything about an agent with which nothing is wrong."""
    settings, roots, catalogue = reached.settings, reached.roots, reached.catalogue
    definitions = TypeBuilder(catalogue).definitions
    agent = schemas.text(settings.agent, "name")

    def form(skill: SkillSettings, use: str) -> TypedSchemaIR:
        target = roots.get((skill.id, use))
        if target is None:
            return TEXT
        return TypedSchemaIR(catalogue.names[target], f"{skill.id}.{use}.json", bundle(target, catalogue, f"urn:a2a-gen:{agent}:{skill.id}:{use}"))

    skills = tuple(_skill(skill, {use: form(skill, use) for use in ("input", "output", *skill.references)}, settings) for skill in settings.skills)
    return AgentIR(settings, skills, definitions, assign_modules(definitions))


def _skill(skill: SkillSettings, forms: Mapping[str, TypedSchemaIR], settings: AgentSettings) -> SkillIR:
    limits = schemas.members(settings.data, "limits")
    facts = {key: skill.facts[key] for key in _FACTS if key in skill.facts}
    if "timeout" not in facts and "timeout" in limits:
        facts["timeout"] = limits["timeout"]
    return SkillIR(
        id=skill.id,
        method=skill.method,
        constant=skill_constant(skill.method),
        description=schemas.text(skill.facts, "description"),
        input=forms["input"],
        output=forms["output"],
        replies={skill_constant(f"{skill.method}_asks_{use.removeprefix('ask.')}"): form for use, form in forms.items() if use.startswith("ask.")},
        streams=skill.streams,
        handler=schemas.text(skill.facts, "handler") or None,
        facts=facts,
    )


# The intermediate form of an agent as JSON, for people: what the generator made of the schemas.


def to_json(agent: AgentIR) -> bytes:
    """Write skills and types as readable JSON: the same everywhere."""
    shown = {
        "agent": agent.class_name,
        "skills": agent.skills,
        "types": {name: {"file": file, "module": agent.modules[name], "shape": shape} for name, (file, shape) in sorted(agent.definitions.items())},
    }
    return json.dumps(shown, default=_to_json_value, ensure_ascii=False, indent=2).encode() + b"\n"


def _to_json_value(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no part of an agent")
    members = {field.name: getattr(value, field.name) for field in fields(value)}
    return {"is": type(value).__name__} | {name: each for name, each in members.items() if each not in (None, "", b"", (), {})}
