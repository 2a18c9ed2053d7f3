"""Sample values of a node, and values near the border between two nodes, where two versions may
disagree.

No sample is guaranteed to be valid: callers confirm it with a validator. A definition that requires
itself without end has no sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, islice

from a2a_gen.diff.documents.regex import generate_matches
from a2a_gen.diff.rules.arrays import build_item_node
from a2a_gen.diff.tree import members, value_set
from a2a_gen.diff.tree.schema_node import SchemaNode, SchemaTree, build_node
from a2a_gen.diff.tree.value_set import Alternative, ValueSet
from a2a_gen.source.json_text import Json

_MAX_DEPTH = 8
_MAX_SIZE = 3_000
_MAX_NODES = 4_000
_MAX_ITEM_SAMPLES = 12
_KIND_ORDER = ("null", "boolean", "string", "number", "array", "object")
SAMPLES_BY_FORMAT: Mapping[str, str] = {
    "date-time": "2025-01-01T00:00:00Z",
    "date": "2025-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "a@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "regex": "a",
    "uri": "https://example.org/",
    "uri-reference": "/a",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/a",
}


class Sampler:
    """Generates values for the nodes of one tree."""

    def __init__(self, tree: SchemaTree, get_value_set: Callable[[SchemaNode], ValueSet]) -> None:
        self._tree = tree
        self._get_value_set = get_value_set
        self._remaining_nodes = _MAX_NODES

    def reset_budget(self) -> None:
        """Reset the limit of visited nodes."""
        self._remaining_nodes = _MAX_NODES

    def generate(self, node: SchemaNode, depth: int = 0) -> Iterator[Json]:
        """Generate small values of a node, the simplest kinds first."""
        self._remaining_nodes -= 1
        if depth > _MAX_DEPTH or self._remaining_nodes < 0 or node.is_impossible:
            return
        alternatives = self._get_value_set(node).alternatives
        for kind in _KIND_ORDER:
            for alternative in alternatives.get(kind, ()):
                yield from self.generate_for(alternative, depth)

    def generate_first(self, node: SchemaNode, depth: int = 0) -> tuple[Json, ...]:
        """Generate one small value, or none."""
        return tuple(islice(self.generate(node, depth), 1))

    def generate_for(
        self, alternative: Alternative, depth: int = 0, other: Alternative | None = None
    ) -> Iterator[Json]:
        """Generate values of one alternative, including those near the border to another one."""
        if alternative.values is not None:
            listed = (other.values if other else None) or dict[str, Json]()
            yield from (value for name, value in alternative.values.items() if name not in listed)
            yield from (value for name, value in alternative.values.items() if name in listed)
            return
        match alternative.kind:
            case "number":
                yield from _generate_numbers(alternative, other)
            case "string":
                yield from _generate_strings(alternative, other)
            case "array":
                yield from self._generate_lists(alternative, depth, other)
            case _:
                yield from self._generate_objects(alternative, depth, other)

    def generate_objects_with(
        self, alternative: Alternative, name: str, value: Json, depth: int = 0
    ) -> Iterator[Json]:
        """Generate objects of an alternative with a given member."""
        for group in self._iter_groups(alternative, name):
            document = self._build_object(
                alternative,
                {*members.list_required(alternative.node), *group},
                depth,
                {name: value},
            )
            if document is not None:
                yield document

    def generate_lists_with(
        self, alternative: Alternative, index: int, value: Json, depth: int = 0
    ) -> Iterator[Json]:
        """Generate arrays of an alternative with a given item at an index."""
        before = [
            self.generate_first(build_item_node(self._tree, alternative.node, each), depth + 1)
            for each in range(index)
        ]
        if all(before):
            items = [each[0] for each in before]
            yield [*items, value]
            minimum = value_set.get_min_size(alternative.node, "array")
            if minimum > len(items) + 1 and minimum <= _MAX_SIZE:
                rest = self.generate_first(
                    build_item_node(self._tree, alternative.node, index + 1), depth + 1
                ) or (value,)
                yield [*items, value, *(rest * (minimum - len(items) - 1))]

    def _generate_lists(
        self, alternative: Alternative, depth: int, other: Alternative | None
    ) -> Iterator[Json]:
        prefix_count = max(
            (
                len(each)
                for each in alternative.node.values("prefixItems")
                if isinstance(each, list)
            ),
            default=0,
        )
        for size in _list_border_sizes("array", alternative, other):
            limit = _MAX_ITEM_SAMPLES if depth == 0 else 2
            nodes = [
                build_item_node(self._tree, alternative.node, index)
                for index in range(min(size, prefix_count + 1))
            ]
            samples = [list(islice(self.generate(node, depth + 1), limit)) for node in nodes]
            samples += samples[-1:] * (size - len(samples))
            if all(samples):
                yield [values[0] for values in samples]
                yield from self._generate_containing(
                    alternative, [values[0] for values in samples], depth
                )
                yield [values[index % len(values)] for index, values in enumerate(samples)]

    def _generate_containing(
        self, alternative: Alternative, items: list[Json], depth: int
    ) -> Iterator[Json]:
        for schema in alternative.node.schemas:
            contained = schema.descend("contains")
            if contained:
                node = build_node(self._tree, [contained])
                for value in islice(self.generate(node, depth + 1), 4):
                    yield [*items, value]
                    yield [value, *items[1:]]

    def _generate_objects(
        self, alternative: Alternative, depth: int, other: Alternative | None
    ) -> Iterator[Json]:
        required = set(members.list_required(alternative.node))
        for group in self._iter_groups(alternative, ""):
            document = self._build_object(alternative, {*required, *group}, depth, {})
            if document is not None:
                yield document
        if other is None and depth:
            return
        nodes = [alternative.node, *([other.node] if other else [])]
        declared = chain.from_iterable(map(members.list_names, nodes))
        names = [name for name in declared if name not in required]
        hinted = chain.from_iterable(map(members.list_condition_names, nodes))
        for name in dict.fromkeys((*names, *hinted, "other")):
            for value in islice(
                self.generate(
                    members.build_member_node(self._tree, alternative.node, name), depth + 1
                ),
                3,
            ):
                yield from self.generate_objects_with(alternative, name, value, depth)
        for pattern in (
            *members.build_pattern_nodes(self._tree, alternative.node),
            *_list_patterns(other),
        ):
            for name in generate_matches(pattern):
                for value in islice(
                    self.generate(
                        members.build_member_node(self._tree, alternative.node, name), depth + 1
                    ),
                    3,
                ):
                    yield from self.generate_objects_with(alternative, name, value, depth)
        largest = self._build_object(alternative, {*required, *names}, depth, {})
        if largest is not None:
            yield largest
        yield from self._generate_sized(alternative, depth, other)

    def _generate_sized(
        self, alternative: Alternative, depth: int, other: Alternative | None
    ) -> Iterator[Json]:
        filler = self.generate_first(
            members.build_additional_node(self._tree, alternative.node), depth + 1
        )
        for size in _list_border_sizes("object", alternative, other) if filler else ():
            document = self._build_object(
                alternative, set(members.list_required(alternative.node)), depth, {}
            )
            if isinstance(document, dict) and size <= _MAX_SIZE:
                yield {
                    **document,
                    **{f"other{index}": filler[0] for index in range(size - len(document))},
                }

    def _iter_groups(self, alternative: Alternative, name: str) -> Iterator[frozenset[str]]:
        """Iterate over the choices of an object's ``oneOf`` groups, those with the given member
        first.
        """
        groups = list(members.collect_presence_groups(alternative.node).values())
        if not groups:
            yield frozenset()
            return
        for choice in sorted(groups[0], key=lambda each: (name not in each, sorted(each))):
            rest = [
                min(group, key=lambda each: (name not in each, len(each), sorted(each)))
                for group in groups[1:]
            ]
            yield frozenset(chain(choice, *rest))

    def _build_object(
        self, alternative: Alternative, names: set[str], depth: int, document: dict[str, Json]
    ) -> Json:
        for name in sorted(
            members.add_dependents(alternative.node, names | document.keys()) - document.keys()
        ):
            value = self.generate_first(
                members.build_member_node(self._tree, alternative.node, name), depth + 1
            )
            if not value:
                return None
            document[name] = value[0]
        minimum = value_set.get_min_size(alternative.node, "object")
        if minimum > len(document):
            filler = self.generate_first(
                members.build_additional_node(self._tree, alternative.node), depth + 1
            )
            for index in range(min(minimum - len(document), _MAX_SIZE) if filler else 0):
                document[f"other{index}"] = filler[0]
        return document


def _list_patterns(alternative: Alternative | None) -> Iterator[str]:
    for table in alternative.node.values("patternProperties") if alternative else ():
        yield from table if isinstance(table, dict) else ()


def _list_border_sizes(kind: str, alternative: Alternative, other: Alternative | None) -> list[int]:
    ends: list[int] = []
    for each in (alternative, other):
        if each is not None and each.kind == kind:
            maximum = value_set.get_max_size(each.node, kind)
            ends += [
                value_set.get_min_size(each.node, kind),
                *([] if maximum is None else [maximum]),
            ]
    minimum = value_set.get_min_size(alternative.node, kind)
    maximum = value_set.get_max_size(alternative.node, kind)
    around = chain.from_iterable((end, end + 1, end - 1) for end in ends)
    sizes = dict.fromkeys([minimum, *around, minimum + 1, minimum + 2])
    return [
        size
        for size in sizes
        if minimum <= size <= _MAX_SIZE and (maximum is None or size <= maximum)
    ]


def _generate_strings(alternative: Alternative, other: Alternative | None) -> Iterator[str]:
    for name in alternative.node.values("format"):
        if isinstance(name, str) and name in SAMPLES_BY_FORMAT:
            yield SAMPLES_BY_FORMAT[name]
    patterns = value_set.get_patterns(alternative.node)
    for pattern in sorted(patterns):
        for text in generate_matches(pattern):
            yield text
            yield from (
                text + "a" * size for size in _list_border_sizes("string", alternative, other)
            )
    for size in _list_border_sizes("string", alternative, other):
        yield "a" * size
        yield "é" * size
    if other is not None and other.kind == "string":
        for pattern in sorted(value_set.get_patterns(other.node)):
            yield from generate_matches(pattern)
    yield from ("A", "0", "-", "a b", " ", "\n", "Zz9_/.", "YQ==", "_-")


def _generate_numbers(alternative: Alternative, other: Alternative | None) -> Iterator[Json]:
    multiple = value_set.get_multiple(alternative.node)
    multiples = [multiple] if multiple else []
    if other and other.kind == "number":
        multiples += filter(None, [value_set.get_multiple(other.node)])
    ends = [Fraction(0)]
    for each in (alternative, other):
        if each is not None and each.kind == "number":
            ends += [
                bound[0]
                for bound in (
                    value_set.get_lower_bound(each.node),
                    value_set.get_upper_bound(each.node),
                )
                if bound
            ]
    moves = [
        Fraction(0),
        Fraction(1),
        Fraction(-1),
        Fraction(1, 2),
        Fraction(-1, 2),
        *multiples,
        *(-each for each in multiples),
        *(2 * each for each in multiples),
    ]
    for end in dict.fromkeys(ends):
        base = end if multiple is None else (end // multiple) * multiple
        for move in moves:
            for value in dict.fromkeys(
                (
                    base + move,
                    base + move + (multiple or 0),
                    *(base * move for _ in range(end != 0)),
                )
            ):
                if value_set.is_within_bounds(alternative.node, _to_json_number(value)):
                    yield _to_json_number(value)


def _to_json_number(value: Fraction) -> int | float:
    if value.denominator == 1:
        return value.numerator
    return float(value)
