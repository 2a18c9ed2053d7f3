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
from a2a_gen.diff.regex import is_match
from a2a_gen.diff.schema_node import KINDS, UNIONS, SchemaLocation, SchemaNode, SchemaTree, build_node, is_annotation
from a2a_gen.problems import GeneratorError
from a2a_gen.source.json_text import Json

# Bounds of numbers, texts, lists and objects: what holds when several schemas speak at once, and whether a listed value keeps to it.

SIZES = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"), "object": ("minProperties", "maxProperties")}


def to_fraction(value: Json) -> Fraction | None:
    """Read a number exactly; nothing else is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Fraction(str(value)) if isinstance(value, float) else Fraction(value)


def _iter_numbers(node: SchemaNode, keyword: str) -> Iterator[Fraction]:
    for value in node.values(keyword):
        read = to_fraction(value)
        if read is not None:
            yield read


def get_lower_bound(node: SchemaNode) -> tuple[Fraction, bool] | None:
    """The strictest lower bound of a number, and whether the bound itself is out."""
    said = [(value, False) for value in _iter_numbers(node, "minimum")] + [(value, True) for value in _iter_numbers(node, "exclusiveMinimum")]
    said += [
        (value, True)
        for spot in node.schemas
        if spot.members.get("exclusiveMinimum") is True
        for value in _iter_numbers(SchemaNode((spot,)), "minimum")
    ]
    return max(said, default=None)


def get_upper_bound(node: SchemaNode) -> tuple[Fraction, bool] | None:
    """The strictest upper bound of a number, and whether the bound itself is out."""
    said = [(value, False) for value in _iter_numbers(node, "maximum")] + [(value, True) for value in _iter_numbers(node, "exclusiveMaximum")]
    said += [
        (value, True)
        for spot in node.schemas
        if spot.members.get("exclusiveMaximum") is True
        for value in _iter_numbers(SchemaNode((spot,)), "maximum")
    ]
    return min(said, default=None, key=lambda each: (each[0], not each[1]))


def is_integer(node: SchemaNode) -> bool:
    """Whether only whole numbers are allowed."""
    multiple = get_multiple(node)
    return multiple is not None and multiple.denominator == 1


def get_multiple(node: SchemaNode) -> Fraction | None:
    """What a number must be a multiple of: the least common multiple of all that is said; whole numbers are multiples of 1."""
    steps = [each for each in _iter_numbers(node, "multipleOf") if each > 0]
    said = [set(map(str, value)) if isinstance(value, list) else {str(value)} for value in node.values("type")]
    if any("integer" in each and "number" not in each for each in said):
        steps.append(Fraction(1))
    if not steps:
        return None
    denominator = math.lcm(*(each.denominator for each in steps))
    return Fraction(math.lcm(*(int(each * denominator) for each in steps)), denominator)


def get_min_size(node: SchemaNode, kind: str) -> int:
    """The strictest lower bound of a size; 0 when there is none."""
    return max((math.ceil(each) for each in _iter_numbers(node, SIZES[kind][0])), default=0)


def get_max_size(node: SchemaNode, kind: str) -> int | None:
    """The strictest upper bound of a size."""
    return min((math.floor(each) for each in _iter_numbers(node, SIZES[kind][1])), default=None)


def get_patterns(node: SchemaNode) -> frozenset[str]:
    """Every pattern that a text must match."""
    return frozenset(str(value) for value in node.values("pattern"))


def is_empty(node: SchemaNode, kind: str) -> bool:
    """Whether bounds contradict each other, so that no value of a kind is left."""
    if kind == "number":
        lower, upper, multiple = get_lower_bound(node), get_upper_bound(node), get_multiple(node)
        if lower is None or upper is None:
            return False
        if multiple is None:
            return lower[0] > upper[0] or (lower[0] == upper[0] and (lower[1] or upper[1]))
        least, most = math.ceil(lower[0] / multiple), math.floor(upper[0] / multiple)
        return least + (lower[1] and least * multiple == lower[0]) > most - (upper[1] and most * multiple == upper[0])
    most_of_size = get_max_size(node, kind) if kind in SIZES else None
    return most_of_size is not None and most_of_size < get_min_size(node, kind)


def is_within_bounds(node: SchemaNode, value: Json) -> bool:
    """Whether a listed value keeps to the bounds beside its list; what is inside lists and objects is not looked at."""
    exact = to_fraction(value)
    if exact is not None:
        lower, upper, multiple = get_lower_bound(node), get_upper_bound(node), get_multiple(node)
        return (
            (lower is None or exact > lower[0] or (exact == lower[0] and not lower[1]))
            and (upper is None or exact < upper[0] or (exact == upper[0] and not upper[1]))
            and (multiple is None or (exact / multiple).denominator == 1)
        )
    kind = "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object" if isinstance(value, dict) else ""
    if kind and isinstance(value, str | list | dict):
        most = get_max_size(node, kind)
        if len(value) < get_min_size(node, kind) or (most is not None and len(value) > most):
            return False
    return not isinstance(value, str) or all(is_match(pattern, value) is not False for pattern in get_patterns(node))


MAX_ALTERNATIVES = 20_000
_MAX_PAIRWISE_BRANCHES = 40
_KIND_BY_TYPE = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


class ComparisonTooLargeError(GeneratorError):
    """A contract has more alternatives or pairs than can be compared in bounded time and memory."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One alternative, for one kind of value; ``values`` are the only ones that it allows, by their canonical names."""

    kind: str
    node: SchemaNode
    values: Mapping[str, Json] | None = None

    @property
    def is_unconstrained(self) -> bool:
        """Whether it allows every value of its kind."""
        return self.values is None and all(set(spot.members) <= {"type", "nullable"} for spot in self.node.schemas)


