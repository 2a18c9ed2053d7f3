"""Small values of a node, and values near the border between two nodes: where a document is that one side takes and the other refuses.

Nothing here is certain; whoever asks lets a validator judge. A definition that needs itself for ever has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, islice

from a2a_gen.diff import members, value_set
from a2a_gen.diff.regex import generate_matches
from a2a_gen.diff.rules.arrays import build_item_node
from a2a_gen.diff.schema_node import SchemaNode, SchemaTree, build_node
from a2a_gen.diff.value_set import Alternative, ValueSet
from a2a_gen.source.json_text import Json

_MAX_DEPTH = 8
_MAX_SIZE = 3_000
_MAX_NODES = 4_000
_MAX_ITEM_SAMPLES = 12
_KIND_ORDER = ("null", "boolean", "string", "number", "array", "object")
_SAMPLES_BY_FORMAT: Mapping[str, str] = {
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
    """Makes values of the nodes of one tree."""

    def __init__(self, tree: SchemaTree, get_value_set: Callable[[SchemaNode], ValueSet]) -> None:
        self._tree = tree
        self._get_value_set = get_value_set
        self._remaining_nodes = _MAX_NODES

    def reset_budget(self) -> None:
        """Begin to count anew: what follows may take as long as anything before."""
        self._remaining_nodes = _MAX_NODES

    def generate(self, node: SchemaNode, depth: int = 0) -> Iterator[Json]:
        """Make small values of a node, the simplest kinds first."""
        self._remaining_nodes -= 1
        if depth > _MAX_DEPTH or self._remaining_nodes < 0 or node.is_impossible:
            return
        atoms = self._get_value_set(node).alternatives
        for kind in _KIND_ORDER:
            for atom in atoms.get(kind, ()):
                yield from self.generate_for(atom, depth)

    def generate_first(self, node: SchemaNode, depth: int = 0) -> tuple[Json, ...]:
        """Make one small value, or none."""
        return tuple(islice(self.generate(node, depth), 1))

    def generate_for(self, alternative: Alternative, depth: int = 0, other: Alternative | None = None) -> Iterator[Json]:
        """Make values of one alternative; those that may be on the other side of the border to another one come too."""
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

    def generate_objects_with(self, alternative: Alternative, name: str, value: Json, depth: int = 0) -> Iterator[Json]:
        """Make objects of an alternative that hold a value in one member."""
        for group in self._iter_groups(alternative, name):
            made = self._build_object(alternative, {*members.list_required(alternative.node), *group}, depth, {name: value})
            if made is not None:
                yield made

    def generate_lists_with(self, alternative: Alternative, index: int, value: Json, depth: int = 0) -> Iterator[Json]:
        """Make lists of an alternative that hold a value at one position."""
        before = [self.generate_first(build_item_node(self._tree, alternative.node, each), depth + 1) for each in range(index)]
        if all(before):
            made = [each[0] for each in before]
            yield [*made, value]
            least = value_set.get_min_size(alternative.node, "array")
            if least > len(made) + 1 and least <= _MAX_SIZE:
                rest = self.generate_first(build_item_node(self._tree, alternative.node, index + 1), depth + 1) or (value,)
                yield [*made, value, *(rest * (least - len(made) - 1))]

    def _generate_lists(self, alternative: Alternative, depth: int, other: Alternative | None) -> Iterator[Json]:
        first = max((len(each) for each in alternative.node.values("prefixItems") if isinstance(each, list)), default=0)
        for size in _list_border_sizes("array", alternative, other):
            few = _MAX_ITEM_SAMPLES if depth == 0 else 2
            each = [
                list(islice(self.generate(build_item_node(self._tree, alternative.node, index), depth + 1), few))
                for index in range(min(size, first + 1))
            ]
            each += each[-1:] * (size - len(each))
            if all(each):
                yield [values[0] for values in each]
                yield from self._generate_containing(alternative, [values[0] for values in each], depth)
                yield [values[index % len(values)] for index, values in enumerate(each)]

    def _generate_containing(self, alternative: Alternative, items: list[Json], depth: int) -> Iterator[Json]:
        for spot in alternative.node.schemas:
            wanted = spot.descend("contains")
            for value in islice(self.generate(build_node(self._tree, [wanted]), depth + 1), 4) if wanted else ():
                yield [*items, value]
                yield [value, *items[1:]]

    def _generate_objects(self, alternative: Alternative, depth: int, other: Alternative | None) -> Iterator[Json]:
        required = set(members.list_required(alternative.node))
        for group in self._iter_groups(alternative, ""):
            made = self._build_object(alternative, {*required, *group}, depth, {})
            if made is not None:
                yield made
        if other is None and depth:
            return
        names = [name for name in (*members.list_names(alternative.node), *(members.list_names(other.node) if other else ())) if name not in required]
        hinted = [name for each in (alternative, other) if each for name in members.list_condition_names(each.node)]
        for name in dict.fromkeys((*names, *hinted, "other")):
            for value in islice(self.generate(members.build_member_node(self._tree, alternative.node, name), depth + 1), 3):
                yield from self.generate_objects_with(alternative, name, value, depth)
        for pattern in (*members.build_pattern_nodes(self._tree, alternative.node), *_list_patterns(other)):
            for name in generate_matches(pattern):
                for value in islice(self.generate(members.build_member_node(self._tree, alternative.node, name), depth + 1), 3):
                    yield from self.generate_objects_with(alternative, name, value, depth)
        everything = self._build_object(alternative, {*required, *names}, depth, {})
        if everything is not None:
            yield everything
        yield from self._generate_sized(alternative, depth, other)

    def _generate_sized(self, alternative: Alternative, depth: int, other: Alternative | None) -> Iterator[Json]:
        filler = self.generate_first(members.build_additional_node(self._tree, alternative.node), depth + 1)
        for size in _list_border_sizes("object", alternative, other) if filler else ():
            made = self._build_object(alternative, set(members.list_required(alternative.node)), depth, {})
            if isinstance(made, dict) and size <= _MAX_SIZE:
                yield {**made, **{f"other{index}": filler[0] for index in range(size - len(made))}}

    def _iter_groups(self, alternative: Alternative, name: str) -> Iterator[frozenset[str]]:
        """Go through the choices of an object's groups, one with a wanted member first."""
        groups = list(members.collect_presence_groups(alternative.node).values())
        if not groups:
            yield frozenset()
            return
        for choice in sorted(groups[0], key=lambda each: (name not in each, sorted(each))):
            rest = [min(group, key=lambda each: (name not in each, len(each))) for group in groups[1:]]
            yield frozenset(chain(choice, *rest))

    def _build_object(self, alternative: Alternative, names: set[str], depth: int, made: dict[str, Json]) -> Json:
        for name in sorted(members.add_dependents(alternative.node, names | made.keys()) - made.keys()):
            value = self.generate_first(members.build_member_node(self._tree, alternative.node, name), depth + 1)
            if not value:
                return None
            made[name] = value[0]
        least = value_set.get_min_size(alternative.node, "object")
        if least > len(made):
            filler = self.generate_first(members.build_additional_node(self._tree, alternative.node), depth + 1)
            for index in range(min(least - len(made), _MAX_SIZE) if filler else 0):
                made[f"other{index}"] = filler[0]
        return made


