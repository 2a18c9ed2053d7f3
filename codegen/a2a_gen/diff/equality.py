"""Equality of schemas, by a walk over their texts: most of two versions is equal, and needs no
comparison.
"""

from __future__ import annotations

import copy

from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaTree, is_annotation
from a2a_gen.source.json_text import Json
from a2a_gen.source.references import iter_schemas

# Annotations that rules compare although they do not constrain values.
COMPARED_ANNOTATIONS = frozenset({"default", "deprecated", "discriminator"})
# Their members are names or values, so that "title" below them is no annotation.
_NAMING_KEYWORDS = frozenset(
    {
        "properties",
        "patternProperties",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "enum",
        "required",
        "type",
    }
)
# A part of these that accepts more documents can make the whole accept fewer, or lets documents mix
# the parts.
NOT_MONOTONE = frozenset(
    {
        "contains",
        "dependencies",
        "dependentSchemas",
        "if",
        "not",
        "oneOf",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MIXING = NOT_MONOTONE | {"allOf"}
_TEXTS = frozenset({"$comment", "contentMediaType", "description", "examples", "title"})
_UNORDERED_KEYWORDS = frozenset({"required", "enum", "type"})


class SchemaEquality:
    """Cached equality of schemas; two recursive schemas are equal unless some other part
    differs.
    """

    def __init__(self, old: SchemaTree, new: SchemaTree) -> None:
        self._trees = (old, new)
        self._known: dict[tuple[SchemaLocation, SchemaLocation], bool] = {}
        self._has_scopes = old.has_scopes or new.has_scopes
        self._is_all_same = self._has_scopes and _drop_texts(old) == _drop_texts(new)

    def is_same(self, old: SchemaLocation, new: SchemaLocation) -> bool:
        """Return true if two schemas have equal content; false only means that they must be
        compared.
        """
        if self._has_scopes:
            return self._is_all_same and old.location == new.location
        if (old, new) in self._known:
            return self._known[old, new]
        assumed: set[tuple[SchemaLocation, SchemaLocation]] = {(old, new)}
        pending = [(old, new)]
        while pending:
            left, right = pending.pop()
            references: list[tuple[SchemaLocation, SchemaLocation]] = []
            if not self._is_equal_at(left, right, references) or any(
                self._known.get(pair) is False for pair in references
            ):
                self._known[old, new] = False
                return False
            for pair in references:
                if pair not in assumed and pair not in self._known:
                    assumed.add(pair)
                    pending.append(pair)
        self._known.update(dict.fromkeys(assumed, True))
        return True

    def find_references(
        self, old: SchemaLocation, new: SchemaLocation
    ) -> list[tuple[SchemaLocation, SchemaLocation]] | None:
        """Return what two schemas of equal text refer to, if they grow and shrink with that;
        ``None`` for all others.
        """
        if self._has_scopes or any(
            not _MIXING.isdisjoint(schema.members) for schema in iter_schemas(new.data)
        ):
            return None
        references: list[tuple[SchemaLocation, SchemaLocation]] = []
        if self._is_equal_at(old, new, references):
            return references
        return None

    def has_same_text(self, old: SchemaLocation, new: SchemaLocation) -> bool:
        """Return true if two schemas differ at most in what they refer to."""
        return not self._has_scopes and self._is_equal_at(old, new, [])

    def _is_equal_at(
        self,
        left: SchemaLocation,
        right: SchemaLocation,
        pairs: list[tuple[SchemaLocation, SchemaLocation]],
    ) -> bool:
        try:
            return self._is_equal_json(left.data, right.data, (left, right), pairs)
        except RecursionError:
            # Deeply nested schemas are compared step by step instead.
            return False

    def _is_equal_json(
        self,
        old: Json,
        new: Json,
        schemas: tuple[SchemaLocation, SchemaLocation],
        pairs: list[tuple[SchemaLocation, SchemaLocation]],
        under: str = "",
    ) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            if not under:
                old = _select_compared_keywords(old)
                new = _select_compared_keywords(new)
            if old.keys() != new.keys():
                return False
            return all(
                self._is_equal_member(keyword, old[keyword], new[keyword], schemas, pairs, under)
                for keyword in old
            )
        if isinstance(old, list) and isinstance(new, list):
            if under in _UNORDERED_KEYWORDS:
                return len(old) == len(new) and sorted(map(repr, old)) == sorted(map(repr, new))
            return len(old) == len(new) and all(
                self._is_equal_json(*each, schemas, pairs) for each in zip(old, new, strict=True)
            )
        return type(old) is type(new) and old == new

    def _is_equal_member(
        self,
        keyword: str,
        old: Json,
        new: Json,
        schemas: tuple[SchemaLocation, SchemaLocation],
        pairs: list[tuple[SchemaLocation, SchemaLocation]],
        under: str,
    ) -> bool:
        if keyword == "$ref" and not under and isinstance(old, str) and isinstance(new, str):
            left = self._trees[0].resolve(schemas[0], old)
            right = self._trees[1].resolve(schemas[1], new)
            if left is None or right is None:
                return left is right and old == new
            pairs.append((left, right))
            return True
        if keyword in {"const", "default", "discriminator"} or keyword.startswith("x-"):
            return type(old) is type(new) and old == new
        plain = under or keyword not in _NAMING_KEYWORDS
        return self._is_equal_json(old, new, schemas, pairs, "" if plain else keyword)


def _drop_texts(tree: SchemaTree) -> dict[str, Json]:
    """Return the files of a tree without what their schemas say to people."""
    files = {path: copy.deepcopy(each.data) for path, each in tree.documents.items()}
    for data in files.values():
        for schema in [*iter_schemas(data)]:
            for keyword in _TEXTS & schema.members.keys():
                del schema.members[keyword]
    return files


def _select_compared_keywords(members: dict[str, Json]) -> dict[str, Json]:
    return {
        word: value
        for word, value in members.items()
        if not is_annotation(word) or word in COMPARED_ANNOTATIONS or word.startswith("x-")
    }
