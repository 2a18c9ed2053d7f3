"""One side of a comparison: files by path, and where a ``$ref`` leads among them. Nothing is read from a disk or a network here."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from a2a_gen.problems import Place
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key, unescape_key
from a2a_gen.source.references import PROTOCOL_PREFIX, iter_schemas

_DEFINITIONS = ("$defs", "definitions")

Location: TypeAlias = tuple[str, str]
"""A place without its line: file and JSON pointer."""


@dataclass(frozen=True, slots=True)
class SchemaLocation:
    """A schema and where it stands; two spots are one when they stand in the same place."""

    file: str
    pointer: str
    data: Json = field(compare=False, repr=False)

    @property
    def members(self) -> dict[str, Json]:
        """The keywords of the schema; a boolean schema has none."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def location(self) -> Location:
        """The place."""
        return self.file, self.pointer

    @property
    def name(self) -> str:
        """The name of the definition that this is, empty when it is none."""
        parent, _, name = self.pointer.rpartition("/")
        return unescape_key(name) if parent.rpartition("/")[2] in _DEFINITIONS else ""

    def descend(self, *steps: str | int) -> SchemaLocation | None:
        """Find the schema that some steps lead to from here."""
        data, pointer = self.data, self.pointer
        for step in steps:
            if isinstance(data, dict) and str(step) in data:
                data = data[str(step)]
            elif isinstance(data, list) and str(step).isdecimal() and int(step) < len(data):
                data = data[int(step)]
            else:
                return None
            pointer = f"{pointer}/{escape_key(str(step))}"
        return SchemaLocation(self.file, pointer, data)


@dataclass(frozen=True, eq=False)
class SchemaTree:
    """All files of one side, and the folder that shown paths begin with; ``beside`` are files without schemas in which something may be found."""

    documents: Mapping[str, Document]
    display_prefix: str = ""
    other_documents: Mapping[str, Document] = field(default_factory=dict[str, Document])

    @cached_property
    def paths_by_id(self) -> Mapping[str, str]:
        """The files by the identifiers that they give themselves."""
        found: dict[str, str] = {}
        for path, document in self.documents.items():
            identity = document.data.get("$id") if isinstance(document.data, dict) else None
            if isinstance(identity, str):
                found[urldefrag(identity).url] = path
        return found

    @cached_property
    def definitions(self) -> Mapping[Location, SchemaLocation]:
        """Every named definition, and the root of every file that is a schema itself."""
        return {spot.location: spot for path in self.documents for spot in self._iter_definitions(path)}

    def _iter_definitions(self, path: str) -> Iterator[SchemaLocation]:
        root = SchemaLocation(path, "", self.documents[path].data)
        if set(root.members) - {"$schema", "$id", "$comment", "title", "description", *_DEFINITIONS}:
            yield root
        for keyword in _DEFINITIONS:
            names = root.members.get(keyword)
            for name in names if isinstance(names, dict) else ():
                spot = root.descend(keyword, name)
                if spot is not None:
                    yield spot

    def resolve(self, schema: SchemaLocation, reference: str) -> SchemaLocation | None:
        """Find what a ``$ref`` means; nothing when it leads out of the tree."""
        address, _, fragment = reference.partition("#")
        path = self._resolve_file(schema.file, address)
        if path is None:
            return None
        root = SchemaLocation(path, "", self.documents[path].data)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._find_anchors(path).get(fragment)
        return root.descend(*(unescape_key(step) for step in fragment.split("/")[1:]))

    def find_dangling_references(self) -> Iterator[tuple[Place, str]]:
        """Find references that lead nowhere, but for those to other machines and to the protocol."""
        for path, document in self.documents.items():
            for schema in iter_schemas(document.data):
                reference = schema.members.get("$ref")
                if (
                    isinstance(reference, str)
                    and not _is_external(reference)
                    and self.resolve(SchemaLocation(path, schema.pointer, schema.data), reference) is None
                ):
                    yield self.place_at((path, f"{schema.pointer}/$ref")), reference

    def _resolve_file(self, file: str, address: str) -> str | None:
        if not address:
            return file
        data = self.documents[file].data
        base = data.get("$id") if isinstance(data, dict) else None
        known = self.paths_by_id.get(urljoin(base, address) if isinstance(base, str) else address)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(address)))
        return known or (path if path in self.documents else None)

    def _find_anchors(self, path: str) -> Mapping[str, SchemaLocation]:
        found: dict[str, SchemaLocation] = {}
        for schema in iter_schemas(self.documents[path].data):
            for keyword in ("$anchor", "$dynamicAnchor"):
                name = schema.members.get(keyword)
                if isinstance(name, str):
                    found[name] = SchemaLocation(path, schema.pointer, schema.data)
        return found

    def place_at(self, location: Location) -> Place:
        """Give a place its line, and the path that people know the file by."""
        file, pointer = location
        document = self.documents.get(file) or self.other_documents.get(file)
        line = 1 if document is None else document.place_at(pointer).line
        return Place(posixpath.join(self.display_prefix, file) if self.display_prefix else file, line, pointer)