def _list_patterns(alternative: Alternative | None) -> Iterator[str]:
    for table in alternative.node.values("patternProperties") if alternative else ():
        yield from table if isinstance(table, dict) else ()


def _list_border_sizes(kind: str, alternative: Alternative, other: Alternative | None) -> list[int]:
    ends: list[int] = []
    for each in (alternative, other):
        if each is not None and each.kind == kind:
            most = value_set.get_max_size(each.node, kind)
            ends += [value_set.get_min_size(each.node, kind), *([] if most is None else [most])]
    least, most = value_set.get_min_size(alternative.node, kind), value_set.get_max_size(alternative.node, kind)
    wanted = dict.fromkeys([least, *(end + more for end in ends for more in (0, 1, -1)), least + 1, least + 2])
    return [size for size in wanted if least <= size <= _MAX_SIZE and (most is None or size <= most)]


def _generate_strings(alternative: Alternative, other: Alternative | None) -> Iterator[str]:
    for form in alternative.node.values("format"):
        if isinstance(form, str) and form in _SAMPLES_BY_FORMAT:
            yield _SAMPLES_BY_FORMAT[form]
    patterns = value_set.get_patterns(alternative.node)
    for pattern in sorted(patterns):
        for text in generate_matches(pattern):
            yield text
            yield from (text + "a" * size for size in _list_border_sizes("string", alternative, other))
    for size in _list_border_sizes("string", alternative, other):
        yield "a" * size
        yield "é" * size
    if other is not None and other.kind == "string":
        yield from (text for pattern in sorted(value_set.get_patterns(other.node)) for text in generate_matches(pattern))
    yield from ("A", "0", "-", "a b", " ", "\n", "Zz9_/.", "YQ==", "_-")


def _generate_numbers(alternative: Alternative, other: Alternative | None) -> Iterator[Json]:
    step = value_set.get_multiple(alternative.node)
    steps = [each for each in (step, value_set.get_multiple(other.node) if other and other.kind == "number" else None) if each]
    ends = [Fraction(0)]
    for each in (alternative, other):
        if each is not None and each.kind == "number":
            ends += [bound[0] for bound in (value_set.get_lower_bound(each.node), value_set.get_upper_bound(each.node)) if bound]
    moves = [
        Fraction(0),
        Fraction(1),
        Fraction(-1),
        Fraction(1, 2),
        Fraction(-1, 2),
        *steps,
        *(-each for each in steps),
        *(2 * each for each in steps),
    ]
    for end in dict.fromkeys(ends):
        base = end if step is None else (end // step) * step
        for move in moves:
            for value in dict.fromkeys((base + move, base + move + (step or 0), *(base * move for _ in range(end != 0)))):
                if value_set.is_within_bounds(alternative.node, _to_json_number(value)):
                    yield _to_json_number(value)


def _to_json_number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
