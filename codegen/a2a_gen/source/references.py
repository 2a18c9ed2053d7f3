"""References between the types of a contract: where they lead, and what can be wrong with them.

A reference is a file relative to its own, a ``#`` and ``/$defs/`` with a type's name. Everything else is refused: a build reads nothing but its
folder, and only a named type has a name in Python.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from a2a_gen.problems import Place, Problem, Violation
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key, unescape_key

# Walking through JSON Schemas: which of the values in a file are schemas, and which are data.
#
# A rule that looked at every object in a file would take an example or a default for a schema, and a property called ``not`` for a keyword.
#

PROTOCOL_PREFIX = "a2a:"
"""How a reference to a type of the protocol begins, as in ``a2a:v1_0#/$defs/Part``."""

_SCHEMA_KEYWORDS = (
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_SCHEMA_LIST_KEYWORDS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAP_KEYWORDS = ("$defs", "dependentSchemas", "patternProperties", "properties")


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema inside a file: where it is, what it says, and under which keyword of its parent it stands."""

    pointer: str
    data: Json
    keyword: str = ""

    @property
    def members(self) -> dict[str, Json]:
        """The keywords of the schema; a boolean schema has none."""
        return self.data if isinstance(self.data, dict) else {}


def iter_schemas(root: Json) -> Iterator[Schema]:
    """Yield a schema and every schema within it, from the outside in and in the order of the text."""
    waiting = [Schema("", root)]
    while waiting:
        schema = waiting.pop()
        yield schema
        waiting.extend(reversed(list(_iter_subschemas(schema))))


def _iter_subschemas(schema: Schema) -> Iterator[Schema]:
    for keyword, value in schema.members.items():
        pointer = f"{schema.pointer}/{escape_key(keyword)}"
        if keyword in _SCHEMA_KEYWORDS and isinstance(value, dict | bool):
            yield Schema(pointer, value, keyword)
        elif keyword in _SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            yield from (Schema(f"{pointer}/{index}", each, keyword) for index, each in enumerate(value))
        elif keyword in _SCHEMA_MAP_KEYWORDS and isinstance(value, dict):
            yield from (Schema(f"{pointer}/{escape_key(name)}", each, keyword) for name, each in value.items())


_TYPES_POINTER = "/$defs/"


@dataclass(frozen=True, slots=True)
class Reference:
    """One ``$ref``: where it stands, and the file and pointer that it means."""

    place: Place
    text: str
    file: str
    pointer: str

    @property
    def is_remote(self) -> bool:
        """Whether it means something on another machine."""
        return "://" in self.text

    @property
    def type_name(self) -> str:
        """The name of the type that it means, empty when it means something else."""
        name = self.pointer.removeprefix(_TYPES_POINTER)
        return unescape_key(name) if self.pointer.startswith(_TYPES_POINTER) and "/" not in name else ""


def resolve_reference(document: Document, text: str, pointer: str = "") -> Reference:
    """Find out what a ``$ref`` in a file means."""
    file, _, target = text.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), file)) if file else document.path
    return Reference(document.place_at(pointer), text, path, target)


def iter_references(document: Document) -> Iterator[Reference]:
    """Yield every ``$ref`` of a file."""
    for schema in iter_schemas(document.data):
        text = schema.members.get("$ref")
        if isinstance(text, str):
            yield resolve_reference(document, text, f"{schema.pointer}/$ref")


def find_unresolved_references(documents: Mapping[str, Document]) -> Iterator[Problem]:
    """Yield a problem for every reference that leads to no type of this contract."""
    for document in documents.values():
        for reference in iter_references(document):
            if not reference.is_remote:
                yield from _check_reference(reference, documents)


def _check_reference(reference: Reference, documents: Mapping[str, Document]) -> Iterator[Problem]:
    place, text = reference.place, reference.text
    if reference.file.startswith(("..", "/")):
        yield Problem(place, "A2A-R01", f"{text} leads out of the contract's folder", "copy what it means into the contract")
    elif reference.file not in documents:
        cure = f"correct the path; it begins at {posixpath.dirname(place.file) or 'the root'}"
        yield Problem(place, "A2A-R02", f"there is no file {reference.file}", cure)
    elif not reference.type_name:
        yield Problem(place, "A2A-R03", f"{text} names no type", "end it with #/$defs/ and the name of a type")
    elif reference.type_name not in list_type_names(documents[reference.file]):
        yield Problem(place, "A2A-R04", f"{reference.file} has no type {reference.type_name}", "correct the name, or write the type")


def list_type_names(document: Document) -> tuple[str, ...]:
    """List the names of the types that a file holds."""
    types = document.data.get("$defs") if isinstance(document.data, dict) else None
    return tuple(types) if isinstance(types, dict) else ()


def find_remote_references(documents: Mapping[str, Document]) -> Iterator[Violation]:
    """Find every reference to something on another machine."""
    for document in documents.values():
        for reference in iter_references(document):
            if reference.is_remote:
                yield reference.place, f"{reference.text} is on another machine"


def find_file_cycles(documents: Mapping[str, Document]) -> Iterator[Violation]:
    """Find a circle of files that refer to each other; the types inside one file may."""
    graph = {path: {each.file for each in iter_references(document)} - {path} for path, document in documents.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        circle.reverse()
        first = min(reference.place for reference in iter_references(documents[circle[0]]) if reference.file == circle[1])
        yield first, f"files refer to each other in a circle: {' -> '.join(circle)}"