def _is_external(reference: str) -> bool:
    return "://" in reference or reference.startswith(PROTOCOL_PREFIX)


# What the keywords of JSON Schema are to a comparison: which say nothing about values, which are understood, which can only be told apart.

KINDS = ("null", "boolean", "number", "string", "array", "object")

# Say nothing about values. Whatever begins with "x-" does not either, but for those that rules know.
ANNOTATIONS = frozenset(
    {
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "contentMediaType", "contentSchema", "default",
        "definitions", "deprecated", "description", "discriminator", "example", "examples", "externalDocs", "id", "readOnly", "title",
        "writeOnly", "xml",
    }
)  # fmt: skip

# Are only ways to put other schemas together, and are gone in a node.
STRUCTURE = frozenset({"$ref", "allOf"})

UNIONS = ("anyOf", "oneOf")

COMPARED = frozenset(
    {
        "additionalItems", "additionalProperties", "anyOf", "const", "contentEncoding", "enum", "exclusiveMaximum", "exclusiveMinimum",
        "format", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
        "multipleOf", "nullable", "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "required",
        "type", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip

# Constrain values in ways that are only compared as a whole: with the kinds of value that they are about.
OPAQUE = MappingProxyType(
    {
        "$dynamicRef": KINDS,
        "$recursiveRef": KINDS,
        "contains": ("array",),
        "dependencies": ("object",),
        "dependentRequired": ("object",),
        "dependentSchemas": ("object",),
        "if": KINDS,
        "maxContains": ("array",),
        "minContains": ("array",),
        "not": KINDS,
        "unevaluatedItems": ("array",),
    }
)

# Belong to ``if``, and mean nothing without it.
CONDITIONAL = ("if", "then", "else")


def is_annotation(keyword: str) -> bool:
    """Tell whether a keyword says nothing about values."""
    return keyword in ANNOTATIONS or keyword.startswith("x-")


# What a value must satisfy at one place of a contract: a conjunction of schemas, wherever these are written.
#
# ``$ref``, the keywords beside it and every branch of ``allOf`` become spots of one node. A spot that says nothing of its own is dropped, so that a
# definition and a property that only refers to it are the same node.
#


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """A conjunction of schemas; ``used`` are the unions in them of which a branch has been taken already. ``at`` is where people see it."""

    schemas: tuple[SchemaLocation, ...]
    expanded_unions: frozenset[tuple[str, str]] = frozenset()
    origin: SchemaLocation | None = field(default=None, compare=False)

    @property
    def is_impossible(self) -> bool:
        """Whether one of the schemas refuses everything."""
        return any(spot.data is False for spot in self.schemas)

    @property
    def is_unconstrained(self) -> bool:
        """Whether nothing is asked at all."""
        return not self.schemas

    @property
    def name(self) -> str:
        """The name of the definition that this is, empty when it has none."""
        return self.schemas[0].name if len(self.schemas) == 1 else ""

    def values(self, keyword: str) -> Iterator[Json]:
        """Go through what the schemas say under one keyword."""
        for spot in self.schemas:
            if keyword in spot.members:
                yield spot.members[keyword]


def build_node(
    tree: SchemaTree,
    schemas: Iterable[SchemaLocation],
    *,
    origin: SchemaLocation | None = None,
    expanded_unions: frozenset[tuple[str, str]] = frozenset(),
) -> SchemaNode:
    """Gather everything that must hold together."""
    waiting = list(schemas)
    origin = origin or (waiting[0] if waiting else None)
    seen: dict[SchemaLocation, None] = {}
    while waiting:
        spot = waiting.pop()
        if spot in seen or spot.data is True:
            continue
        seen[spot] = None
        waiting.extend(_iter_conjuncts(tree, spot))
    kept = sorted((spot for spot in seen if has_constraints(tree, spot)), key=lambda spot: spot.location)
    return SchemaNode(tuple(kept), expanded_unions, origin)


def has_constraints(tree: SchemaTree, schema: SchemaLocation) -> bool:
    """Tell whether a schema asks anything itself, beside what it refers to."""
    reference = schema.members.get("$ref")
    if isinstance(reference, str) and tree.resolve(schema, reference) is None:
        return True
    return schema.data is False or any(not (word in STRUCTURE or is_annotation(word)) for word in schema.members)


def _iter_conjuncts(tree: SchemaTree, schema: SchemaLocation) -> Iterator[SchemaLocation]:
    reference = schema.members.get("$ref")
    target = tree.resolve(schema, reference) if isinstance(reference, str) else None
    if target is not None:
        yield target
    parts = schema.members.get("allOf")
    for index in range(len(parts) if isinstance(parts, list) else 0):
        part = schema.descend("allOf", index)
        if part is not None:
            yield part
