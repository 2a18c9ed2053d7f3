"""Intermediate representation of an agent: every name and type is decided here, templates decide
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from a2a_gen.agent.models import Definitions, assign_modules
from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog, bundle
from a2a_gen.agent.schemas.files import Library, SchemaRef
from a2a_gen.agent.settings import FILE, AgentSettings, SkillSettings
from a2a_gen.agent.types import branches
from a2a_gen.emit.render import BUILD, Code
from a2a_gen.ir.dump import to_json_value
from a2a_gen.ir.names import skill_constant
from a2a_gen.source.json_text import Json, escape_key


@dataclass(frozen=True, slots=True)
class TypedSchemaIR:
    """A schema of a skill: its Python type and the file it is written to; plain text has no
    file.
    """

    type: str
    file: str | None = None
    document: bytes = b""

    @property
    def code(self) -> Code:
        """Return the expression that constructs the schema."""
        if self.file:
            return Code(f"TypedSchema[{self.type}]({self.type}, _SCHEMAS / {self.file!r})")
        return Code("TEXT")


TEXT = TypedSchemaIR("str")


@dataclass(frozen=True, slots=True)
class SkillIR:
    """A skill of an agent."""

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
    """An agent; ``source`` and ``command`` are what the headers of its generated files name."""

    settings: AgentSettings
    skills: tuple[SkillIR, ...]
    definitions: Definitions
    modules: Mapping[str, str]
    branches: bytes = b""
    source: str = FILE
    command: str = BUILD

    @property
    def class_name(self) -> str:
        """Return the prefix of its class names."""
        return self.settings.class_name

    @property
    def own_skills(self) -> tuple[SkillIR, ...]:
        """List the skills that the service class implements."""
        return tuple(skill for skill in self.skills if skill.handler is None)


# Arguments of `Agent.add` for a skill, as the card shows them.
_CARD = ("name", "description", "tags", "examples", "input_modes", "output_modes", "answers")
_RUNS = ("timeout", "restartable", "require", "accepts_messages", "default", "only_extended")
_WORKERS = (
    "runs_on",
    "queue",
    "concurrency",
    "priority",
    "retries",
    "retry_delay",
    "retry_max_delay",
)
_FACTS = (*_CARD, *_RUNS, *_WORKERS)


@dataclass(frozen=True, slots=True)
class ReachableSchemas:
    """The targets of the schema references of an agent, by skill and use; unresolved references are
    problems of the library.
    """

    settings: AgentSettings
    roots: Mapping[tuple[str, str], SchemaRef | None]
    catalogue: SchemaCatalog


def collect_schemas(settings: AgentSettings, library: Library) -> ReachableSchemas:
    """Resolve every reference."""
    roots: dict[tuple[str, str], SchemaRef | None] = {}
    for skill in settings.skills:
        for use, text in skill.references.items():
            key = use.replace("ask.", "asks/")
            place = SchemaRef(FILE, f"/skills/{escape_key(skill.id)}/{key}")
            roots[skill.id, use] = library.resolve(text, place)
    return ReachableSchemas(
        settings,
        roots,
        SchemaCatalog(library, {target: None for target in roots.values() if target}),
    )


def build_agent_ir(reached: ReachableSchemas, definitions: branches.Definitions) -> AgentIR:
    """Build the representation of an agent without errors."""
    settings = reached.settings
    roots = reached.roots
    catalogue = reached.catalogue
    agent = quote(schemas.text(settings.agent, "name"))

    def form(skill: SkillSettings, use: str) -> TypedSchemaIR:
        target = roots.get((skill.id, use))
        if target is None:
            return TEXT
        return TypedSchemaIR(
            catalogue.names[target],
            f"{skill.id}.{use}.json",
            bundle(target, catalogue, f"urn:a2a-gen:{agent}:{skill.id}:{use}"),
        )

    skills: list[SkillIR] = []
    for skill in settings.skills:
        uses = dict.fromkeys(("input", "output", *skill.references))
        skills.append(_skill(skill, {use: form(skill, use) for use in uses}, settings))
    return AgentIR(
        settings,
        tuple(skills),
        definitions,
        assign_modules(definitions),
        branches.emit(definitions, catalogue),
    )


def _skill(
    skill: SkillSettings, forms: Mapping[str, TypedSchemaIR], settings: AgentSettings
) -> SkillIR:
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
        replies={
            skill_constant(f"{skill.method}_asks_{use.removeprefix('ask.')}"): form
            for use, form in forms.items()
            if use.startswith("ask.")
        },
        streams=skill.streams,
        handler=schemas.text(skill.facts, "handler") or None,
        facts=facts,
    )


# --- output as JSON ---
def to_json(agent: AgentIR) -> bytes:
    """Serialize skills and types as readable JSON, equal on every machine."""
    members = {
        "agent": agent.class_name,
        "skills": agent.skills,
        "types": {
            name: {"file": file, "module": agent.modules[name], "shape": shape}
            for name, (file, shape) in sorted(agent.definitions.items())
        },
    }
    return json.dumps(members, default=to_json_value, ensure_ascii=False, indent=2).encode() + b"\n"
