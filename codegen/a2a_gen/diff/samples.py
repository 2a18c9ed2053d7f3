"""Small values of a node, and values near the border between two nodes: where a document is that one side takes and the other refuses.

Nothing here is certain; whoever asks lets a validator judge. A definition that needs itself for ever has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, islice

from a2a_gen.diff import members, value_set
from a2a_gen.diff.regex import matching
from a2a_gen.diff.rules.arrays import item
from a2a_gen.diff.schema_node import Node, Tree, node
from a2a_gen.diff.value_set import Atom, Shape
from a2a_gen.source.json_text import Json

_DEEPEST = 8
_LONGEST = 3_000
_MOST_NODES = 4_000
_FEW = 12
_ORDER = ("null", "boolean", "string", "number", "array", "object")
_BY_FORMAT: Mapping[str, str] = {
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

    def __init__(self, tree: Tree, shape: Callable[[Node], Shape]) -> None:
        self._tree = tree
        self._shape = shape
        self._left = _MOST_NODES

    def begin(self) -> None:
        """Begin to count anew: what follows may take as long as anything before."""
        self._left = _MOST_NODES

    def values(self, node: Node, depth: int = 0) -> Iterator[Json]:
        """Make small values of a node, the simplest kinds first."""
        self._left -= 1
        if depth > _DEEPEST or self._left < 0 or node.is_impossible:
            return
        atoms = self._shape(node).atoms
        for kind in _ORDER:
            for atom in atoms.get(kind, ()):
                yield from self.of(atom, depth)

    def first(self, node: Node, depth: int = 0) -> tuple[Json, ...]:
        """Make one small value, or none."""
        return tuple(islice(self.values(node, depth), 1))

    def of(self, atom: Atom, depth: int = 0, other: Atom | None = None) -> Iterator[Json]:
        """Make values of one alternative; those that may be on the other side of the border to another one come too."""
        if atom.values is not None:
            listed = (other.values if other else None) or dict[str, Json]()
            yield from (value for name, value in atom.values.items() if name not in listed)
            yield from (value for name, value in atom.values.items() if name in listed)
            return
        match atom.kind:
            case "number":
                yield from _numbers(atom, other)
            case "string":
                yield from _texts(atom, other)
            case "array":
                yield from self._lists(atom, depth, other)
            case _:
                yield from self._objects(atom, depth, other)

    def around(self, atom: Atom, name: str, value: Json, depth: int = 0) -> Iterator[Json]:
        """Make objects of an alternative that hold a value in one member."""
        for group in self._groups(atom, name):
            made = self._with(atom, {*members.required(atom.node), *group}, depth, {name: value})
            if made is not None:
                yield made

    def list_with(self, atom: Atom, index: int, value: Json, depth: int = 0) -> Iterator[Json]:
        """Make lists of an alternative that hold a value at one position."""
        before = [self.first(item(self._tree, atom.node, each), depth + 1) for each in range(index)]
        if all(before):
            made = [each[0] for each in before]
            yield [*made, value]
            least = value_set.smallest(atom.node, "array")
            if least > len(made) + 1 and least <= _LONGEST:
                rest = self.first(item(self._tree, atom.node, index + 1), depth + 1) or (value,)
                yield [*made, value, *(rest * (least - len(made) - 1))]

    def _lists(self, atom: Atom, depth: int, other: Atom | None) -> Iterator[Json]:
        first = max((len(each) for each in atom.node.values("prefixItems") if isinstance(each, list)), default=0)
        for size in _sizes("array", atom, other):
            few = _FEW if depth == 0 else 2
            each = [list(islice(self.values(item(self._tree, atom.node, index), depth + 1), few)) for index in range(min(size, first + 1))]
            each += each[-1:] * (size - len(each))
            if all(each):
                yield [values[0] for values in each]
                yield from self._containing(atom, [values[0] for values in each], depth)
                yield [values[index % len(values)] for index, values in enumerate(each)]

    def _containing(self, atom: Atom, items: list[Json], depth: int) -> Iterator[Json]:
        for spot in atom.node.spots:
            wanted = spot.below("contains")
            for value in islice(self.values(node(self._tree, [wanted]), depth + 1), 4) if wanted else ():
                yield [*items, value]
                yield [value, *items[1:]]

    def _objects(self, atom: Atom, depth: int, other: Atom | None) -> Iterator[Json]:
        required = set(members.required(atom.node))
        for group in self._groups(atom, ""):
            made = self._with(atom, {*required, *group}, depth, {})
            if made is not None:
                yield made
        if other is None and depth:
            return
        names = [name for name in (*members.names(atom.node), *(members.names(other.node) if other else ())) if name not in required]
        hinted = [name for each in (atom, other) if each for name in members.hinted(each.node)]
        for name in dict.fromkeys((*names, *hinted, "other")):
            for value in islice(self.values(members.member(self._tree, atom.node, name), depth + 1), 3):
                yield from self.around(atom, name, value, depth)
        for pattern in (*members.by_pattern(self._tree, atom.node), *_patterns_of(other)):
            for name in matching(pattern):
                for value in islice(self.values(members.member(self._tree, atom.node, name), depth + 1), 3):
                    yield from self.around(atom, name, value, depth)
        everything = self._with(atom, {*required, *names}, depth, {})
        if everything is not None:
            yield everything
        yield from self._sized(atom, depth, other)

    def _sized(self, atom: Atom, depth: int, other: Atom | None) -> Iterator[Json]:
        filler = self.first(members.others(self._tree, atom.node), depth + 1)
        for size in _sizes("object", atom, other) if filler else ():
            made = self._with(atom, set(members.required(atom.node)), depth, {})
            if isinstance(made, dict) and size <= _LONGEST:
                yield {**made, **{f"other{index}": filler[0] for index in range(size - len(made))}}

    def _groups(self, atom: Atom, name: str) -> Iterator[frozenset[str]]:
        """Go through the choices of an object's groups, one with a wanted member first."""
        groups = list(members.presence(atom.node).values())
        if not groups:
            yield frozenset()
            return
        for choice in sorted(groups[0], key=lambda each: (name not in each, sorted(each))):
            rest = [min(group, key=lambda each: (name not in each, len(each))) for group in groups[1:]]
            yield frozenset(chain(choice, *rest))

    def _with(self, atom: Atom, names: set[str], depth: int, made: dict[str, Json]) -> Json:
        for name in sorted(members.with_dependents(atom.node, names | made.keys()) - made.keys()):
            value = self.first(members.member(self._tree, atom.node, name), depth + 1)
            if not value:
                return None
            made[name] = value[0]
        least = value_set.smallest(atom.node, "object")
        if least > len(made):
            filler = self.first(members.others(self._tree, atom.node), depth + 1)
            for index in range(min(least - len(made), _LONGEST) if filler else 0):
                made[f"other{index}"] = filler[0]
        return made


