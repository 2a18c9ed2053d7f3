"""Values that follow schemas more or less: at every union, condition, list and bound one choice at
random, always from the same seed.

They find what the border of two nodes and the pool miss: documents that need several conditions at
several depths at once. Nothing here decides if a value is valid; callers confirm it.

    gather     the schemas that a value follows: references and ``allOf``, one branch of each union,
               one side of each condition
    kind       one kind that they allow, or that their keywords are about
    value      members, items, texts and numbers near what they say, each following its own schemas
    disturb    one value in four then differs in one place
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from random import Random
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from a2a_gen.diff.documents.pool import collect_pool
from a2a_gen.diff.documents.regex import generate_matches
from a2a_gen.diff.tree.schema_node import KINDS, SchemaLocation, SchemaTree
from a2a_gen.diff.tree.value_hints import ValueHints
from a2a_gen.source.json_text import Json

T = TypeVar("T")
Schemas: TypeAlias = Sequence[SchemaLocation]

_MAX_DEPTH = 5
_MAX_PARTS = 60
_USUAL_MEMBERS = 4
_MAX_MOVED = 10**15
_SEED = 2026
_NOTHING: Mapping[int, Sequence[Json]] = MappingProxyType({})
_SMALL_VALUES: tuple[Json, ...] = (None, True, False, 0, 1, -1, 0.5, "", "a", [], {})


class RandomValues:
    """A source of values for the schemas of both sides; it ends after a number of steps, each of
    which is a value or a part of one.

    Values that are given for the data of a schema, by identity, are used at its place in half of
    the cases.
    """

    def __init__(
        self,
        sides: Iterable[tuple[SchemaTree, Schemas]],
        max_steps: int,
        given: Mapping[int, Sequence[Json]] = _NOTHING,
    ) -> None:
        self.steps = 0
        self._max_steps = max_steps
        self._given = given
        self._random = Random(_SEED)  # noqa: S311 - the same values in every run
        self._hints: dict[tuple[str, int], ValueHints] = {}
        located = [(tree, tuple(schemas)) for tree, schemas in sides]
        self._sides = [(tree, list(map(self._find_hints, schemas))) for tree, schemas in located]
        names, scalars = collect_pool(located)
        self._names = [*names, "other"]
        self._scalars: list[Json] = [*scalars, *_SMALL_VALUES]
        self._texts = [value for value in self._scalars if isinstance(value, str)]

    def generate(self) -> Iterator[Json]:
        """Generate values."""
        while self.steps < self._max_steps:
            tree, schemas = self._choose(self._sides)
            value = self._follow(tree, schemas, _MAX_DEPTH)
            yield self._disturb(value) if self._happens(0.25) else value

    def _find_hints(self, schema: SchemaLocation) -> ValueHints:
        # The trees keep their data, so no other schema gets this id.
        key = (schema.file, id(schema.data))
        if key not in self._hints:
            self._hints[key] = ValueHints.build(schema)
        return self._hints[key]

    def _happens(self, probability: float) -> bool:
        return self._random.random() < probability

    def _choose(self, values: Sequence[T]) -> T:
        return values[int(self._random.random() * len(values))]

    def _follow(self, tree: SchemaTree, schemas: Sequence[ValueHints], depth: int) -> Json:
        self.steps += 1
        if depth < 0 or not schemas or self._happens(0.05):
            return self._choose(self._scalars)
        parts = self._gather(tree, schemas)
        given = list[Json]()
        for part in parts:
            given += self._given.get(id(part.source.data), ())
        if given and self._happens(0.5):
            return self._choose(given)
        listed = list(chain.from_iterable(each.values for each in parts))
        if listed and self._happens(0.85):
            return self._choose(listed)
        return self._make(self._choose_kind(parts), tree, parts, depth)

    def _make(self, kind: str, tree: SchemaTree, parts: list[ValueHints], depth: int) -> Json:
        match kind:
            case "object":
                return self._make_object(tree, parts, depth)
            case "array":
                return self._make_array(tree, parts, depth)
            case "string":
                texts = list(chain.from_iterable(each.texts for each in parts))
                return self._choose(texts if texts and self._happens(0.75) else self._texts)
            case "number":
                return self._make_number(parts)
            case "boolean":
                return self._happens(0.5)
            case _:
                return None

    def _make_number(self, parts: list[ValueHints]) -> Json:
        bounds = list(chain.from_iterable(each.bounds for each in parts))
        base = self._choose(bounds or [0])
        # Larger floats become too coarse for a step of a half.
        if abs(base) < _MAX_MOVED:
            base += self._choose((0, 0, 1, -1, 0.5))
        return base

    def _gather(self, tree: SchemaTree, schemas: Sequence[ValueHints]) -> list[ValueHints]:
        """Collect the schemas that a value follows."""
        pending = list(schemas)
        parts = list[ValueHints]()
        while pending and len(parts) < _MAX_PARTS:
            part = pending.pop()
            parts.append(part)
            for reference in part.references:
                target = tree.resolve(part.source, reference)
                if target is not None:
                    pending.append(self._find_hints(target))
            for keyword, value in part.in_place:
                chosen = self._choose_in_place(part.source.members, keyword, value)
                pending += [
                    self._find_hints(SchemaLocation(part.source.file, "", each)) for each in chosen
                ]
        return parts

    def _choose_in_place(
        self, members: dict[str, Json], keyword: str, value: Json
    ) -> Iterable[Json]:
        """Choose the schemas in a keyword that the same value follows."""
        chosen: list[Json] = []
        match keyword, value:
            case "allOf", list():
                chosen = value
            case (("anyOf" | "oneOf"), list()) if value:
                # Two branches at once find what a oneOf forbids.
                if self._happens(0.15):
                    chosen = self._random.sample(value, min(len(value), 2))
                else:
                    chosen.append(self._choose(value))
            case "if", _:
                holds = self._happens(0.5)
                chosen.append(members.get("then" if holds else "else", True))
                if holds or self._happens(0.3):
                    chosen.append(value)
            case "not", _ if self._happens(0.4):
                chosen.append(value)
            case (("dependentSchemas" | "dependencies"), dict()):
                schemas = (each for each in value.values() if isinstance(each, dict))
                chosen.extend(each for each in schemas if self._happens(0.5))
            case _:
                pass
        return chosen

    def _choose_kind(self, parts: list[ValueHints]) -> str:
        types = [part.types for part in parts if part.types is not None]
        if types:
            kinds = types[0].intersection(*types) or types[0].union(*types)
            return self._choose(sorted(kinds) or KINDS)
        hinted = list(chain.from_iterable(each.kinds for each in parts))
        return self._choose(hinted if hinted and self._happens(0.85) else KINDS)

    def _make_object(
        self, tree: SchemaTree, parts: list[ValueHints], depth: int
    ) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for name in dict.fromkeys(self._choose_names(tree, parts, depth)):
            described = list(chain.from_iterable(part.list_member_schemas(name) for part in parts))
            made[name] = self._follow(
                tree, self._add_rest(parts, "unevaluatedProperties", described), depth - 1
            )
        return made

    def _choose_names(self, tree: SchemaTree, parts: list[ValueHints], depth: int) -> list[str]:
        """Choose the names of an object's members; a name may come twice."""
        declared = list(chain.from_iterable(part.members for part in parts))
        # However many members are declared, an object has about as many as usual.
        share = min(0.4, _USUAL_MEMBERS / max(len(declared), 1))
        names = [name for name in declared if self._happens(share)]
        required = chain.from_iterable(part.required for part in parts)
        names += [name for name in required if self._happens(0.93)]
        patterns = chain.from_iterable(part.patterns for part in parts)
        for pattern in [each for each in patterns if self._happens(0.4)]:
            names += generate_matches(pattern)
        names += [name for name in self._names[:20] if self._happens(0.08)]
        for part in parts:
            if self._happens(0.5):
                names += self._make_names(tree, part, depth)
        for part in parts:
            present = set(names)
            for name, dependents in part.dependents.items():
                if name in present:
                    names += dependents
        return names

    def _add_rest(
        self, parts: list[ValueHints], keyword: str, described: list[ValueHints]
    ) -> list[ValueHints]:
        """Add what is said about members or items that nothing describes; to those that one of
        several schemas describes, at random.
        """
        if described and (len(parts) == 1 or self._happens(0.7)):
            return described
        rest = chain.from_iterable(part.rest.get(keyword, ()) for part in parts)
        return [*described, *rest]

    def _make_names(self, tree: SchemaTree, part: ValueHints, depth: int) -> list[str]:
        names: list[str] = []
        if part.names_schema is not None:
            name = self._follow(tree, [part.names_schema], depth - 1)
            if isinstance(name, str):
                names.append(name)
        if part.member_counts:
            count = self._choose(part.member_counts)
            names += [f"other{index}" for index in range(count)]
        return names

    def _make_array(self, tree: SchemaTree, parts: list[ValueHints], depth: int) -> list[Json]:
        sizes = list(chain.from_iterable(part.sizes for part in parts))
        count = self._choose(sizes) if sizes and self._happens(0.5) else self._random.randint(0, 3)
        contained = [
            (part.contains, self._choose((0.2, 0.5, 0.9)))
            for part in parts
            if part.contains is not None
        ]
        items: list[Json] = []
        for index in range(count):
            described = list(chain.from_iterable(part.list_item_schemas(index) for part in parts))
            schemas = self._add_rest(parts, "unevaluatedItems", described)
            chosen = [each for each, probability in contained if self._happens(probability)]
            # An item that follows `contains` alone may be invalid, as documents of other senders
            # are.
            if self._happens(0.8):
                chosen = [*schemas, *chosen]
            items.append(self._follow(tree, chosen or schemas, depth - 1))
        return items

    def _disturb(self, value: Json) -> Json:
        """Change a value in one place."""
        if isinstance(value, dict):
            return self._disturb_object(value)
        if isinstance(value, list):
            return self._disturb_array(value)
        return self._choose(self._scalars)

    def _disturb_object(self, value: dict[str, Json]) -> Json:
        if value and self._happens(0.5):
            name = self._choose([*value])
            return {**value, name: self._disturb(value[name])}
        name = self._choose([*value, *self._names])
        if name in value:
            return {each: inner for each, inner in value.items() if each != name}
        return {**value, name: self._choose(self._scalars)}

    def _disturb_array(self, value: list[Json]) -> Json:
        if value and self._happens(0.5):
            index = self._random.randrange(len(value))
            return [*value[:index], self._disturb(value[index]), *value[index + 1 :]]
        if self._happens(0.5):
            return [*value, self._choose(self._scalars)]
        return value[:-1]
