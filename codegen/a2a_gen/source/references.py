"""Schemas within a document, and references between the types of a contract.

Rules walk schemas, not every object of a file: an example or a default is data, and a property
named ``not`` is not a keyword. A reference is a relative file, ``#`` and ``/$defs/`` with the name
of a type. Every other form is refused: a build reads only its own folder, and only a named type has
a name in Python.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from urllib.parse import urljoin

from a2a_gen.problems import Place, Problem, Violation
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key, unescape_key

PROTOCOL_PREFIX = "a2a:"
"""Prefix of a reference to a protocol type, as in ``a2a:v1_0#/$defs/Part``."""

_SCHEMA_KEYWORDS = (
    "additionalItems",
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
_SCHEMA_LIST_KEYWORDS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_DEFINITION_KEYWORDS = ("$defs", "definitions")
_SCHEMA_MAP_KEYWORDS = ("dependencies", "dependentSchemas", "patternProperties", "properties")


def join_address(base: str, address: str) -> str:
    """Resolve an address that may be relative to another.

    One that is no URL stays as it is, and leads nowhere.
    """
    try:
        return urljoin(base, address)
    except ValueError:
        return address


def split_fragment(reference: str) -> tuple[str, str]:
    """Split a reference into its address, which may be no URL, and its fragment."""
    address, _, fragment = reference.partition("#")
    return address, fragment


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema inside a file: its pointer, its data, and the keyword of its parent."""

    pointer: str
    data: Json
    keyword: str = ""

    @property
    def members(self) -> dict[str, Json]:
        """The keywords of the schema; a boolean schema has none."""
        if isinstance(self.data, dict):
            return self.data
        return {}


def iter_schemas(root: Json, *, has_definitions: bool = True) -> Iterator[Schema]:
    """Yield a schema and every schema within it, in the order of the text; definitions say nothing
    about a value, unless it refers to them.
    """
    maps = (*_SCHEMA_MAP_KEYWORDS, *(_DEFINITION_KEYWORDS if has_definitions else ()))
    waiting = [Schema("", root)]
    while waiting:
        schema = waiting.pop()
        yield schema
        waiting.extend(reversed(list(_iter_subschemas(schema, maps))))


def _iter_subschemas(schema: Schema, maps: tuple[str, ...]) -> Iterator[Schema]:
    for keyword, value in schema.members.items():
        pointer = f"{schema.pointer}/{escape_key(keyword)}"
        if keyword in _SCHEMA_KEYWORDS and isinstance(value, dict | bool):
            yield Schema(pointer, value, keyword)
        elif keyword in _SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            yield from (
                Schema(f"{pointer}/{index}", each, keyword) for index, each in enumerate(value)
            )
        elif keyword in maps and isinstance(value, dict):
            yield from (
                Schema(f"{pointer}/{escape_key(name)}", each, keyword)
                for name, each in value.items()
                if not isinstance(each, list)
            )


_TYPES_POINTER = "/$defs/"


@dataclass(frozen=True, slots=True)
class Reference:
    """One ``$ref``: its place, and the file and pointer that it refers to."""

    place: Place
    text: str
    file: str
    pointer: str

    @property
    def is_remote(self) -> bool:
        """True if the reference is a URL."""
        return "://" in self.text

    @property
    def type_name(self) -> str:
        """The name of the type that it refers to, or an empty string."""
        name = self.pointer.removeprefix(_TYPES_POINTER)
        if self.pointer.startswith(_TYPES_POINTER) and "/" not in name:
            return unescape_key(name)
        return ""


def resolve_reference(document: Document, text: str, pointer: str = "") -> Reference:
    """Resolve a ``$ref`` of a document to a file and pointer."""
    file, _, target = text.partition("#")
    path = document.path
    if file:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), file))
    return Reference(document.place_at(pointer), text, path, target)


def iter_references(document: Document) -> Iterator[Reference]:
    """Yield every ``$ref`` of a document."""
    for schema in iter_schemas(document.data):
        text = schema.members.get("$ref")
        if isinstance(text, str):
            yield resolve_reference(document, text, f"{schema.pointer}/$ref")


def find_unresolved_references(documents: Mapping[str, Document]) -> Iterator[Problem]:
    """Yield a problem for every reference without a type in this contract."""
    for document in documents.values():
        for reference in iter_references(document):
            if not reference.is_remote:
                yield from _check_reference(reference, documents)


def _check_reference(reference: Reference, documents: Mapping[str, Document]) -> Iterator[Problem]:
    place = reference.place
    text = reference.text
    if reference.file.startswith(("..", "/")):
        yield Problem(
            place,
            "A2A-R01",
            f"{text}: reference leads out of the contract folder",
            "copy the target into the contract",
        )
    elif reference.file not in documents:
        cure = (
            "correct the path; it is relative to "
            f"{posixpath.dirname(place.file) or 'the contract folder'}"
        )
        yield Problem(place, "A2A-R02", f"{text}: file {reference.file} does not exist", cure)
    elif not reference.type_name:
        yield Problem(
            place,
            "A2A-R03",
            f"{text}: reference names no type",
            "end it with #/$defs/ and the name of a type",
        )
    elif reference.type_name not in list_type_names(documents[reference.file]):
        yield Problem(
            place,
            "A2A-R04",
            f"{text}: {reference.file} has no type {reference.type_name}",
            "correct the name, or add the type",
        )


def list_type_names(document: Document) -> tuple[str, ...]:
    """List the types of a document."""
    types = document.data.get("$defs") if isinstance(document.data, dict) else None
    if isinstance(types, dict):
        return tuple(types)
    return ()


def find_remote_references(documents: Mapping[str, Document]) -> Iterator[Violation]:
    """Find references to URLs."""
    for document in documents.values():
        for reference in iter_references(document):
            if reference.is_remote:
                yield reference.place, f"{reference.text}: remote reference"


def find_file_cycles(documents: Mapping[str, Document]) -> Iterator[Violation]:
    """Find a cycle of files that refer to each other; types inside one file may form cycles."""
    graph: dict[str, set[str]] = {}
    for path, document in documents.items():
        graph[path] = {each.file for each in iter_references(document)} - {path}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        circle.reverse()
        first = min(
            reference.place
            for reference in iter_references(documents[circle[0]])
            if reference.file == circle[1]
        )
        yield first, f"files refer to each other in a cycle: {' -> '.join(circle)}"
