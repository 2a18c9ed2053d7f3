"""The build of an agent's package: read the project, check its schemas, emit the files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import jsonschema_rs

from a2a_gen.agent import models, modules, schemas
from a2a_gen.agent.ir import AgentIR, ReachableSchemas, build_agent_ir, collect_schemas
from a2a_gen.agent.schemas import Library, Schema, SchemaRef
from a2a_gen.agent.settings import read_settings
from a2a_gen.agent.type_builder import TypeBuilder
from a2a_gen.problems import ContractError, Level, Problem, has_errors
from a2a_gen.source.json_text import Json, escape_key
from a2a_gen.source.project import Project

# --- checks of schema files ---

SUPPORTED_DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)


def check(library: Library) -> Iterator[Problem]:
    """Check every file that was read."""
    for path, document in library.files.items():
        if not document.path.endswith(".toml"):
            yield from _find_invalid_schemas(library, path, document.data)
            yield from _find_slow_patterns(library, SchemaRef(path), document.data)


def _find_invalid_schemas(library: Library, path: str, data: Json) -> Iterator[Problem]:
    """Report documents that are not valid JSON Schemas."""
    draft = data.get("$schema", SUPPORTED_DRAFTS[0]) if isinstance(data, dict) else SUPPORTED_DRAFTS[0]
    if not isinstance(draft, str) or draft.rstrip("#") not in SUPPORTED_DRAFTS:
        place = library.place(SchemaRef(path, "/$schema"))
        yield Problem(place, "A2A-K06", f"$schema: {draft!r} is not a supported draft of JSON Schema", f"use one of {', '.join(SUPPORTED_DRAFTS)}")
        return
    for error in jsonschema_rs.validator_for({"$schema": draft, "$ref": draft}, validate_formats=True, offline=True).iter_errors(data):
        pointer = "".join(f"/{escape_key(str(step))}" for step in error.instance_path)
        text = f"not a valid JSON Schema: {error.message[:1].lower()}{error.message[1:]}"
        yield Problem(library.place(SchemaRef(path, pointer)), "A2A-K06", text, "follow the draft named in $schema")


def _find_slow_patterns(library: Library, place: SchemaRef, schema: Json) -> Iterator[Problem]:
    """Report patterns with look-around or back-references: a backtracking engine can take seconds for a long text."""
    if not isinstance(schema, dict):
        return
    by_pointer = {"/pattern": schemas.text(schema, "pattern")}
    by_pointer |= {f"/patternProperties/{escape_key(name)}": name for name in schemas.members(schema, "patternProperties")}
    for pointer, pattern in by_pointer.items():
        if _TRIED.search(_LITERAL.sub("", pattern)):
            where = library.place(SchemaRef(place.file, place.pointer + pointer))
            text = f"the pattern {pattern} uses look-around or back-references; matching a long text may take seconds"
            yield Problem(where, "A2A-K10", text, r"rewrite it without (?=…), (?!…), (?<=…), (?<!…) and \1", Level.WARNING)
    for inner, part in _direct_subschemas(place, schema):
        yield from _find_slow_patterns(library, inner, part)


def _direct_subschemas(place: SchemaRef, schema: Schema) -> Iterator[tuple[SchemaRef, Json]]:
    """List the direct subschemas, definitions included."""
    by_pointer = {f"/{holder}/{escape_key(name)}": each for holder in schemas.HOLDERS for name, each in schemas.members(schema, holder).items()}
    for pointer, part in (*schemas.subschemas(schema), *by_pointer.items()):
        yield SchemaRef(place.file, place.pointer + pointer), part


_LITERAL = re.compile(r"\\[^1-9k]|\[(?:\\.|[^]\\])*\]")
_TRIED = re.compile(r"\(\?(?:<?[=!])|\\[1-9]|\\k<")


@dataclass(frozen=True, slots=True)
class AgentBuild:
    """The agent of a project, the texts of the files it was read from, and the problems that were found."""

    agent: AgentIR
    inputs: Mapping[str, bytes]
    problems: tuple[Problem, ...]


def read_agent(project: Project) -> AgentBuild:
    """Read the agent of a project, or raise ``ContractError`` with every problem of its file and its schemas."""
    found, reached, library = _find_problems(project)
    if has_errors(found):
        raise ContractError(found)
    inputs = {project.config.name: project.config.read_bytes(), **{path: document.text.encode() for path, document in library.files.items()}}
    types = TypeBuilder(reached.catalogue)
    return AgentBuild(build_agent_ir(reached, types.definitions), inputs, (*found, *types.warnings))


def problems(project: Project) -> tuple[Problem, ...]:
    """Find every problem of an agent: errors and warnings."""
    found, reached, _ = _find_problems(project)
    if has_errors(found):
        return found
    try:
        return (*found, *TypeBuilder(reached.catalogue).warnings)
    except ContractError as error:
        return (*found, *error.problems)


def _find_problems(project: Project) -> tuple[tuple[Problem, ...], ReachableSchemas, Library]:
    settings = read_settings(project.config)
    library = Library(project.root, settings.document)
    reached = collect_schemas(settings, library)
    return tuple(dict.fromkeys((*settings.problems, *library.problems, *check(library)))), reached, library


def emit(agent: AgentIR) -> dict[str, bytes]:
    """Emit the files of the package."""
    return {**models.emit(agent.definitions, agent.modules), **modules.emit(agent)}