def _patterns_of(atom: Atom | None) -> Iterator[str]:
    for table in atom.node.values("patternProperties") if atom else ():
        yield from table if isinstance(table, dict) else ()


def _sizes(kind: str, atom: Atom, other: Atom | None) -> list[int]:
    ends: list[int] = []
    for each in (atom, other):
        if each is not None and each.kind == kind:
            most = value_set.largest(each.node, kind)
            ends += [value_set.smallest(each.node, kind), *([] if most is None else [most])]
    least, most = value_set.smallest(atom.node, kind), value_set.largest(atom.node, kind)
    wanted = dict.fromkeys([least, *(end + more for end in ends for more in (0, 1, -1)), least + 1, least + 2])
    return [size for size in wanted if least <= size <= _LONGEST and (most is None or size <= most)]


def _texts(atom: Atom, other: Atom | None) -> Iterator[str]:
    for form in atom.node.values("format"):
        if isinstance(form, str) and form in _BY_FORMAT:
            yield _BY_FORMAT[form]
    patterns = value_set.patterns(atom.node)
    for pattern in sorted(patterns):
        for text in matching(pattern):
            yield text
            yield from (text + "a" * size for size in _sizes("string", atom, other))
    for size in _sizes("string", atom, other):
        yield "a" * size
        yield "é" * size
    if other is not None and other.kind == "string":
        yield from (text for pattern in sorted(value_set.patterns(other.node)) for text in matching(pattern))
    yield from ("A", "0", "-", "a b", " ", "\n", "Zz9_/.", "YQ==", "_-")


def _numbers(atom: Atom, other: Atom | None) -> Iterator[Json]:
    step = value_set.step(atom.node)
    steps = [each for each in (step, value_set.step(other.node) if other and other.kind == "number" else None) if each]
    ends = [Fraction(0)]
    for each in (atom, other):
        if each is not None and each.kind == "number":
            ends += [bound[0] for bound in (value_set.low(each.node), value_set.high(each.node)) if bound]
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
                if value_set.satisfies(atom.node, _plain(value)):
                    yield _plain(value)


def _plain(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)
