"""Package of a client for a remote agent: types, client and table of skills from the schemas of its
card, beside a snapshot of what was fetched.

An agent serves each schema whole. Definitions with the same name and the same text become one type
again; other definitions of that name get the name of their skill as a prefix.

    client.lock.json   the address of the card, and the SHA-256 of the card, of every schema (by
                       skill and use) and of every file of the package
    card.json          the card
    schemas/           the schemas as they were served
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from a2a_gen.agent import models, modules
from a2a_gen.agent.ir import TEXT, AgentIR, SkillIR, TypedSchemaIR
from a2a_gen.agent.models import assign_modules
from a2a_gen.agent.remote.card import CARD, SCHEMAS, PublishedSchema, RemoteAgent
from a2a_gen.agent.schemas import files as keywords
from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog, pascal
from a2a_gen.agent.schemas.checks import check_validity
from a2a_gen.agent.schemas.files import Library, Schema, SchemaRef
from a2a_gen.agent.settings import AgentSettings
from a2a_gen.agent.types import branches
from a2a_gen.agent.types.builder import TypeBuilder
from a2a_gen.emit.render import render
from a2a_gen.ir.names import skill_constant, skill_methods, skill_word
from a2a_gen.problems import ContractError, ProjectError
from a2a_gen.source.git import BaselineError
from a2a_gen.source.json_text import Json

# --- merging schemas ---


class MergedSchemas:
    """Files of merged definitions, one per draft, and the reference to each schema."""

    def __init__(self, schemas: Iterable[PublishedSchema]) -> None:
        self._drafts: dict[str, dict[str, Json]] = {}
        self.references: dict[tuple[str, str], str] = {}
        for each in schemas:
            self._add(each)

    @property
    def files(self) -> Mapping[str, bytes]:
        """Return the files by name."""
        return {
            _file(index): json.dumps({"$schema": draft, "$defs": definitions}).encode()
            for index, (draft, definitions) in enumerate(self._drafts.items())
        }

    def _add(self, served: PublishedSchema) -> None:
        schema = served.data
        draft = keywords.text(schema, "$schema") or "https://json-schema.org/draft/2020-12/schema"
        definitions = self._drafts.setdefault(draft, {})
        holder = next((each for each in keywords.HOLDERS if each in schema), "$defs")
        own = keywords.members(schema, holder)
        body: Json = {
            key: value for key, value in schema.items() if key not in {holder, "$schema", "$id"}
        }
        skill = pascal(skill_word(served.skill))
        root = pascal(keywords.text(schema, "title")) or f"{skill}{pascal(served.use)}"
        root = f"{root}Root" if root in own else root
        wanted: Schema = {
            name: _without_title(name, each) for name, each in {**own, root: body}.items()
        }
        names = self._names(wanted, served, definitions, holder)
        definitions |= {
            names[name]: _rename_references(each, names, holder) for name, each in wanted.items()
        }
        self.references[served.skill, served.use] = (
            f"{_file(list(self._drafts).index(draft))}#/$defs/{names[root]}"
        )

    def _names(
        self, definitions: Schema, served: PublishedSchema, taken: Schema, holder: str
    ) -> Mapping[str, str]:
        """Choose the names; a definition keeps its name when the existing one under that name has
        the same content.
        """
        names = {name: name for name in definitions}
        while clash := next(
            (
                name
                for name, new in names.items()
                if new in taken
                and taken[new] != _rename_references(definitions[name], names, holder)
            ),
            None,
        ):
            names[clash] = f"{pascal(skill_word(served.skill))}{names[clash]}"
        return names


def _without_title(name: str, schema: Json) -> Json:
    """Drop a title that only repeats the name: the served schema has it, a schema that is
    referenced elsewhere may not.
    """
    if not isinstance(schema, dict) or pascal(keywords.text(schema, "title")) != name:
        return schema
    return {key: value for key, value in schema.items() if key != "title"}


def _file(index: int) -> str:
    return f"agent{index + 1 if index else ''}.json"


def _rename_references(value: Json, names: Mapping[str, str], holder: str) -> Json:
    if isinstance(value, list):
        return [_rename_references(each, names, holder) for each in value]
    if not isinstance(value, dict):
        return value
    renamed: dict[str, Json] = {}
    for key, each in value.items():
        if key == "$ref" and isinstance(each, str):
            renamed[key] = _reference(each, names, holder)
        else:
            renamed[key] = _rename_references(each, names, holder)
    return renamed


def _reference(text: str, names: Mapping[str, str], holder: str) -> str:
    name = text.removeprefix(f"#/{holder}/")
    if name in names and name != text:
        return f"#/$defs/{names[name]}"
    return text


# --- snapshot ---

LOCK = "client.lock.json"


def files(remote: RemoteAgent) -> dict[str, bytes]:
    """Emit the files of the snapshot, by path relative to the package."""
    return {
        CARD: _card(remote),
        **{f"{SCHEMAS}/{each.file}": each.document for each in remote.schemas},
    }


def lock(remote: RemoteAgent, source: str, outputs: Mapping[str, bytes]) -> bytes:
    """Serialize the lock: the address of the card, the hashes of the snapshot and of every file of
    the package.
    """
    hashes: dict[str, dict[str, str]] = {}
    for each in remote.schemas:
        hashes.setdefault(each.skill, {})[each.use] = _hash(each.document)
    made = {path: _hash(content) for path, content in outputs.items()}
    members = {"source": source, "card": _hash(_card(remote)), "schemas": hashes, "outputs": made}
    return f"{json.dumps(members, indent=2, sort_keys=True)}\n".encode()


def find_leftovers(folder: Path) -> Mapping[str, str]:
    """Return the recorded hashes of a package's files; empty when there is no package."""
    try:
        outputs = schemas.members(json.loads((folder / LOCK).read_bytes()), "outputs")
    except (OSError, ValueError):
        return {}
    return {path: each for path, each in outputs.items() if isinstance(each, str)}