@dataclass(frozen=True, slots=True)
class ValueSet:
    """What a node allows: alternatives by kind, and whether some may overlap where exactly one must hold."""

    alternatives: Mapping[str, tuple[Alternative, ...]]
    has_overlaps: bool = False

    def __iter__(self) -> Iterator[Alternative]:
        return (atom for atoms in self.alternatives.values() for atom in atoms)


def get_kind(value: Json) -> str:
    """Name the kind of a value."""
    return _KIND_BY_TYPE[type(value)]


def build_value_set(tree: SchemaTree, node: SchemaNode) -> ValueSet:
    """Spread a node out."""
    found: dict[str, list[Alternative]] = {}
    for alternative in _expand_unions(tree, node):
        for kind in _list_kinds(alternative):
            values = _list_values(alternative, kind)
            if (values is None or values) and not is_empty(alternative, kind):
                found.setdefault(kind, []).append(Alternative(kind, alternative, values))
    overlaps = _has_overlaps(tree, node)
    atoms = {kind: tuple(found[kind]) if overlaps else _merge_alternatives(found[kind]) for kind in KINDS if kind in found}
    return ValueSet(atoms, overlaps)


def find_presence_groups(schema: SchemaLocation) -> Iterator[tuple[str, tuple[frozenset[str], ...]]]:
    """Find unions whose branches only ask for members: by keyword, with the members of each branch."""
    for keyword in UNIONS:
        branches = schema.members.get(keyword)
        if isinstance(branches, list) and branches and all(isinstance(each, dict) and set(each) == {"required"} for each in branches):
            names = (each["required"] for each in branches if isinstance(each, dict))
            yield keyword, tuple(frozenset(map(str, each)) for each in names if isinstance(each, list))


def _iter_unions(node: SchemaNode) -> Iterator[tuple[SchemaLocation, str]]:
    for spot in node.schemas:
        groups = {keyword for keyword, _ in find_presence_groups(spot)}
        for keyword in UNIONS:
            if isinstance(spot.members.get(keyword), list) and keyword not in groups:
                yield spot, keyword


def _expand_unions(tree: SchemaTree, node: SchemaNode) -> Iterator[SchemaNode]:
    waiting, count = [node], 0
    while waiting:
        current = waiting.pop()
        if current.is_impossible:
            continue
        count += 1
        if count > MAX_ALTERNATIVES:
            place = tree.place_at(node.origin.location) if node.origin else ""
            raise ComparisonTooLargeError(
                f"{place}: unions within unions make more than {MAX_ALTERNATIVES} alternatives\n    fix: write the union flatter"
            )
        union = next((each for each in _iter_unions(current) if (f"{each[0].file}#{each[0].pointer}", each[1]) not in current.expanded_unions), None)
        if union is None:
            yield current
        else:
            waiting.extend(reversed(list(_expand_union(tree, current, *union))))


