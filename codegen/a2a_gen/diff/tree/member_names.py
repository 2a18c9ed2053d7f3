"""Names of the members that a schema speaks of: those that it describes, those that it mentions,
and those that it describes without a name.
"""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaTree, is_annotation
from a2a_gen.source.json_text import Json

_IN_PLACE_KEYWORDS = frozenset({"anyOf", "oneOf", "allOf", "then", "else"})


class MemberNames:
    """The names that schemas of a tree speak of, together with everything that applies to the same
    value; cached.
    """

    def __init__(self, tree: SchemaTree) -> None:
        self._tree = tree
        self._described: dict[SchemaLocation, frozenset[str]] = {}
        self._mentioned: dict[SchemaLocation, frozenset[str]] = {}

    def list_described(self, schema: SchemaLocation) -> frozenset[str]:
        """List the members of ``properties``."""
        known = self._described.get(schema)
        if known is None:
            # A schema that consists of itself describes nothing.
            self._described[schema] = frozenset()
            own = frozenset(as_table(schema.members.get("properties")))
            known = self._described[schema] = own.union(
                *map(self.list_described, self._iter_in_place(schema))
            )
        return known

    def list_mentioned(self, schema: SchemaLocation) -> frozenset[str]:
        """List the members of which a schema says something else, such as that they are
        required.
        """
        known = self._mentioned.get(schema)
        if known is None:
            self._mentioned[schema] = frozenset()
            own = frozenset(_iter_mentioned(schema.members)).difference(
                as_table(schema.members.get("properties"))
            )
            known = self._mentioned[schema] = own.union(
                *map(self.list_mentioned, self._iter_in_place(schema))
            )
        return known

    def describes_others(
        self, schema: SchemaLocation, seen: set[SchemaLocation] | None = None
    ) -> bool:
        """Return true if a schema describes members that it does not name."""
        seen = set() if seen is None else seen
        if schema in seen:
            return False
        seen.add(schema)
        rest = (
            schema.members.get(keyword, False)
            for keyword in ("additionalProperties", "unevaluatedProperties")
        )
        is_own = bool(schema.members.get("patternProperties")) or any(
            each is not False and not is_vacuous(each) for each in rest
        )
        return is_own or any(
            self.describes_others(each, seen) for each in self._iter_in_place(schema)
        )

    def _iter_in_place(self, schema: SchemaLocation) -> Iterator[SchemaLocation]:
        for keyword, value in schema.members.items():
            if keyword in _IN_PLACE_KEYWORDS:
                parts = value if isinstance(value, list) else [value]
                yield from (descend(schema, each) for each in parts)
            elif keyword in {"dependentSchemas", "dependencies"} and isinstance(value, dict):
                yield from (
                    descend(schema, each) for each in value.values() if isinstance(each, dict)
                )
            elif keyword == "$ref" and isinstance(value, str):
                target = self._tree.resolve(schema, value)
                if target is not None:
                    yield target


def _iter_mentioned(members: dict[str, Json]) -> Iterator[str]:
    """Iterate over the names of members that keywords other than ``properties`` speak of."""
    yield from map(str, as_list(members.get("required")))
    for keyword in ("dependentRequired", "dependentSchemas", "dependencies"):
        for name, needed in as_table(members.get(keyword)).items():
            yield name
            yield from map(str, as_list(needed))
    for tested in (members[keyword] for keyword in ("if", "not") if keyword in members):
        yield from as_table(as_table(tested).get("properties"))
        yield from _iter_mentioned(as_table(tested))


def descend(schema: SchemaLocation, data: Json) -> SchemaLocation:
    """Return a part of a schema; only definitions are identified by their pointer."""
    return SchemaLocation(schema.file, f"{schema.pointer}?{id(data)}", data)


def is_vacuous(value: Json) -> bool:
    """Return true if a schema accepts every value because it has no constraint."""
    return value is True or (isinstance(value, dict) and all(map(is_annotation, value)))


def as_table(value: Json) -> dict[str, Json]:
    """Return a table of names, or an empty one."""
    if isinstance(value, dict):
        return value
    return {}


def as_list(value: Json) -> list[Json]:
    """Return a list, or an empty one."""
    if isinstance(value, list):
        return value
    return []
