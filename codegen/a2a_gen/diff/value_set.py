"""The values of a node, by kind: each alternative of its unions, for each kind of value that it allows.

Unions are spread out, so ``{"anyOf": [X, {"type": "null"}]}`` and ``{"type": [x, "null"]}`` have one shape. Enumerations of one kind are put
together; a boolean is an enumeration of two. What only asks for the presence of members stays a group of its alternative (``presence``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from a2a_gen.diff import canonical
from a2a_gen.diff.regex import matches
from a2a_gen.diff.schema_node import KINDS, UNIONS, Node, Spot, Tree, is_annotation, node
from a2a_gen.problems import GeneratorError
from a2a_gen.source.json_text import Json

# Bounds of numbers, texts, lists and objects: what holds when several schemas speak at once, and whether a listed value keeps to it.

SIZES = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"), "object": ("minProperties", "maxProperties")}


def number(value: Json) -> Fraction | None:
    """Read a number exactly; nothing else is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _numbers(whole: Node, keyword: str) -> Iterator[Fraction]:
    for value in whole.values(keyword):
        read = number(value)
        if read is not None:
            yield read


def low(whole: Node) -> tuple[Fraction, bool] | None:
    """The strictest lower bound of a number, and whether the bound itself is out."""
    said = [(value, False) for value in _numbers(whole, "minimum")] + [(value, True) for value in _numbers(whole, "exclusiveMinimum")]
    said += [(value, True) for spot in whole.spots if spot.members.get("exclusiveMinimum") is True for value in _numbers(Node((spot,)), "minimum")]
    return max(said, default=None)


def high(whole: Node) -> tuple[Fraction, bool] | None:
    """The strictest upper bound of a number, and whether the bound itself is out."""
    said = [(value, False) for value in _numbers(whole, "maximum")] + [(value, True) for value in _numbers(whole, "exclusiveMaximum")]
    said += [(value, True) for spot in whole.spots if spot.members.get("exclusiveMaximum") is True for value in _numbers(Node((spot,)), "maximum")]
    return min(said, default=None, key=lambda each: (each[0], not each[1]))


def is_integer(whole: Node) -> bool:
    """Whether only whole numbers are allowed."""
    multiple = step(whole)
    return multiple is not None and multiple.denominator == 1


def step(whole: Node) -> Fraction | None:
    """What a number must be a multiple of: the least common multiple of all that is said; whole numbers are multiples of 1."""
    steps = [each for each in _numbers(whole, "multipleOf") if each > 0]
    said = [set(map(str, value)) if isinstance(value, list) else {str(value)} for value in whole.values("type")]
    if any("integer" in each and "number" not in each for each in said):
        steps.append(Fraction(1))
    if not steps:
        return None
    denominator = math.lcm(*(each.denominator for each in steps))
    return Fraction(math.lcm(*(int(each * denominator) for each in steps)), denominator)


def smallest(whole: Node, kind: str) -> int:
    """The strictest lower bound of a size; 0 when there is none."""
    return max((math.ceil(each) for each in _numbers(whole, SIZES[kind][0])), default=0)


def largest(whole: Node, kind: str) -> int | None:
    """The strictest upper bound of a size."""
    return min((math.floor(each) for each in _numbers(whole, SIZES[kind][1])), default=None)


def patterns(whole: Node) -> frozenset[str]:
    """Every pattern that a text must match."""
    return frozenset(str(value) for value in whole.values("pattern"))


def is_empty(whole: Node, kind: str) -> bool:
    """Whether bounds contradict each other, so that no value of a kind is left."""
    if kind == "number":
        lower, upper, multiple = low(whole), high(whole), step(whole)
        if lower is None or upper is None:
            return False
        if multiple is None:
            return lower[0] > upper[0] or (lower[0] == upper[0] and (lower[1] or upper[1]))
        least, most = math.ceil(lower[0] / multiple), math.floor(upper[0] / multiple)
        return least + (lower[1] and least * multiple == lower[0]) > most - (upper[1] and most * multiple == upper[0])
    most_of_size = largest(whole, kind) if kind in SIZES else None
    return most_of_size is not None and most_of_size < smallest(whole, kind)


