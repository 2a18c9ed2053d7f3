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
from a2a_gen.source.json_text import Json, escaped, unescaped
from a2a_gen.source.references import PROTOCOL, schemas

_DEFINITIONS = ("$defs", "definitions")

At: TypeAlias = tuple[str, str]
"""A place without its line: file and JSON pointer."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A schema and where it stands; two spots are one when they stand in the same place."""

    file: str
    pointer: str
    data: Json = field(compare=False, repr=False)

    @property
    def members(self) -> dict[str, Json]:
        """The keywords of the schema; a boolean schema has none."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def at(self) -> At:
        """The place."""
        return self.file, self.pointer

    @property
    def name(self) -> str:
        """The name of the definition that this is, empty when it is none."""
        parent, _, name = self.pointer.rpartition("/")
        return unescaped(name) if parent.rpartition("/")[2] in _DEFINITIONS else ""

    def below(self, *steps: str | int) -> Spot | None:
        """Find the schema that some steps lead to from here."""
        data, pointer = self.data, self.pointer
        for step in steps:
            if isinstance(data, dict) and str(step) in data:
                data = data[str(step)]
            elif isinstance(data, list) and str(step).isdecimal() and int(step) < len(data):
                data = data[int(step)]
            else:
                return None
            pointer = f"{pointer}/{escaped(str(step))}"
        return Spot(self.file, pointer, data)


@dataclass(frozen=True, eq=False)
class Tree:
    """All files of one side, and the folder that shown paths begin with; ``beside`` are files without schemas in which something may be found."""

    documents: Mapping[str, Document]
    shown: str = ""
    beside: Mapping[str, Document] = field(default_factory=dict[str, Document])

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """The files by the identifiers that they give themselves."""
        found: dict[str, str] = {}
        for path, document in self.documents.items():
            identity = document.data.get("$id") if isinstance(document.data, dict) else None
            if isinstance(identity, str):
                found[urldefrag(identity).url] = path
        return found

    @cached_property
    def definitions(self) -> Mapping[At, Spot]:
        """Every named definition, and the root of every file that is a schema itself."""
        return {spot.at: spot for path in self.documents for spot in self._definitions(path)}

    def _definitions(self, path: str) -> Iterator[Spot]:
        root = Spot(path, "", self.documents[path].data)
        if set(root.members) - {"$schema", "$id", "$comment", "title", "description", *_DEFINITIONS}:
            yield root
        for keyword in _DEFINITIONS:
            names = root.members.get(keyword)
            for name in names if isinstance(names, dict) else ():
                spot = root.below(keyword, name)
                if spot is not None:
                    yield spot

    def target(self, spot: Spot, reference: str) -> Spot | None:
        """Find what a ``$ref`` means; nothing when it leads out of the tree."""
        address, _, fragment = reference.partition("#")
        path = self._file(spot.file, address)
        if path is None:
            return None
        root = Spot(path, "", self.documents[path].data)
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._anchors(path).get(fragment)
        return root.below(*(unescaped(step) for step in fragment.split("/")[1:]))

    def dangling(self) -> Iterator[tuple[Place, str]]:
        """Find references that lead nowhere, but for those to other machines and to the protocol."""
        for path, document in self.documents.items():
            for schema in schemas(document.data):
                reference = schema.members.get("$ref")
                if (
                    isinstance(reference, str)
                    and not _is_elsewhere(reference)
                    and self.target(Spot(path, schema.pointer, schema.data), reference) is None
                ):
                    yield self.place((path, f"{schema.pointer}/$ref")), reference

    def _file(self, file: str, address: str) -> str | None:
        if not address:
            return file
        data = self.documents[file].data
        base = data.get("$id") if isinstance(data, dict) else None
        known = self.ids.get(urljoin(base, address) if isinstance(base, str) else address)
        path = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(address)))
        return known or (path if path in self.documents else None)

    def _anchors(self, path: str) -> Mapping[str, Spot]:
        found: dict[str, Spot] = {}
        for schema in schemas(self.documents[path].data):
            for keyword in ("$anchor", "$dynamicAnchor"):
                name = schema.members.get(keyword)
                if isinstance(name, str):
                    found[name] = Spot(path, schema.pointer, schema.data)
        return found

    def place(self, at: At) -> Place:
        """Give a place its line, and the path that people know the file by."""
        file, pointer = at
        document = self.documents.get(file) or self.beside.get(file)
        line = 1 if document is None else document.place(pointer).line
        return Place(posixpath.join(self.shown, file) if self.shown else file, line, pointer)


def _is_elsewhere(reference: str) -> bool:
    return "://" in reference or reference.startswith(PROTOCOL)


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

UNDERSTOOD = frozenset(
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
WITH_IF = ("if", "then", "else")


def is_annotation(keyword: str) -> bool:
    """Tell whether a keyword says nothing about values."""
    return keyword in ANNOTATIONS or keyword.startswith("x-")


# What a value must satisfy at one place of a contract: a conjunction of schemas, wherever these are written.
#
# ``$ref``, the keywords beside it and every branch of ``allOf`` become spots of one node. A spot that says nothing of its own is dropped, so that a
# definition and a property that only refers to it are the same node.
#


@dataclass(frozen=True, slots=True)
class Node:
    """A conjunction of schemas; ``used`` are the unions in them of which a branch has been taken already. ``at`` is where people see it."""

    spots: tuple[Spot, ...]
    used: frozenset[tuple[str, str]] = frozenset()
    at: Spot | None = field(default=None, compare=False)

    @property
    def is_impossible(self) -> bool:
        """Whether one of the schemas refuses everything."""
        return any(spot.data is False for spot in self.spots)

    @property
    def is_anything(self) -> bool:
        """Whether nothing is asked at all."""
        return not self.spots

    @property
    def name(self) -> str:
        """The name of the definition that this is, empty when it has none."""
        return self.spots[0].name if len(self.spots) == 1 else ""

    def values(self, keyword: str) -> Iterator[Json]:
        """Go through what the schemas say under one keyword."""
        for spot in self.spots:
            if keyword in spot.members:
                yield spot.members[keyword]


def node(tree: Tree, spots: Iterable[Spot], *, at: Spot | None = None, used: frozenset[tuple[str, str]] = frozenset()) -> Node:
    """Gather everything that must hold together."""
    waiting = list(spots)
    at = at or (waiting[0] if waiting else None)
    seen: dict[Spot, None] = {}
    while waiting:
        spot = waiting.pop()
        if spot in seen or spot.data is True:
            continue
        seen[spot] = None
        waiting.extend(_together(tree, spot))
    kept = sorted((spot for spot in seen if says_something(tree, spot)), key=lambda spot: spot.at)
    return Node(tuple(kept), used, at)


def says_something(tree: Tree, spot: Spot) -> bool:
    """Tell whether a schema asks anything itself, beside what it refers to."""
    reference = spot.members.get("$ref")
    if isinstance(reference, str) and tree.target(spot, reference) is None:
        return True
    return spot.data is False or any(not (word in STRUCTURE or is_annotation(word)) for word in spot.members)


def _together(tree: Tree, spot: Spot) -> Iterator[Spot]:
    reference = spot.members.get("$ref")
    target = tree.target(spot, reference) if isinstance(reference, str) else None
    if target is not None:
        yield target
    parts = spot.members.get("allOf")
    for index in range(len(parts) if isinstance(parts, list) else 0):
        part = spot.below("allOf", index)
        if part is not None:
            yield part