def _expand_union(tree: SchemaTree, current: SchemaNode, schema: SchemaLocation, keyword: str) -> Iterator[SchemaNode]:
    mark = (f"{schema.file}#{schema.pointer}", keyword)
    branches = schema.members[keyword]
    is_only_union = all(word == keyword or is_annotation(word) for word in schema.members)
    others = [each for each in current.schemas if not (is_only_union and each == schema)]
    for index in range(len(branches) if isinstance(branches, list) else 0):
        branch = schema.descend(keyword, index)
        if branch is None:
            continue
        inner = build_node(tree, [branch])
        if schema in inner.schemas:
            continue  # a union that is a branch of itself adds no value
        spots = tuple(sorted({*others, *inner.schemas}, key=lambda each: each.location))
        yield SchemaNode(spots, current.expanded_unions | {mark}, inner.schemas[0] if len(inner.schemas) == 1 else branch)


def _list_kinds(alternative: SchemaNode) -> Iterable[str]:
    kinds = set(KINDS)
    for spot in alternative.schemas:
        said = spot.members.get("type")
        if said is None:
            continue
        allowed = {"number" if each == "integer" else str(each) for each in (said if isinstance(said, list) else [said])}
        kinds &= allowed | ({"null"} if spot.members.get("nullable") is True else set())
    return [kind for kind in KINDS if kind in kinds]


def _list_values(alternative: SchemaNode, kind: str) -> dict[str, Json] | None:
    """List the values that are allowed, if they are listed: those of every enumeration and constant that satisfy the rest."""
    lists = [value for value in alternative.values("enum") if isinstance(value, list)] + [[value] for value in alternative.values("const")]
    if not lists:
        return {"null": None} if kind == "null" else {"false": False, "true": True} if kind == "boolean" else None
    named = [{canonical.to_key(value): value for value in each if get_kind(value) == kind} for each in lists]
    common = {name: value for name, value in named[0].items() if all(name in each for each in named[1:])}
    return {name: value for name, value in common.items() if is_within_bounds(alternative, value)}


def _merge_alternatives(alternatives: list[Alternative]) -> tuple[Alternative, ...]:
    """Put enumerations together, and drop what is part of an alternative that takes everything."""
    free = next((atom for atom in alternatives if atom.is_unconstrained), None)
    if free is not None:
        return (free,)
    listed = [atom for atom in alternatives if atom.values is not None]
    others = [atom for atom in alternatives if atom.values is None]
    if len(listed) > 1:
        values = {name: value for atom in listed for name, value in (atom.values or {}).items()}
        listed = [replace(listed[0], values=values)]
    return tuple(dict.fromkeys(others, None)) + tuple(listed)


def _has_overlaps(tree: SchemaTree, node: SchemaNode) -> bool:
    for spot, keyword in _iter_unions(node):
        if keyword == "oneOf" and not _is_disjoint(list(_expand_union(tree, SchemaNode((), node.expanded_unions), spot, keyword))):
            return True
    return False


def _is_disjoint(branches: list[SchemaNode]) -> bool:
    tags = [find_tag_values(branch) for branch in branches]
    for name in tags[0] if tags else ():
        words = [word for each in tags for word in each.get(name, (None, None))]
        if None not in words and len(words) == len(set(words)):
            return True
    if len(branches) > _MAX_PAIRWISE_BRANCHES:
        return False
    return all(_is_disjoint_pair(*pair) for pair in combinations(branches, 2))


def _is_disjoint_pair(one: SchemaNode, other: SchemaNode) -> bool:
    for kind in set(_list_kinds(one)) & set(_list_kinds(other)):
        left, right = _list_values(one, kind), _list_values(other, kind)
        if left is not None and right is not None:
            if left.keys() & right.keys():
                return False
        elif kind != "object" or not _has_disjoint_tags(one, other):
            return False
    return True


def _has_disjoint_tags(one: SchemaNode, other: SchemaNode) -> bool:
    left, right = find_tag_values(one), find_tag_values(other)
    return any(not set(left[name]) & set(right[name]) for name in left.keys() & right.keys())


def find_tag_values(branch: SchemaNode) -> dict[str, tuple[str, ...]]:
    """Find the members that must be there and hold one of a few listed values, by which alternatives are told apart."""
    required = {str(name) for names in branch.values("required") if isinstance(names, list) for name in names}
    found: dict[str, tuple[str, ...]] = {}
    for properties in branch.values("properties"):
        for name in required & set(properties if isinstance(properties, dict) else ()):
            said = properties[name] if isinstance(properties, dict) else None
            if isinstance(said, dict) and ("const" in said or isinstance(said.get("enum"), list)):
                listed = said["enum"] if isinstance(said.get("enum"), list) else [said.get("const")]
                found[name] = tuple(canonical.to_key(each) for each in (listed if isinstance(listed, list) else ()))
    return found