def satisfies(whole: Node, value: Json) -> bool:
    """Whether a listed value keeps to the bounds beside its list; what is inside lists and objects is not looked at."""
    exact = number(value)
    if exact is not None:
        lower, upper, multiple = low(whole), high(whole), step(whole)
        return (
            (lower is None or exact > lower[0] or (exact == lower[0] and not lower[1]))
            and (upper is None or exact < upper[0] or (exact == upper[0] and not upper[1]))
            and (multiple is None or (exact / multiple).denominator == 1)
        )
    kind = "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object" if isinstance(value, dict) else ""
    if kind and isinstance(value, str | list | dict):
        most = largest(whole, kind)
        if len(value) < smallest(whole, kind) or (most is not None and len(value) > most):
            return False
    return not isinstance(value, str) or all(matches(pattern, value) is not False for pattern in patterns(whole))


MOST_ALTERNATIVES = 20_000
_FEW = 40
_KIND_OF = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


class TooLargeError(GeneratorError):
    """A contract has more alternatives or pairs than can be compared in bounded time and memory."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One alternative, for one kind of value; ``values`` are the only ones that it allows, by their canonical names."""

    kind: str
    node: Node
    values: Mapping[str, Json] | None = None

    @property
    def is_free(self) -> bool:
        """Whether it allows every value of its kind."""
        return self.values is None and all(set(spot.members) <= {"type", "nullable"} for spot in self.node.spots)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a node allows: alternatives by kind, and whether some may overlap where exactly one must hold."""

    atoms: Mapping[str, tuple[Atom, ...]]
    overlaps: bool = False

    def __iter__(self) -> Iterator[Atom]:
        return (atom for atoms in self.atoms.values() for atom in atoms)


def kind_of(value: Json) -> str:
    """Name the kind of a value."""
    return _KIND_OF[type(value)]


def shape(tree: Tree, whole: Node) -> Shape:
    """Spread a node out."""
    found: dict[str, list[Atom]] = {}
    for alternative in _alternatives(tree, whole):
        for kind in _kinds(alternative):
            values = _values(alternative, kind)
            if (values is None or values) and not is_empty(alternative, kind):
                found.setdefault(kind, []).append(Atom(kind, alternative, values))
    overlaps = _overlaps(tree, whole)
    atoms = {kind: tuple(found[kind]) if overlaps else _merged(found[kind]) for kind in KINDS if kind in found}
    return Shape(atoms, overlaps)


def presence_groups(spot: Spot) -> Iterator[tuple[str, tuple[frozenset[str], ...]]]:
    """Find unions whose branches only ask for members: by keyword, with the members of each branch."""
    for keyword in UNIONS:
        branches = spot.members.get(keyword)
        if isinstance(branches, list) and branches and all(isinstance(each, dict) and set(each) == {"required"} for each in branches):
            names = (each["required"] for each in branches if isinstance(each, dict))
            yield keyword, tuple(frozenset(map(str, each)) for each in names if isinstance(each, list))


def _unions(whole: Node) -> Iterator[tuple[Spot, str]]:
    for spot in whole.spots:
        groups = {keyword for keyword, _ in presence_groups(spot)}
        for keyword in UNIONS:
            if isinstance(spot.members.get(keyword), list) and keyword not in groups:
                yield spot, keyword


def _alternatives(tree: Tree, whole: Node) -> Iterator[Node]:
    waiting, count = [whole], 0
    while waiting:
        current = waiting.pop()
        if current.is_impossible:
            continue
        count += 1
        if count > MOST_ALTERNATIVES:
            place = tree.place(whole.at.at) if whole.at else ""
            raise TooLargeError(f"{place}: unions within unions make more than {MOST_ALTERNATIVES} alternatives\n    fix: write the union flatter")
        union = next((each for each in _unions(current) if (f"{each[0].file}#{each[0].pointer}", each[1]) not in current.used), None)
        if union is None:
            yield current
        else:
            waiting.extend(reversed(list(_branches(tree, current, *union))))


def _branches(tree: Tree, current: Node, spot: Spot, keyword: str) -> Iterator[Node]:
    mark = (f"{spot.file}#{spot.pointer}", keyword)
    branches = spot.members[keyword]
    is_only_union = all(word == keyword or is_annotation(word) for word in spot.members)
    others = [each for each in current.spots if not (is_only_union and each == spot)]
    for index in range(len(branches) if isinstance(branches, list) else 0):
        branch = spot.below(keyword, index)
        if branch is None:
            continue
        inner = node(tree, [branch])
        if spot in inner.spots:
            continue  # a union that is a branch of itself adds no value
        spots = tuple(sorted({*others, *inner.spots}, key=lambda each: each.at))
        yield Node(spots, current.used | {mark}, inner.spots[0] if len(inner.spots) == 1 else branch)


def _kinds(alternative: Node) -> Iterable[str]:
    kinds = set(KINDS)
    for spot in alternative.spots:
        said = spot.members.get("type")
        if said is None:
            continue
        allowed = {"number" if each == "integer" else str(each) for each in (said if isinstance(said, list) else [said])}
        kinds &= allowed | ({"null"} if spot.members.get("nullable") is True else set())
    return [kind for kind in KINDS if kind in kinds]


def _values(alternative: Node, kind: str) -> dict[str, Json] | None:
    """List the values that are allowed, if they are listed: those of every enumeration and constant that satisfy the rest."""
    lists = [value for value in alternative.values("enum") if isinstance(value, list)] + [[value] for value in alternative.values("const")]
    if not lists:
        return {"null": None} if kind == "null" else {"false": False, "true": True} if kind == "boolean" else None
    named = [{canonical.key(value): value for value in each if kind_of(value) == kind} for each in lists]
    common = {name: value for name, value in named[0].items() if all(name in each for each in named[1:])}
    return {name: value for name, value in common.items() if satisfies(alternative, value)}


def _merged(atoms: list[Atom]) -> tuple[Atom, ...]:
    """Put enumerations together, and drop what is part of an alternative that takes everything."""
    free = next((atom for atom in atoms if atom.is_free), None)
    if free is not None:
        return (free,)
    listed = [atom for atom in atoms if atom.values is not None]
    others = [atom for atom in atoms if atom.values is None]
    if len(listed) > 1:
        values = {name: value for atom in listed for name, value in (atom.values or {}).items()}
        listed = [replace(listed[0], values=values)]
    return tuple(dict.fromkeys(others, None)) + tuple(listed)


def _overlaps(tree: Tree, whole: Node) -> bool:
    for spot, keyword in _unions(whole):
        if keyword == "oneOf" and not _is_disjoint(list(_branches(tree, Node((), whole.used), spot, keyword))):
            return True
    return False


def _is_disjoint(branches: list[Node]) -> bool:
    tags = [tag_values(branch) for branch in branches]
    for name in tags[0] if tags else ():
        words = [word for each in tags for word in each.get(name, (None, None))]
        if None not in words and len(words) == len(set(words)):
            return True
    if len(branches) > _FEW:
        return False
    return all(_are_apart(*pair) for pair in combinations(branches, 2))


def _are_apart(one: Node, other: Node) -> bool:
    for kind in set(_kinds(one)) & set(_kinds(other)):
        left, right = _values(one, kind), _values(other, kind)
        if left is not None and right is not None:
            if left.keys() & right.keys():
                return False
        elif kind != "object" or not _tags_are_apart(one, other):
            return False
    return True


def _tags_are_apart(one: Node, other: Node) -> bool:
    left, right = tag_values(one), tag_values(other)
    return any(not set(left[name]) & set(right[name]) for name in left.keys() & right.keys())


def tag_values(branch: Node) -> dict[str, tuple[str, ...]]:
    """Find the members that must be there and hold one of a few listed values, by which alternatives are told apart."""
    required = {str(name) for names in branch.values("required") if isinstance(names, list) for name in names}
    found: dict[str, tuple[str, ...]] = {}
    for properties in branch.values("properties"):
        for name in required & set(properties if isinstance(properties, dict) else ()):
            said = properties[name] if isinstance(properties, dict) else None
            if isinstance(said, dict) and ("const" in said or isinstance(said.get("enum"), list)):
                listed = said["enum"] if isinstance(said.get("enum"), list) else [said.get("const")]
                found[name] = tuple(canonical.key(each) for each in (listed if isinstance(listed, list) else ()))
    return found
