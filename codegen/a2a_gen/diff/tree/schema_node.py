"""Schema files of one side, and nodes: the schemas that a value must satisfy all at once. No I/O.

``$ref``, the keywords beside it, every branch of ``allOf`` and the only branch of a union become
schemas of one node. A schema without constraints of its own is dropped, so a definition and a
property that only refers to it are the same node.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import unquote

from a2a_gen.diff.tree.resources import Resource, ResourceMap, find_identity
from a2a_gen.problems import Place
from a2a_gen.source.documents import Document
from a2a_gen.source.json_text import Json, escape_key, unescape_key
from a2a_gen.source.references import PROTOCOL_PREFIX, iter_schemas, join_address, split_fragment

_DEFINITIONS = ("$defs", "definitions")

Location: TypeAlias = tuple[str, str]
"""File and JSON pointer."""


@dataclass(frozen=True, slots=True)
class SchemaLocation:
    """A schema and its location; equal if the locations are."""

    file: str
    pointer: str
    data: Json = field(compare=False, repr=False)

    @property
    def members(self) -> dict[str, Json]:
        """The keywords of the schema; a boolean schema has none."""
        if isinstance(self.data, dict):
            return self.data
        return {}

    @property
    def location(self) -> Location:
        """File and JSON pointer."""
        return self.file, self.pointer

    @property
    def name(self) -> str:
        """The name of the definition at this location, or an empty string."""
        parent, _, name = self.pointer.rpartition("/")
        if parent.rpartition("/")[2] in _DEFINITIONS:
            return unescape_key(name)
        return ""

    def descend(self, *steps: str | int) -> SchemaLocation | None:
        """Return the schema at a path below this one."""
        data = self.data
        pointer = self.pointer
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
    """All schema files of one side; ``other_documents`` only resolve places, ``display_prefix`` is
    the folder shown before paths.

    With an ``entry``, only that file is a document of its own; the others matter as far as it
    refers to them.
    """

    documents: Mapping[str, Document]
    display_prefix: str = ""
    other_documents: Mapping[str, Document] = field(default_factory=dict[str, Document])
    entry: str = ""
    _resolved: dict[tuple[Resource, str], SchemaLocation | None] = field(
        default_factory=dict[tuple[Resource, str], "SchemaLocation | None"], repr=False
    )

    @cached_property
    def has_unevaluated(self) -> bool:
        """True if a schema depends on what the schemas beside it evaluated."""
        return self._has_text('"unevaluated')

    @cached_property
    def has_tolerance(self) -> bool:
        """True if a schema documents that its readers are tolerant."""
        return self._has_text('"x-a2a-read"') or self._has_text('"x-extensible-')

    @cached_property
    def has_scopes(self) -> bool:
        """True if references depend on more than files and pointers: on a ``$id`` inside a file, or
        on the path of a validation.

        Dynamic references to unique anchors have been written as plain ones before.
        """
        return bool(self.resources.scoped_files)

    @cached_property
    def resources(self) -> ResourceMap:
        """The files, and the schemas inside them that have an address."""
        return ResourceMap(self.documents)

    def _has_text(self, text: str) -> bool:
        return any(text in json.dumps(document.data) for document in self.documents.values())

    @cached_property
    def paths_by_id(self) -> Mapping[str, str]:
        """The files by their ``$id``."""
        found: dict[str, str] = {}
        for path, document in self.documents.items():
            if identity := find_identity(document.data):
                found[split_fragment(identity)[0]] = path
        return found

    @cached_property
    def definitions(self) -> Mapping[Location, SchemaLocation]:
        """Every named definition, and the root of every file that is a schema itself."""
        found = chain.from_iterable(map(self._iter_definitions, self.documents))
        return {schema.location: schema for schema in found}

    def get_root(self, path: str) -> SchemaLocation:
        """Return the root schema of a file."""
        return SchemaLocation(path, "", self.documents[path].data)

    def iter_references(
        self, schema: SchemaLocation, *, has_definitions: bool = True
    ) -> Iterator[tuple[SchemaLocation, str]]:
        """Iterate over every ``$ref`` in a schema, with the schema that contains it."""
        for inner in iter_schemas(schema.data, has_definitions=has_definitions):
            reference = inner.members.get("$ref")
            if isinstance(reference, str):
                yield (
                    SchemaLocation(schema.file, f"{schema.pointer}{inner.pointer}", inner.data),
                    reference,
                )

    def _iter_definitions(self, path: str) -> Iterator[SchemaLocation]:
        root = self.get_root(path)
        if not root.members.keys() & set(_DEFINITIONS) or set(root.members) - {
            "$schema",
            "$id",
            "$comment",
            "title",
            "description",
            *_DEFINITIONS,
        }:
            yield root
        for keyword in _DEFINITIONS:
            names = root.members.get(keyword)
            for name in names if isinstance(names, dict) else ():
                schema = root.descend(keyword, name)
                if schema is not None:
                    yield schema

    def resolve(self, schema: SchemaLocation, reference: str) -> SchemaLocation | None:
        """Resolve a ``$ref``; ``None`` if it leads out of the tree."""
        base = self.resources.find_enclosing(*schema.location)
        key = (base, reference)
        if key not in self._resolved:
            self._resolved[key] = self._find_target(base, reference)
        return self._resolved[key]

    def find_dynamic_targets(self, schema: SchemaLocation) -> Iterator[SchemaLocation]:
        """Find all schemas to which the dynamic references of a schema may lead."""
        for path, pointer in self.resources.iter_dynamic_targets(schema.members):
            target = self._descend(path, pointer)
            if target is not None:
                yield target

    def _find_target(self, base: Resource, reference: str) -> SchemaLocation | None:
        address, fragment = split_fragment(reference)
        embedded = base if not address else self.resources.find_embedded(base, address)
        if embedded is None:
            path = self._resolve_file(base, address)
            embedded = None if path is None else self.resources.find_enclosing(path, "")
        if embedded is None:
            return None
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            return self._find_anchors(embedded.file).get((embedded, fragment))
        return self._descend(embedded.file, embedded.pointer + fragment)

    def _descend(self, path: str, pointer: str) -> SchemaLocation | None:
        return self.get_root(path).descend(*(unescape_key(step) for step in pointer.split("/")[1:]))

    def find_dangling_references(self) -> Iterator[tuple[Place, str]]:
        """Find references without a target, except remote ones and those to protocol types."""
        for path in self.documents:
            for schema, reference in self.iter_references(self.get_root(path)):
                if not _is_external(reference) and self.resolve(schema, reference) is None:
                    yield self.place_at((path, f"{schema.pointer}/$ref")), reference

    def _resolve_file(self, base: Resource, address: str) -> str | None:
        identity = base.address if base.pointer else find_identity(self.documents[base.file].data)
        known = self.paths_by_id.get(join_address(identity, address))
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base.file), unquote(address)))
        return known or (path if path in self.documents else None)

    def _find_anchors(self, path: str) -> Mapping[tuple[Resource, str], SchemaLocation]:
        found: dict[tuple[Resource, str], SchemaLocation] = {}
        for schema in iter_schemas(self.documents[path].data):
            for keyword in ("$anchor", "$dynamicAnchor"):
                name = schema.members.get(keyword)
                if isinstance(name, str):
                    resource = self.resources.find_enclosing(path, schema.pointer)
                    found[resource, name] = SchemaLocation(path, schema.pointer, schema.data)
        return found

    def place_at(self, location: Location) -> Place:
        """Convert a location to a place with a line and a displayed path."""
        file, pointer = location
        document = self.documents.get(file) or self.other_documents.get(file)
        line = 1 if document is None else document.place_at(pointer).line
        return Place(
            posixpath.join(self.display_prefix, file) if self.display_prefix else file,
            line,
            pointer,
        )


def _is_external(reference: str) -> bool:
    return "://" in reference or reference.startswith(PROTOCOL_PREFIX)


# Keywords of JSON Schema by their role in a comparison.

KINDS = ("null", "boolean", "number", "string", "array", "object")

# Do not constrain values; "nullable" is a keyword of OpenAPI 3.0, which JSON Schema does not have.
# Neither does any keyword that begins with "x-"; rules read some of those.
ANNOTATION_KEYWORDS = frozenset(
    """
    $anchor $comment $defs $dynamicAnchor $id $schema $vocabulary contentMediaType contentSchema
    default definitions deprecated description discriminator example examples externalDocs id
    nullable readOnly title writeOnly xml
    """.split()  # noqa: SIM905 - a list would take a line for each
)

# Combine other schemas; resolved when a node is built.
STRUCTURAL_KEYWORDS = frozenset({"$ref", "allOf"})

UNION_KEYWORDS = ("anyOf", "oneOf")

COMPARED_KEYWORDS = frozenset(
    """
    additionalItems additionalProperties anyOf const contentEncoding enum exclusiveMaximum
    exclusiveMinimum format items maxItems maxLength maxProperties maximum minItems minLength
    minProperties minimum multipleOf oneOf pattern patternProperties prefixItems properties
    propertyNames required type unevaluatedProperties uniqueItems
    """.split()  # noqa: SIM905 - a list would take a line for each
)

# Constrain values, but are only compared as a whole; with the kinds of value that they apply to.
OPAQUE_KEYWORDS = MappingProxyType(
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

# Belong to ``if``, and have no effect without it.
IF_KEYWORDS = ("if", "then", "else")


def list_kinds(types: Json) -> frozenset[str]:
    """List the kinds of value that a ``type`` allows; an integer is a number."""
    listed = types if isinstance(types, list) else [types]
    kinds = frozenset(map(str, listed))
    if "integer" in kinds:
        return kinds - {"integer"} | {"number"}
    return kinds


def is_annotation(keyword: str) -> bool:
    """Return true if a keyword does not constrain values."""
    return keyword in ANNOTATION_KEYWORDS or keyword.startswith("x-")


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """A conjunction of schemas.

    ``expanded_unions`` are unions of which a branch was already chosen; ``origin`` is the place to
    report.
    """

    schemas: tuple[SchemaLocation, ...]
    expanded_unions: frozenset[tuple[str, str]] = frozenset()
    origin: SchemaLocation | None = field(default=None, compare=False)

    @property
    def is_impossible(self) -> bool:
        """True if one of the schemas is ``false``."""
        return any(schema.data is False for schema in self.schemas)

    @property
    def is_unconstrained(self) -> bool:
        """True if every value is valid."""
        return not self.schemas

    @property
    def name(self) -> str:
        """The name of the definition, or an empty string."""
        if len(self.schemas) == 1:
            return self.schemas[0].name
        return ""

    def values(self, keyword: str) -> Iterator[Json]:
        """Iterate over the values of one keyword in all schemas."""
        for schema in self.schemas:
            if keyword in schema.members:
                yield schema.members[keyword]


def build_node(
    tree: SchemaTree,
    schemas: Iterable[SchemaLocation],
    *,
    origin: SchemaLocation | None = None,
    expanded_unions: frozenset[tuple[str, str]] = frozenset(),
) -> SchemaNode:
    """Collect every schema that must hold together."""
    pending = list(schemas)
    origin = origin or (pending[0] if pending else None)
    seen: dict[SchemaLocation, None] = {}
    while pending:
        schema = pending.pop()
        if schema in seen or schema.data is True:
            continue
        seen[schema] = None
        pending.extend(_iter_conjuncts(tree, schema))
    constraining = sorted(
        (schema for schema in seen if has_constraints(tree, schema)),
        key=lambda schema: schema.location,
    )
    return SchemaNode(tuple(constraining), expanded_unions, origin)


def has_constraints(tree: SchemaTree, schema: SchemaLocation) -> bool:
    """Return true if a schema constrains values itself, beside the schemas that it refers to."""
    reference = schema.members.get("$ref")
    if isinstance(reference, str) and tree.resolve(schema, reference) is None:
        return True
    return schema.data is False or any(is_constraint(schema, keyword) for keyword in schema.members)


def is_constraint(schema: SchemaLocation, keyword: str) -> bool:
    """Return true if a keyword constrains values itself; a union of which one branch can be valid
    is that branch, as in ``allOf``.
    """
    return (
        not (keyword in STRUCTURAL_KEYWORDS or is_annotation(keyword))
        and find_only_branch(schema, keyword) is None
    )


def find_only_branch(schema: SchemaLocation, keyword: str) -> SchemaLocation | None:
    """Find the only branch of a union that can be valid, beside ``false``; ``None`` if there are
    others, or readers expect more.

    A group of members with a name stays one, since others may join it.
    """
    is_closed_union = (
        keyword in UNION_KEYWORDS and schema.members.get("x-extensible-union") is not True
    )
    branches = schema.members.get(keyword) if is_closed_union else None
    if isinstance(branches, list):
        possible = [index for index, each in enumerate(branches) if each is not False]
    else:
        possible = []
    branch = schema.descend(keyword, possible[0]) if len(possible) == 1 else None
    if branch is None or ("x-a2a-oneof" in schema.members and set(branch.members) == {"required"}):
        return None
    return branch


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
    for keyword in UNION_KEYWORDS:
        branch = find_only_branch(schema, keyword)
        if branch is not None:
            yield branch
