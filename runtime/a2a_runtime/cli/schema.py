"""``a2a-gen schema``: the contract of an agent that is written in Python, as a project.

    contract/a2a.toml             its skills, each with references to its schemas
    contract/schema/types.json    the types of all typed functions
    contract/schema/….json        other schemas, one file for each use

Sources of skills are opened, and asked for what they offer now.

The project is for the compatibility check and for typed clients (``a2a-gen build``). The agent does
not read it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
from pydantic import TypeAdapter

from a2a_runtime.agent import Agent, SkillDefinition
from a2a_runtime.base.importing import ImportFromStringError, import_from_string
from a2a_runtime.cli import CommandError
from a2a_runtime.errors import SkillSourceError
from a2a_runtime.features.project.surfaces import PROJECT_FILE
from a2a_runtime.features.sources.catalog import read_skills
from a2a_runtime.skills.annotations import DRAFT, AnnotatedSchema
from a2a_runtime.skills.schema import TEXT, TypedSchema

MARK = "# Written by a2a-gen schema"
_TYPES = "schema/types.json"
_REFERENCE = "#/$defs/"
_EXIT_STALE = 1
_EXAMPLES = """\b
Examples:
  a2a-gen schema app:agent                          write contract/
  a2a-gen schema app:agent -o contract --check      for CI: exit 1 if it is stale
  cd contract && a2a-gen build                      a typed client in Python
  cd contract && a2a-gen diff --against origin/main what the change breaks

\b
Exit codes: 0 success, 1 the files are stale, 2 usage error or a source that cannot be read."""


output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("contract"),
    show_default=True,
    help="Folder to write.",
)
check_option = click.option(
    "--check", is_flag=True, help="Write nothing; exit with 1 if a file is missing or differs."
)


@click.command(epilog=_EXAMPLES)
@click.argument("agent", metavar="MODULE:AGENT")
@output_option
@check_option
@click.pass_context
def command(context: click.Context, agent: str, output: Path, *, check: bool) -> None:
    """Write the schemas of an agent's typed functions, and those of its sources, to files."""
    found = import_argument(agent)
    if not isinstance(found, Agent):
        raise click.UsageError(f"{agent}: not an agent; name an Agent, such as app:agent")
    write_contract(context, found, output, f"a2a-gen schema {agent}", check=check)


def write_contract(
    context: click.Context, agent: Agent, output: Path, words: str, *, check: bool
) -> None:
    """Write the contract of an agent to a folder, or compare it; ``words`` are the command to run
    again.
    """
    files = {
        output / name: text for name, text in render_contract(agent, _read_skills(agent)).items()
    }
    stale = [
        path
        for path, text in files.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if check:
        for path in stale:
            click.echo(f"{path}: stale; run {words} -o {output}", err=True)
        context.exit(_EXIT_STALE if stale else 0)
    project = output / PROJECT_FILE
    if project.is_file() and not project.read_text(encoding="utf-8").startswith(MARK):
        raise CommandError(
            f"{project}: written by hand; choose another folder with -o, or remove the file"
        )
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
        click.echo(f"wrote {path}")


def import_argument(name: str) -> object:
    """Import what an argument names, or raise a usage error."""
    # Python does the same for the folder of a script
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_from_string(name)
    except ImportFromStringError as error:
        raise click.UsageError(f"{name}: {error}") from error


def _read_skills(agent: Agent) -> Mapping[str, SkillDefinition]:
    """Read the skills of an agent, also those of its sources, which are asked for them."""
    if not agent.sources:
        return agent.skills
    try:
        return asyncio.run(read_skills(agent))
    except SkillSourceError as error:
        raise CommandError(str(error)) from error


def render_contract(agent: Agent, skills: Mapping[str, SkillDefinition]) -> Mapping[str, str]:
    """Render the files of an agent's contract, by path."""
    uses: list[tuple[SkillDefinition, str, TypedSchema[object]]] = []
    for skill in skills.values():
        uses += [(skill, use, schema) for use, schema in _list_uses(skill)]
    typed = [
        (skill, use, schema) for skill, use, schema in uses if isinstance(schema, AnnotatedSchema)
    ]
    by_key, common = TypeAdapter.json_schemas(
        [((skill.id, use), schema.mode, schema.adapter) for skill, use, schema in typed]
    )
    definitions = dict(common.get("$defs", {}))
    references: dict[tuple[str, str], str] = {}
    files: dict[str, str] = {}
    for skill, use, annotated in typed:
        found = by_key[(skill.id, use), annotated.mode]
        name = ""
        if found.keys() == {"$ref"}:
            name = str(found["$ref"]).removeprefix(_REFERENCE)
        if not name:
            name = _to_class_name(skill.id, use)
            definitions[name] = found
        references[skill.id, use] = f"{_TYPES}{_REFERENCE}{name}"
    for skill, use, schema in uses:
        if not isinstance(schema, AnnotatedSchema):
            path = references[skill.id, use] = f"schema/{skill.id}.{use}.json"
            files[path] = _to_json(schema.schema)
    if definitions:
        files[_TYPES] = _to_json({"$schema": DRAFT, "$defs": dict(sorted(definitions.items()))})
    return {PROJECT_FILE: "\n".join(_render_project(agent, skills, references)) + "\n", **files}


def _list_uses(skill: SkillDefinition) -> Iterator[tuple[str, TypedSchema[object]]]:
    if skill.contract is None:
        return
    yield from skill.contract.schemas.items()
    for schema in skill.contract.replies:
        if schema is not TEXT:
            yield f"ask.{_to_ask_name(schema)}", schema


def _render_project(
    agent: Agent, skills: Mapping[str, SkillDefinition], references: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    yield f"{MARK}, for the compatibility check and typed clients. Do not edit."
    yield from (
        "",
        "[agent]",
        f"name = {_quote(agent.name)}",
        f"description = {_quote(agent.description or agent.name)}",
    )
    yield f"version = {_quote(agent.version)}"
    for skill in skills.values():
        yield from (
            "",
            f"[skills.{_quote(skill.id)}]",
            f"description = {_quote(skill.description or skill.id)}",
        )
        if skill.can_merge or (skill.contract is not None and skill.contract.streams):
            yield "streaming = true"
        asks: list[str] = []
        for (skill_id, use), reference in references.items():
            if skill_id == skill.id and use.startswith("ask."):
                asks.append(f"{use.removeprefix('ask.')} = {_quote(reference)}")
            elif skill_id == skill.id:
                yield f"{use} = {_quote(reference)}"
        if asks:
            yield f"asks = {{ {', '.join(asks)} }}"
    yield from ("", "[outputs]", f"package = {_quote(_to_package(agent.name))}")


def _to_ask_name(schema: TypedSchema[object]) -> str:
    name = (
        re.sub(
            r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", schema.id.rpartition("ask.")[2] or "reply"
        )
        .lower()
        .strip("_")
    )
    if name[:1].isalpha():
        return name
    return f"ask_{name}"


def _to_class_name(skill_id: str, use: str) -> str:
    return "".join(
        word[:1].upper() + word[1:]
        for word in re.split(r"[^A-Za-z0-9]+", f"{skill_id}.{use}")
        if word
    )


def _to_package(name: str) -> str:
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not word[:1].isalpha():
        word = f"agent_{word}"
    return f"{word}_contract"


def _quote(text: str) -> str:
    """Quote a text for TOML, whose basic strings are those of JSON without the control character
    DEL.
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