def find_edited(folder: Path) -> Iterator[tuple[str, str]]:
    """List the files that differ from their recorded hash, with the reason."""
    for path, made in find_leftovers(folder).items():
        file = folder / path
        if not file.is_file():
            yield path, "missing"
        elif _hash(file.read_bytes()) != made:
            yield path, "edited by hand"


def read_snapshot(folder: Path) -> RemoteAgent:
    """Read the snapshot, or raise ``BaselineError``."""
    try:
        lock: dict[str, Json] = json.loads((folder / LOCK).read_bytes())
        card: dict[str, Json] = json.loads(
            _read_unchanged(folder / CARD, schemas.text(lock, "card"))
        )
        return RemoteAgent(card, tuple(_schemas(folder, lock)))
    except OSError as error:
        raise BaselineError(
            f"{folder} has no generated client: {error.filename} cannot be read",
            "generate it first: a2a-gen client URL -o …",
        ) from None
    except ValueError:
        raise BaselineError(
            f"{folder / LOCK} is not the lock of a client",
            "generate the client again: a2a-gen client URL -o …",
        ) from None


def _card(remote: RemoteAgent) -> bytes:
    return f"{json.dumps(remote.card, indent=2, ensure_ascii=False)}\n".encode()


def _schemas(folder: Path, lock: dict[str, Json]) -> Iterator[PublishedSchema]:
    for skill, uses in schemas.members(lock, "schemas").items():
        for use, digest in uses.items() if isinstance(uses, dict) else ():
            served = PublishedSchema(skill, use, b"")
            yield PublishedSchema(
                skill, use, _read_unchanged(folder / SCHEMAS / served.file, digest)
            )


def _read_unchanged(file: Path, digest: Json) -> bytes:
    content = file.read_bytes()
    if _hash(content) != digest:
        raise ProjectError(
            f"{file} does not match its hash in {LOCK}",
            "undo the edit, or generate the client again",
        )
    return content


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()


_SOURCE = "the card of the agent"


def emit(remote: RemoteAgent, command: str) -> dict[str, bytes]:
    """Emit the files of the package; ``command`` regenerates it."""
    agent = _agent(remote, _methods(remote), command)
    name = f"{agent.class_name}Client"
    homes = [
        (home, names)
        for home, names in (("client", [name]), ("types", sorted(agent.modules)))
        if names
    ]
    names = sorted(chain.from_iterable(listed for _, listed in homes))
    says = f"Typed client of {agent.class_name}, generated from its card."
    return {
        **models.emit(
            agent.definitions, agent.modules, models.EmitOptions(source=_SOURCE, command=command)
        ),
        **modules.emit_client_modules(agent),
        "__init__.py": render(
            "package.py.jinja",
            sources=(_SOURCE,),
            command=command,
            says=says,
            homes=homes,
            names=names,
        ),
        **files(remote),
    }


def _methods(remote: RemoteAgent) -> Mapping[str, str]:
    """Name the method of each skill, or raise when there are no skills or when ids are
    duplicated.
    """
    counts = Counter(skill for skill, _ in remote.skills)
    if not counts:
        raise ProjectError("the card has no skills", "use the card of an agent with skills")
    if twice := [skill for skill, count in counts.items() if count > 1]:
        raise ProjectError(
            f"the card has several skills with the id {', '.join(map(repr, twice))}",
            "ask the operator of the agent to rename them",
        )
    return skill_methods(counts)


def _agent(remote: RemoteAgent, methods: Mapping[str, str], command: str) -> AgentIR:
    merged = MergedSchemas(remote.schemas)
    with TemporaryDirectory(prefix="a2a-gen-") as folder:
        for name, content in merged.files.items():
            Path(folder, name).write_bytes(content)
        library = Library(Path(folder))
        roots = {
            key: library.resolve(text, SchemaRef("card")) for key, text in merged.references.items()
        }
        catalogue = SchemaCatalog(library, {target: "" for target in roots.values() if target})
        wrong = [*library.problems, *check_validity(library)]
        if wrong:
            raise ContractError(wrong)
        definitions = TypeBuilder(catalogue).definitions
        found = branches.emit(definitions, catalogue)
    forms = {(each.skill, each.use): (roots[each.skill, each.use], each) for each in remote.schemas}

    def form(skill: str, use: str) -> TypedSchemaIR:
        target, served = forms.get((skill, use), (None, None))
        if target is None or served is None:
            return TEXT
        return TypedSchemaIR(catalogue.names[target], served.file, served.document)

    settings = AgentSettings({"agent": dict(remote.card)}, ())
    skills = tuple(
        SkillIR(
            id=skill,
            method=methods[skill],
            constant=skill_constant(methods[skill]),
            description=schemas.text(facts, "description") or skill,
            input=form(skill, "input"),
            output=form(skill, "output"),
            replies={},
            streams=skill in remote.streaming,
            handler=None,
            facts={},
        )
        for skill, facts in remote.skills
    )
    return AgentIR(
        settings, skills, definitions, assign_modules(definitions), found, _SOURCE, command
    )
