"""Hints of one schema for values that follow it: kinds, constants, names, sizes, and the schemas of
members and items. Computed once for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from a2a_gen.diff.documents.regex import generate_matches, is_match
from a2a_gen.diff.documents.samples import SAMPLES_BY_FORMAT
from a2a_gen.diff.tree.schema_node import SchemaLocation, list_kinds
from a2a_gen.source.json_text import Json

BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_MAX_TEXT = 100
_MAX_ITEMS = 12
_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas", "dependencies"})
_REST = ("unevaluatedProperties", "unevaluatedItems")
_KEYWORDS_BY_KIND = {
    "object": frozenset(
        {
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "dependentRequired",
        }
    )
    | {
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
        "minProperties",
        "maxProperties",
    },
    "array": frozenset(
        {
            "items",
            "prefixItems",
            "additionalItems",
            "contains",
            "unevaluatedItems",
            "minItems",
            "maxItems",
            "uniqueItems",
        }
    ),
    "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
    "number": frozenset(BOUNDS),
}


@dataclass(slots=True)
class ValueHints:
    """Hints of one schema; ``source`` is the schema, whose references are resolved by its tree."""

    source: SchemaLocation
    references: list[str]
    in_place: list[tuple[str, Json]]
    """Keywords with schemas that the same value follows."""
    values: list[Json]
    types: frozenset[str] | None
    """Kinds of value that ``type`` allows; ``None`` without it."""
    kinds: list[str]
    """Kinds of value that the keywords are about."""
    members: list[str]
    required: list[str]
    patterns: list[str]
    dependents: dict[str, list[str]]
    member_counts: list[int]
    """Numbers of members near the bound; one near none without it."""
    names_schema: ValueHints | None
    sizes: list[int]
    contains: ValueHints | None
    texts: list[str]
    bounds: list[int | float]
    rest: dict[str, list[ValueHints]]
    """What ``unevaluatedProperties`` and ``unevaluatedItems`` say about members and items that no
    other keyword describes.
    """
    _by_name: dict[str, list[ValueHints]] = field(default_factory=dict[str, "list[ValueHints]"])
    _by_index: dict[int, list[ValueHints]] = field(default_factory=dict[int, "list[ValueHints]"])

    @classmethod
    def build(cls, schema: SchemaLocation) -> ValueHints:
        """Read the hints of a schema."""
        given = schema.members
        rest: dict[str, list[ValueHints]] = {}
        for keyword in _REST:
            below = _build_below(schema, keyword)
            if below is not None:
                rest[keyword] = [below]
        return cls(
            source=schema,
            references=_list_references(given),
            in_place=[(keyword, value) for keyword, value in given.items() if keyword in _IN_PLACE],
            values=[*([given["const"]] if "const" in given else []), *_get_list(given, "enum")],
            types=_read_types(given),
            kinds=[
                kind
                for kind, keywords in _KEYWORDS_BY_KIND.items()
                if not keywords.isdisjoint(given)
            ],
            members=[*_get_table(given, "properties")],
            required=list(map(str, _get_list(given, "required"))),
            patterns=[*_get_table(given, "patternProperties")],
            dependents=_read_dependents(given),
            member_counts=_list_member_counts(given),
            names_schema=_build_below(schema, "propertyNames"),
            sizes=_list_sizes(given),
            contains=_build_below(schema, "contains"),
            texts=_list_texts(given),
            bounds=[*_iter_numbers(given, BOUNDS)],
            rest=rest,
        )

    def list_member_schemas(self, name: str) -> list[ValueHints]:
        """List what the schema says about a member."""
        if name not in self._by_name:
            given = self.source.members
            declared = [_get_table(given, "properties").get(name)]
            declared += [
                each
                for pattern, each in _get_table(given, "patternProperties").items()
                if is_match(pattern, name)
            ]
            is_declared = any(each is not None for each in declared)
            self._by_name[name] = self._build_all(
                declared if is_declared else [given.get("additionalProperties")]
            )
        return self._by_name[name]

    def list_item_schemas(self, index: int) -> list[ValueHints]:
        """List what the schema says about an item."""
        if index not in self._by_index:
            given = self.source.members
            prefix = given.get("prefixItems", given.get("items"))
            if isinstance(prefix, list) and index < len(prefix):
                self._by_index[index] = self._build_all([prefix[index]])
            else:
                self._by_index[index] = self._build_all(
                    given.get(word) for word in ("items", "additionalItems")
                )
        return self._by_index[index]

    def _build_all(self, schemas: Iterable[Json]) -> list[ValueHints]:
        return [
            ValueHints.build(SchemaLocation(self.source.file, "", each))
            for each in schemas
            if isinstance(each, dict)
        ]


def _build_below(schema: SchemaLocation, keyword: str) -> ValueHints | None:
    below = schema.members.get(keyword)
    if below is not None:
        return ValueHints.build(SchemaLocation(schema.file, "", below))
    return None


def _get_table(given: dict[str, Json], keyword: str) -> dict[str, Json]:
    value = given.get(keyword)
    if isinstance(value, dict):
        return value
    return {}


def _get_list(given: dict[str, Json], keyword: str) -> list[Json]:
    value = given.get(keyword)
    if isinstance(value, list):
        return value
    return []


def _read_types(given: dict[str, Json]) -> frozenset[str] | None:
    if "type" not in given:
        return None
    return list_kinds(given["type"])


def _list_references(given: dict[str, Json]) -> list[str]:
    values = (value for keyword, value in given.items() if keyword in _REFERENCES)
    return [value for value in values if isinstance(value, str)]


def _read_dependents(given: dict[str, Json]) -> dict[str, list[str]]:
    dependents: dict[str, list[str]] = {}
    for name, listed in _get_table(given, "dependentRequired").items():
        if isinstance(listed, list):
            dependents[name] = list(map(str, listed))
    return dependents


def _iter_numbers(given: dict[str, Json], keywords: Iterable[str]) -> Iterator[int | float]:
    for keyword in keywords:
        value = given.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value


def _list_member_counts(given: dict[str, Json]) -> list[int]:
    count = next(_iter_numbers(given, ("minProperties", "maxProperties")), 0)
    if count < _MAX_ITEMS:
        return [int(count) + more for more in (-1, 0, 1)]
    return []


def _list_sizes(given: dict[str, Json]) -> list[int]:
    """List sizes of arrays near the bounds."""
    sizes: list[int] = []
    for bound in _iter_numbers(given, ("minItems", "maxItems")):
        if bound < _MAX_ITEMS:
            sizes += (int(bound), int(bound) + 1)
    for word in ("prefixItems", "items"):
        size = len(_get_list(given, word))
        if 0 < size <= _MAX_ITEMS:
            sizes.append(size)
    return sizes


def _list_texts(given: dict[str, Json]) -> list[str]:
    """List texts that match the pattern, have the format, or have sizes near the bounds."""
    pattern = given.get("pattern")
    text_format = str(given.get("format"))
    texts = [*(generate_matches(pattern) if isinstance(pattern, str) else ())]
    texts += [SAMPLES_BY_FORMAT[text_format]] if text_format in SAMPLES_BY_FORMAT else []
    for size in _iter_numbers(given, ("minLength", "maxLength")):
        if size < _MAX_TEXT:
            texts += ("a" * int(size), "a" * (int(size) + 1))
    return texts
