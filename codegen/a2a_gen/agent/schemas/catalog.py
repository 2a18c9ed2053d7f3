"""The catalog of schemas that the skills reach, with one Python name each, and the bundles that
serve them.

A definition keeps the name that its author gave it. The schema of a whole file is named by its
title, else by its file. When two schemas want one name, the later one gets the name of its file as
a prefix; whole files come first, then definitions, in the order of files and pointers.

A bundle is one self-contained schema per payload: the text of its author with all referenced
definitions included. Only references change: they lead to definitions of the same document, so a
validator without the project's files gives the same result as one that has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from keyword import iskeyword
from pathlib import PurePosixPath
from urllib.parse import quote

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.files import Library, SchemaRef
from a2a_gen.source.json_text import Json, unescape_key
from a2a_gen.source.references import PROTOCOL_PREFIX

# Names that modules of models import, and names that Python has already.
_TAKEN = frozenset(
    """
    ABC Agent Annotated Any AsyncIterator Base16Text Base64Text BaseModel BinaryText
    BranchSelector CheckedModel ClosedCheckedModel ClosedModel ConfigDict DateText DateTimeText
    DefaultValue DurationText False Field Json Literal None Number Optional PackageSchema Question
    RestItems SchemaMismatchError SkillClient SkillContext SkillContract SkillModel Surface
    TYPE_CHECKING TimeText True TypeAlias TypeAliasType Union UuidText
    """.split()  # noqa: SIM905 - a list would take ten lines
)
# A fragment of a URI holds these characters as they are.
_POINTER = "/~!$&'()*+,;=:@"
_WORD = re.compile(r"[A-Za-z0-9]+")


class SchemaCatalog:
    """The schemas that are reachable from some roots, by name."""

    def __init__(self, library: Library, roots: Iterable[SchemaRef]) -> None:
        self.library = library
        self._references: dict[tuple[SchemaRef, str], SchemaRef | None] = {}
        self.targets = sorted(self._find_reachable(roots))
        self._taken: set[str] = set(_TAKEN)
        self._taken |= {
            pascal(target.pointer.rpartition("/")[2])
            for target in self.targets
            if target.file.startswith(PROTOCOL_PREFIX)
        }
        own = [target for target in self.targets if not target.file.startswith(PROTOCOL_PREFIX)]
        names = {
            target: self._name(target)
            for target in sorted(own, key=lambda target: (target.pointer != "", target))
        }
        self.names = {target: names[target] for target in own}

    def follow(self, origin: SchemaRef, text: str) -> SchemaRef | None:
        """Return the target of a reference that was resolved before."""
        return self._references.get((self._resource(origin), text)) or self.library.resolve(
            text, origin
        )

    def _resource(self, origin: SchemaRef) -> SchemaRef:
        return SchemaRef(origin.file, self.library.resource(origin))

    def unique(self, name: str, file: str) -> str:
        """Return a name that is not taken yet."""
        stem = pascal(PurePosixPath(file).name.partition(".")[0])
        tries = chain((name, f"{stem}{name}"), (f"{name}{number}" for number in count(2)))
        name = next(each for each in tries if each not in self._taken)
        self._taken.add(name)
        return name

    def _find_reachable(self, roots: Iterable[SchemaRef]) -> Iterator[SchemaRef]:
        waiting = list(roots)
        seen = set[SchemaRef]()
        while waiting:
            target = waiting.pop()
            if target in seen:
                continue
            seen.add(target)
            yield target
            waiting.extend(self._references_in(target, self.library.value(target)))

    def _references_in(self, place: SchemaRef, schema: Json) -> Iterator[SchemaRef]:
        if not isinstance(schema, dict):
            return
        text = schemas.reference(schema)
        if text is not None:
            if "$recursiveRef" in schema:
                self.library.refuse_nested(place)
            found = self.library.resolve(text, place)
            self._references[self._resource(place), text] = found
            if found is not None:
                yield found
        for pointer, part in schemas.subschemas(schema):
            yield from self._references_in(SchemaRef(place.file, place.pointer + pointer), part)

    def _name(self, target: SchemaRef) -> str:
        holder, _, tail = target.pointer.rpartition("/")
        title = pascal(schemas.text(self.library.value(target), "title"))
        stem = pascal(PurePosixPath(target.file).name.partition(".")[0])
        if holder.rpartition("/")[2] in schemas.HOLDERS:
            wanted = pascal(unescape_key(tail))
        elif target.pointer:
            wanted = stem + pascal(unescape_key(tail))
        else:
            wanted = title or pascal(PurePosixPath(target.file).stem.removesuffix(".schema"))
        return self.unique(wanted or stem or "Value", target.file)


def pascal(text: str) -> str:
    """Convert a name to a class name: ``generate-report`` becomes ``GenerateReport``."""
    name = "".join(word[:1].upper() + word[1:] for word in _WORD.findall(text))
    if name[:1].isdigit() or iskeyword(name):
        return f"Type{name}"
    return name


DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAMES = frozenset({"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$schema"})


def bundle(root: SchemaRef, catalogue: SchemaCatalog, identifier: str) -> bytes:
    """Serialize the self-contained schema of a target."""
    library = catalogue.library
    document = library.value(SchemaRef(root.file))
    draft = schemas.text(document, "$schema") or DRAFT
    holder = "definitions" if schemas.is_old(draft) else "$defs"
    used: dict[SchemaRef, str] = {}
    schema = _copy_schema(library.value(root), root, catalogue, (holder, used))
    definitions: dict[str, Json] = {}
    while missing := [target for target in used if used[target] not in definitions]:
        for target in missing:
            definitions[used[target]] = _copy_schema(
                library.value(target), target, catalogue, (holder, used)
            )
    own = schemas.text(library.value(root), "$id")
    head: dict[str, Json] = {
        "$schema": draft,
        "$id": own if "://" in own or own.startswith("urn:") else identifier,
    }
    body: dict[str, Json] = schema if isinstance(schema, dict) else {"allOf": [schema]}
    # Readers of this document alone use the same name of a type.
    if root in catalogue.names and root.pointer and "title" not in body:
        body = {"title": catalogue.names[root], **body}
    # Drafts before 2019-09 ignore keywords beside $ref, so it gets a schema of its own.
    if "$ref" in body:
        body = {"allOf": [body]}
    if definitions:
        body = {**body, holder: dict(sorted(definitions.items()))}
    return f"{json.dumps({**head, **body}, indent=2, ensure_ascii=False)}\n".encode()


def bundle_all(
    place: SchemaRef, catalogue: SchemaCatalog, documents: dict[str, Json]
) -> tuple[str, str]:
    """Return the address of a schema in a document with all schemas, of which there is one for each
    draft; ``documents`` collects them.
    """
    draft = schemas.text(catalogue.library.value(SchemaRef(place.file)), "$schema") or DRAFT
    holder = "definitions" if schemas.is_old(draft) else "$defs"
    address = f"urn:a2a-gen:branches:{'-'.join(_WORD.findall(draft))}"
    if address not in documents:
        used = {
            target: catalogue.names[target]
            for target in catalogue.targets
            if target in catalogue.names
        }
        definitions: dict[str, Json] = {}
        while missing := [target for target in used if used[target] not in definitions]:
            for target in missing:
                definitions[used[target]] = _copy_schema(
                    catalogue.library.value(target), target, catalogue, (holder, used)
                )
        documents[address] = {"$schema": draft, "$id": address, holder: definitions}
    target = max(
        (
            each
            for each in catalogue.names
            if each.file == place.file and _is_within(place.pointer, each.pointer)
        ),
        key=lambda each: len(each.pointer),
    )
    inside = quote(place.pointer.removeprefix(target.pointer), safe=_POINTER)
    return address, f"#/{holder}/{catalogue.names[target]}{inside}"


def bundle_together(
    places: Sequence[SchemaRef], catalogue: SchemaCatalog, documents: dict[str, Json]
) -> str:
    """Return the address of a schema that says what the schemas at some places say together."""
    addresses = [bundle_all(place, catalogue, documents) for place in places]
    references: list[Json] = [{"$ref": "".join(each)} for each in addresses]
    if len(references) == 1:
        return "".join(addresses[0])
    document = documents[addresses[0][0]]
    holder = next(
        each for each in schemas.HOLDERS if isinstance(document, dict) and each in document
    )
    definitions = document[holder] if isinstance(document, dict) else None
    if not isinstance(definitions, dict):
        raise TypeError(f"{addresses[0][0]}: no definitions")
    # Names of types begin with a capital, so this one is free.
    name = f"combined{len(definitions)}"
    definitions[name] = {"allOf": references}
    return f"{addresses[0][0]}#/{holder}/{name}"


def _is_within(pointer: str, outer: str) -> bool:
    return pointer == outer or pointer.startswith(f"{outer}/")


def _copy_schema(
    value: Json, place: SchemaRef, catalogue: SchemaCatalog, into: tuple[str, dict[SchemaRef, str]]
) -> Json:
    """Copy a schema, with its references leading to definitions that are recorded in ``into``."""
    if not isinstance(value, dict):
        return value
    parts = dict(schemas.subschemas(value))
    made: dict[str, Json] = {}
    for keyword, each in value.items():
        if keyword in schemas.REFERENCES and isinstance(each, str):
            made["$ref"] = _to_local_reference(each, place, catalogue, into)
        elif keyword not in _NAMES and keyword not in schemas.HOLDERS:
            made[keyword] = each
    for pointer, part in parts.items():
        steps = pointer.split("/")[1:]
        copied = _copy_schema(part, SchemaRef(place.file, place.pointer + pointer), catalogue, into)
        _put(made, steps, copied)
    return made


def _put(made: dict[str, Json], steps: list[str], part: Json) -> None:
    keyword = steps[0]
    key = steps[1].replace("~1", "/").replace("~0", "~") if len(steps) > 1 else None
    holder = made[keyword]
    if key is None:
        made[keyword] = part
    elif isinstance(holder, dict):
        made[keyword] = {**holder, key: part}
    elif isinstance(holder, list):
        changed = list(holder)
        changed[int(key)] = part
        made[keyword] = changed


def _to_local_reference(
    text: str, place: SchemaRef, catalogue: SchemaCatalog, into: tuple[str, dict[SchemaRef, str]]
) -> str:
    holder, used = into
    target = catalogue.follow(place, text)
    if target is None:
        return text
    if target not in used:
        if target.file.startswith(PROTOCOL_PREFIX):
            wanted = target.pointer.rpartition("/")[2]
        else:
            wanted = catalogue.names[target]
        used[target] = wanted if wanted not in used.values() else f"{wanted}{len(used)}"
    return f"#/{holder}/{used[target]}"
