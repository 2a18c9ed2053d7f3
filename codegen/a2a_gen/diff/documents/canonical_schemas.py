"""Canonical schemas: what ``jsonschema_rs`` decides containment of.

A schema is first written with everything that it refers to, in one form, within limits: the cost of
an answer grows fast with the number of schemas and of branches.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TypeAlias

import jsonschema_rs

from a2a_gen.diff.documents.regex import PATTERN_OPTIONS
from a2a_gen.diff.tree.bundle import (
    BundleTooLargeError,
    FindAtoms,
    Form,
    SchemaBundle,
    build_scoped,
)
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaTree
from a2a_gen.source.references import iter_schemas

_MAX_SCHEMAS = 40
_MAX_BRANCHES = 400

Schemas: TypeAlias = tuple[SchemaLocation, ...]


class Containment(Enum):
    """Answer of the oracle."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class CanonicalSchemas:
    """The canonical schemas of two trees; each is made once."""

    def __init__(self, trees: tuple[SchemaTree, SchemaTree]) -> None:
        self._trees = trees
        self.has_scopes = any(tree.has_scopes for tree in trees)
        old, new = map(_count_names, trees)
        self._mixed_names = (frozenset((new - old).keys()), frozenset((old - new).keys()))
        self._targets: dict[tuple[int, SchemaLocation], frozenset[SchemaLocation]] = {}
        self._made: dict[tuple[int, Form, Schemas], jsonschema_rs.CanonicalSchema | None] = {}

    def get(self, side: int, schemas: Schemas, form: Form) -> jsonschema_rs.CanonicalSchema | None:
        """Canonicalize schemas that all apply; ``None`` if they are too large."""
        key = (side, form, schemas)
        if key not in self._made:
            self._made[key] = self._make(side, schemas, form)
        return self._made[key]

    def _make(
        self, side: int, schemas: Schemas, form: Form
    ) -> jsonschema_rs.CanonicalSchema | None:
        if self.has_scopes:
            return _canonicalize_scoped(self._trees[side], schemas)
        if self._is_too_large(side, schemas):
            return None
        return self.make_with_atoms(side, schemas, form, None)

    def make_with_atoms(
        self, side: int, schemas: Schemas, form: Form, find_atoms: FindAtoms | None
    ) -> jsonschema_rs.CanonicalSchema | None:
        """Canonicalize schemas with atoms in place of the definitions that have some."""
        bundle = SchemaBundle(
            self._trees[side],
            mixed_names=self._mixed_names[side],
            find_atoms=find_atoms,
            limit=_MAX_SCHEMAS,
            max_branches=_MAX_BRANCHES,
        )
        return _canonicalize(bundle, schemas, form)

    def _is_too_large(self, side: int, schemas: Schemas) -> bool:
        """Return true if schemas refer to more schemas than a bundle may hold; counting them takes
        less than writing them.
        """
        pending = list(schemas)
        seen = set(schemas)
        while pending and len(seen) <= _MAX_SCHEMAS:
            below = self.find_targets(side, pending.pop()) - seen
            seen |= below
            pending += below
        return len(seen) > _MAX_SCHEMAS

    def find_targets(self, side: int, schema: SchemaLocation) -> frozenset[SchemaLocation]:
        """Find the schemas to which one refers directly; definitions inside it refer for
        themselves.
        """
        if (side, schema) not in self._targets:
            tree = self._trees[side]
            references = tree.iter_references(schema, has_definitions=False)
            found = (tree.resolve(*each) for each in references)
            self._targets[side, schema] = frozenset(each for each in found if each is not None)
        return self._targets[side, schema]


def _count_names(tree: SchemaTree) -> Counter[str]:
    """Count how often members are named; one that the reader names more often than the sender may
    meet a new schema.
    """
    count = Counter[str]()
    for document in tree.documents.values():
        for schema in iter_schemas(document.data):
            table = schema.members.get("properties")
            if isinstance(table, dict):
                count.update(table.keys())
    return count


def _canonicalize(
    bundle: SchemaBundle, schemas: Schemas, form: Form
) -> jsonschema_rs.CanonicalSchema | None:
    """Canonicalize schemas; ``None`` if they are too large, recursive (which some keywords make
    endless), or not supported.
    """
    try:
        schema = bundle.build_with_atoms(schemas, form)
        if bundle.is_recursive:
            return None
        return jsonschema_rs.canonicalize(
            schema, validate_formats=True, pattern_options=PATTERN_OPTIONS, offline=True
        )
    except (
        BundleTooLargeError,
        RecursionError,
        ValueError,
        jsonschema_rs.ReferencingError,
        jsonschema_rs.ValidationError,
    ):
        return None


def _canonicalize_scoped(
    tree: SchemaTree, schemas: Schemas
) -> jsonschema_rs.CanonicalSchema | None:
    """Canonicalize schemas of a tree whose references depend on scopes."""
    try:
        schema, registry = build_scoped(tree, schemas)
        return jsonschema_rs.canonicalize(
            schema,
            registry=registry,
            validate_formats=True,
            pattern_options=PATTERN_OPTIONS,
            offline=True,
        )
    except (
        RecursionError,
        ValueError,
        jsonschema_rs.ReferencingError,
        jsonschema_rs.ValidationError,
    ):
        return None


def decide_covers(
    larger: jsonschema_rs.CanonicalSchema, smaller: jsonschema_rs.CanonicalSchema
) -> Containment:
    """Decide if one schema accepts every document of another."""
    try:
        return Containment(str(larger.covers(smaller)))
    except ValueError:
        return Containment.UNKNOWN
