"""Values that follow schemas more or less: at every union, condition, list and bound one choice at random, always from the same seed.

They find what the border of two nodes and the pool miss: documents that need several conditions at several depths at once. Nothing here decides
if a value is valid; callers confirm it.

    gather     the schemas that a value follows: references and ``allOf``, one branch of each union, one side of each condition
    kind       one kind that they allow, or that their keywords are about
    value      members, items, texts and numbers near what they say, each following its own schemas
    disturb    one value in four then differs in one place
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import TypeAlias

from a2a_gen.diff.pool import collect_pool
from a2a_gen.diff.regex import generate_matches, is_match
from a2a_gen.diff.samples import SAMPLES_BY_FORMAT
from a2a_gen.diff.schema_node import KINDS, SchemaLocation, SchemaTree
from a2a_gen.source.json_text import Json

Schemas: TypeAlias = Sequence[SchemaLocation]

_MAX_DEPTH = 5
_MAX_PARTS = 60
_MAX_TEXT = 100
_MAX_ITEMS = 12
_USUAL_MEMBERS = 4
_MAX_MOVED = 10**15
_SEED = 2026
_SMALL_VALUES: tuple[Json, ...] = (None, True, False, 0, 1, -1, 0.5, "", "a", [], {})
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KEYWORDS_BY_KIND = {
    "object": frozenset({"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "dependentRequired"})
    | {"dependentSchemas", "dependencies", "unevaluatedProperties", "minProperties", "maxProperties"},
    "array": frozenset({"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "minItems", "maxItems", "uniqueItems"}),
    "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
    "number": frozenset(_BOUNDS),
}


class RandomValues:
    """A source of values for the schemas of both sides; it ends after a number of steps, each of which is a value or a part of one."""

    def __init__(self, sides: Iterable[tuple[SchemaTree, Schemas]], max_steps: int) -> None:
        self.steps = 0
        self._max_steps = max_steps
        self._random = Random(_SEED)  # noqa: S311 - the same values in every run
        self._sides = [(tree, tuple(schemas)) for tree, schemas in sides]
        names, scalars = collect_pool(self._sides)
        self._names = [*names, "other"]
        self._scalars: list[Json] = [*scalars, *_SMALL_VALUES]

    def generate(self) -> Iterator[Json]:
        """Generate values."""
        while self.steps < self._max_steps:
            tree, schemas = self._random.choice(self._sides)
            value = self._follow(tree, schemas, _MAX_DEPTH)
            yield self._disturb(value) if self._happens(0.25) else value

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def _follow(self, tree: SchemaTree, schemas: Schemas, depth: int) -> Json:
        self.steps += 1
        if depth < 0 or not schemas or self._happens(0.05):
            return self._random.choice(self._scalars)
        parts = self._gather(tree, schemas)
        listed = [value for part in parts for value in _list_values(part)]
        if listed and self._happens(0.85):
            return self._random.choice(listed)
        return self._make(self._choose_kind(parts), tree, parts, depth)

    def _make(self, kind: str, tree: SchemaTree, parts: list[SchemaLocation], depth: int) -> Json:
        match kind:
            case "object":
                return self._make_object(tree, parts, depth)
            case "array":
                return self._make_array(tree, parts, depth)
            case "string":
                return self._make_text(parts)
            case "number":
                return self._make_number(parts)
            case _:
                return self._happens(0.5) if kind == "boolean" else None

    def _gather(self, tree: SchemaTree, schemas: Schemas) -> list[SchemaLocation]:
        """Collect the schemas that a value follows."""
        pending, parts = list(schemas), list[SchemaLocation]()
        while pending and len(parts) < _MAX_PARTS:
            part = pending.pop()
            parts.append(part)
            for keyword, value in part.members.items():
                if keyword in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(value, str):
                    target = tree.resolve(part, value)
                    pending += [] if target is None else [target]
                else:
                    pending += [SchemaLocation(part.file, "", each) for each in self._choose_in_place(part.members, keyword, value)]
        return parts

    def _choose_in_place(self, members: dict[str, Json], keyword: str, value: Json) -> Iterable[Json]:
        """Choose the schemas in a keyword that the same value follows."""
        match keyword, value:
            case "allOf", list():
                return value
            case (("anyOf" | "oneOf"), list()) if value:
                return self._random.sample(value, min(len(value), 1 + self._happens(0.15)))
            case "if", _:
                holds = self._happens(0.5)
                chosen = members.get("then" if holds else "else", True)
                return [chosen, *([value] if holds or self._happens(0.3) else [])]
            case "not", _ if self._happens(0.4):
                return [value]
            case (("dependentSchemas" | "dependencies"), dict()):
                return [each for each in value.values() if isinstance(each, dict) and self._happens(0.5)]
            case _:
                return []

    def _choose_kind(self, parts: list[SchemaLocation]) -> str:
        types: list[set[str]] = [set(_list_types(part)) for part in parts if "type" in part.members]
        if types:
            kinds = types[0].intersection(*types) or types[0].union(*types)
            return self._random.choice(sorted(kinds) or KINDS)
        hinted = [kind for kind, keywords in _KEYWORDS_BY_KIND.items() for part in parts if not keywords.isdisjoint(part.members)]
        return self._random.choice(hinted if hinted and self._happens(0.85) else KINDS)

    def _make_object(self, tree: SchemaTree, parts: list[SchemaLocation], depth: int) -> dict[str, Json]:
        declared = [name for part in parts for name in _get_table(part, "properties")]
        names = [name for name in declared if self._happens(min(0.4, _USUAL_MEMBERS / len(declared)))]
        names += [str(name) for part in parts for name in _get_list(part, "required") if self._happens(0.93)]
        patterns = [pattern for part in parts for pattern in _get_table(part, "patternProperties") if self._happens(0.4)]
        names += [text for pattern in patterns for text in generate_matches(pattern)]
        names += [name for name in self._names[:20] if self._happens(0.08)]
        names += [name for part in parts if self._happens(0.5) for name in self._make_names(tree, part, depth)]
        for part in parts:
            dependents = [_get_list(part, "dependentRequired", name) for name in _get_table(part, "dependentRequired") if name in names]
            names += [str(each) for listed in dependents for each in listed]
        return {name: self._follow(tree, _list_member_schemas(parts, name), depth - 1) for name in dict.fromkeys(names)}

    def _make_names(self, tree: SchemaTree, part: SchemaLocation, depth: int) -> list[str]:
        count = next(_iter_numbers(part, ("minProperties", "maxProperties")), 0)
        names_schema = part.descend("propertyNames")
        made = [self._follow(tree, [names_schema], depth - 1)] if names_schema is not None else []
        more = [f"other{index}" for index in range(int(count) + self._random.choice((-1, 0, 1)))] if count < _MAX_ITEMS else []
        return [each for each in made if isinstance(each, str)] + more

    def _make_array(self, tree: SchemaTree, parts: list[SchemaLocation], depth: int) -> list[Json]:
        sizes = [int(size) + more for part in parts for size in _iter_numbers(part, ("minItems", "maxItems")) for more in (0, 1)]
        sizes += [len(_get_list(part, word)) for part in parts for word in ("prefixItems", "items")]
        sizes = [each for each in sizes if each <= _MAX_ITEMS]
        count = self._random.choice(sizes) if sizes and self._happens(0.5) else self._random.randint(0, 3)
        contained = [(each, self._random.choice((0.2, 0.5, 0.9))) for part in parts if (each := part.descend("contains")) is not None]
        items: list[Json] = []
        for index in range(count):
            schemas = _list_item_schemas(parts, index)
            chosen = [each for each, probability in contained if self._happens(probability)]
            items.append(self._follow(tree, [*schemas, *chosen] if self._happens(0.8) else chosen or schemas, depth - 1))
        return items

    def _make_text(self, parts: list[SchemaLocation]) -> str:
        made = [text for part in parts if isinstance(pattern := part.members.get("pattern"), str) for text in generate_matches(pattern)]
        made += [SAMPLES_BY_FORMAT[name] for part in parts if (name := str(part.members.get("format"))) in SAMPLES_BY_FORMAT]
        sizes = [int(size) for part in parts for size in _iter_numbers(part, ("minLength", "maxLength")) if size < _MAX_TEXT]
        made += ["a" * (size + more) for size in sizes for more in (0, 1)]
        common = [value for value in self._scalars if isinstance(value, str)]
        return self._random.choice(made if made and self._happens(0.75) else common)

    def _make_number(self, parts: list[SchemaLocation]) -> int | float:
        bounds = [bound for part in parts for bound in _iter_numbers(part, _BOUNDS)] or [0]
        base = self._random.choice(bounds)
        return base + self._random.choice((0, 0, 1, -1, 0.5)) if abs(base) < _MAX_MOVED else base

    def _disturb(self, value: Json) -> Json:
        """Change a value in one place."""
        if isinstance(value, dict):
            if value and self._happens(0.5):
                name = self._random.choice([*value])
                return {**value, name: self._disturb(value[name])}
            name = self._random.choice([*value, *self._names])
            return (
                {each: inner for each, inner in value.items() if each != name}
                if name in value
                else {**value, name: self._random.choice(self._scalars)}
            )
        if isinstance(value, list):
            if value and self._happens(0.5):
                index = self._random.randrange(len(value))
                return [*value[:index], self._disturb(value[index]), *value[index + 1 :]]
            return [*value, self._random.choice(self._scalars)] if self._happens(0.5) else value[:-1]
        return self._random.choice(self._scalars)


def _list_values(part: SchemaLocation) -> Iterator[Json]:
    if "const" in part.members:
        yield part.members["const"]
    yield from _get_list(part, "enum")


def _list_types(part: SchemaLocation) -> Iterator[str]:
    value = part.members.get("type")
    for each in value if isinstance(value, list) else [value]:
        yield "number" if each == "integer" else str(each)


def _get_table(part: SchemaLocation, keyword: str) -> dict[str, Json]:
    value = part.members.get(keyword)
    return value if isinstance(value, dict) else {}


def _get_list(part: SchemaLocation, keyword: str, name: str = "") -> list[Json]:
    value = _get_table(part, keyword).get(name) if name else part.members.get(keyword)
    return value if isinstance(value, list) else []


def _iter_numbers(part: SchemaLocation, keywords: Iterable[str]) -> Iterator[int | float]:
    for keyword in keywords:
        value = part.members.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value


def _list_member_schemas(parts: list[SchemaLocation], name: str) -> list[SchemaLocation]:
    """List what the schemas say about a member."""
    found: list[SchemaLocation] = []
    for part in parts:
        patterns = [pattern for pattern in _get_table(part, "patternProperties") if is_match(pattern, name)]
        declared = [part.descend("properties", name), *(part.descend("patternProperties", pattern) for pattern in patterns)]
        own = [each for each in declared if each is not None]
        rest = (part.descend("additionalProperties"), part.descend("unevaluatedProperties"))
        found += own or [each for each in rest if each is not None]
    return [each for each in found if isinstance(each.data, dict)]


def _list_item_schemas(parts: list[SchemaLocation], index: int) -> list[SchemaLocation]:
    """List what the schemas say about an item."""
    found: list[SchemaLocation] = []
    for part in parts:
        own = part.descend("prefixItems", index) or (part.descend("items", index) if isinstance(part.members.get("items"), list) else None)
        rest = (part.descend("items"), part.descend("additionalItems"), part.descend("unevaluatedItems"))
        found += [own] if own is not None else [each for each in rest if each is not None]
    return [each for each in found if isinstance(each.data, dict)]
