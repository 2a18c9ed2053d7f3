"""Value sets: the alternatives of a node, for each kind of value that it allows.

Unions are expanded, so ``{"anyOf": [X, {"type": "null"}]}`` and ``{"type": [x, "null"]}`` have the
same value set. Enumerations of one kind are merged; a boolean is an enumeration of two values. A
union that only requires members stays a group of its alternative (``find_presence_groups``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations

from a2a_gen.diff.documents.regex import is_match
from a2a_gen.diff.tree import canonical
from a2a_gen.diff.tree.schema_node import (
    KINDS,
    UNION_KEYWORDS,
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    build_node,
    find_only_branch,
    is_annotation,
    list_kinds,
)
from a2a_gen.problems import GeneratorError
from a2a_gen.source.json_text import Json

MAX_ALTERNATIVES = 20_000
_MAX_PAIRWISE_BRANCHES = 40
_KIND_BY_TYPE = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
SIZES = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


def to_fraction(value: Json) -> Fraction | None:
    """Convert a JSON number exactly; ``None`` for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        return Fraction(str(value))
    return Fraction(value)


def _iter_numbers(node: SchemaNode, keyword: str) -> Iterator[Fraction]:
    numbers = map(to_fraction, node.values(keyword))
    return (number for number in numbers if number is not None)


def _iter_bounds(
    node: SchemaNode, keyword: str, exclusive_keyword: str
) -> Iterator[tuple[Fraction, bool]]:
    """Iterate over bounds with their exclusiveness; in draft 4 a boolean marks a bound as
    exclusive.
    """
    yield from ((value, False) for value in _iter_numbers(node, keyword))
    yield from ((value, True) for value in _iter_numbers(node, exclusive_keyword))
    for schema in node.schemas:
        if schema.members.get(exclusive_keyword) is True:
            yield from ((value, True) for value in _iter_numbers(SchemaNode((schema,)), keyword))


def get_lower_bound(node: SchemaNode) -> tuple[Fraction, bool] | None:
    """Return the strictest lower bound of a number, and whether it is exclusive."""
    return max(_iter_bounds(node, "minimum", "exclusiveMinimum"), default=None)


def get_upper_bound(node: SchemaNode) -> tuple[Fraction, bool] | None:
    """Return the strictest upper bound of a number, and whether it is exclusive."""
    return min(
        _iter_bounds(node, "maximum", "exclusiveMaximum"),
        default=None,
        key=lambda each: (each[0], not each[1]),
    )


def is_integer(node: SchemaNode) -> bool:
    """Return true if only integers are allowed."""
    multiple = get_multiple(node)
    return multiple is not None and multiple.denominator == 1


def get_multiple(node: SchemaNode) -> Fraction | None:
    """Return the least common multiple of every ``multipleOf``; integers are multiples of 1."""
    steps = [each for each in _iter_numbers(node, "multipleOf") if each > 0]
    for types in node.values("type"):
        listed = types if isinstance(types, list) else [types]
        if "integer" in listed and "number" not in listed:
            steps.append(Fraction(1))
    if not steps:
        return None
    denominator = math.lcm(*(each.denominator for each in steps))
    return Fraction(math.lcm(*(int(each * denominator) for each in steps)), denominator)


def get_min_size(node: SchemaNode, kind: str) -> int:
    """Return the strictest lower bound of a size; 0 without one."""
    return max((math.ceil(each) for each in _iter_numbers(node, SIZES[kind][0])), default=0)


def get_max_size(node: SchemaNode, kind: str) -> int | None:
    """Return the strictest upper bound of a size."""
    return min((math.floor(each) for each in _iter_numbers(node, SIZES[kind][1])), default=None)


def get_patterns(node: SchemaNode) -> frozenset[str]:
    """Return every pattern that a string must match."""
    return frozenset(str(value) for value in node.values("pattern"))


def is_empty(node: SchemaNode, kind: str) -> bool:
    """Return true if the bounds of a kind contradict each other."""
    if kind == "number":
        lower = get_lower_bound(node)
        upper = get_upper_bound(node)
        multiple = get_multiple(node)
        if lower is None or upper is None:
            return False
        if multiple is None:
            return lower[0] > upper[0] or (lower[0] == upper[0] and (lower[1] or upper[1]))
        minimum = math.ceil(lower[0] / multiple)
        maximum = math.floor(upper[0] / multiple)
        return minimum + (lower[1] and minimum * multiple == lower[0]) > maximum - (
            upper[1] and maximum * multiple == upper[0]
        )
    max_size = get_max_size(node, kind) if kind in SIZES else None
    return max_size is not None and max_size < get_min_size(node, kind)


def is_within_bounds(node: SchemaNode, value: Json) -> bool:
    """Return true if a listed value satisfies the bounds beside its list; items and members are not
    checked.
    """
    exact = to_fraction(value)
    if exact is not None:
        lower = get_lower_bound(node)
        upper = get_upper_bound(node)
        multiple = get_multiple(node)
        return (
            (lower is None or exact > lower[0] or (exact == lower[0] and not lower[1]))
            and (upper is None or exact < upper[0] or (exact == upper[0] and not upper[1]))
            and (multiple is None or (exact / multiple).denominator == 1)
        )
    if isinstance(value, str | list | dict):
        kind = get_kind(value)
        maximum = get_max_size(node, kind)
        if len(value) < get_min_size(node, kind) or (maximum is not None and len(value) > maximum):
            return False
    return not isinstance(value, str) or all(
        is_match(pattern, value) is not False for pattern in get_patterns(node)
    )


class ComparisonTooLargeError(GeneratorError):
    """A contract has too many alternatives or pairs to compare in bounded time and memory."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One alternative for one kind of value; ``values`` lists all valid ones by canonical key."""

    kind: str
    node: SchemaNode
    values: Mapping[str, Json] | None = None

    @property
    def is_unconstrained(self) -> bool:
        """True if every value of the kind is valid."""
        return self.values is None and all(
            set(schema.members) <= {"type"} for schema in self.node.schemas
        )


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The alternatives of a node by kind; ``has_overlaps`` if branches of a ``oneOf`` may
    overlap.
    """

    alternatives: Mapping[str, tuple[Alternative, ...]]
    has_overlaps: bool = False

    def __iter__(self) -> Iterator[Alternative]:
        return chain.from_iterable(self.alternatives.values())


def get_kind(value: Json) -> str:
    """Return the kind of a JSON value."""
    return _KIND_BY_TYPE[type(value)]


def build_value_set(tree: SchemaTree, node: SchemaNode) -> ValueSet:
    """Expand a node into its alternatives."""
    found: dict[str, list[Alternative]] = {}
    for alternative in _expand_unions(tree, node):
        for kind in _list_kinds(alternative):
            values = _list_values(alternative, kind)
            if (values is None or values) and not is_empty(alternative, kind):
                found.setdefault(kind, []).append(Alternative(kind, alternative, values))
    has_overlaps = _has_overlaps(tree, node)
    # Where branches of a oneOf may overlap, each of them counts: two equal ones accept nothing.
    alternatives: dict[str, tuple[Alternative, ...]] = {}
    for kind in KINDS:
        if kind in found and has_overlaps:
            alternatives[kind] = tuple(found[kind])
        elif kind in found:
            alternatives[kind] = _merge_alternatives(found[kind])
    return ValueSet(alternatives, has_overlaps)


def find_presence_groups(
    schema: SchemaLocation,
) -> Iterator[tuple[str, tuple[frozenset[str], ...]]]:
    """Find unions whose branches only require members: the keyword, with the members of each
    branch.
    """
    for keyword in UNION_KEYWORDS:
        branches = schema.members.get(keyword)
        if (
            not isinstance(branches, list)
            or not branches
            or find_only_branch(schema, keyword) is not None
        ):
            continue
        required = [
            each["required"]
            for each in branches
            if isinstance(each, dict) and set(each) == {"required"}
        ]
        if len(required) == len(branches):
            yield (
                keyword,
                tuple(frozenset(map(str, names)) for names in required if isinstance(names, list)),
            )


def _iter_unions(node: SchemaNode) -> Iterator[tuple[SchemaLocation, str]]:
    for schema in node.schemas:
        groups = {keyword for keyword, _ in find_presence_groups(schema)}
        for keyword in UNION_KEYWORDS:
            if (
                isinstance(schema.members.get(keyword), list)
                and keyword not in groups
                and find_only_branch(schema, keyword) is None
            ):
                yield schema, keyword


def _expand_unions(tree: SchemaTree, node: SchemaNode) -> Iterator[SchemaNode]:
    pending = [node]
    count = 0
    while pending:
        current = pending.pop()
        if current.is_impossible:
            continue
        count += 1
        if count > MAX_ALTERNATIVES:
            place = tree.place_at(node.origin.location) if node.origin else ""
            raise ComparisonTooLargeError(
                f"{place}: nested unions expand to more than {MAX_ALTERNATIVES} "
                "alternatives\n    fix: flatten the union"
            )
        union = next(
            (
                each
                for each in _iter_unions(current)
                if (f"{each[0].file}#{each[0].pointer}", each[1]) not in current.expanded_unions
            ),
            None,
        )
        if union is None:
            yield current
        else:
            pending.extend(reversed(list(_expand_union(tree, current, *union))))


def _expand_union(
    tree: SchemaTree, current: SchemaNode, schema: SchemaLocation, keyword: str
) -> Iterator[SchemaNode]:
    mark = (f"{schema.file}#{schema.pointer}", keyword)
    branches = schema.members[keyword]
    is_only_union = all(each == keyword or is_annotation(each) for each in schema.members)
    others = [each for each in current.schemas if not (is_only_union and each == schema)]
    for index in range(len(branches) if isinstance(branches, list) else 0):
        branch = schema.descend(keyword, index)
        if branch is None:
            continue
        inner = build_node(tree, [branch])
        if schema in inner.schemas:
            # A union that is its own branch adds no value.
            continue
        schemas = tuple(sorted({*others, *inner.schemas}, key=lambda each: each.location))
        yield SchemaNode(
            schemas,
            current.expanded_unions | {mark},
            inner.schemas[0] if len(inner.schemas) == 1 else branch,
        )


def _list_kinds(alternative: SchemaNode) -> Iterable[str]:
    kinds = set(KINDS)
    for schema in alternative.schemas:
        types = schema.members.get("type")
        if types is None:
            continue
        kinds &= list_kinds(types)
    return [kind for kind in KINDS if kind in kinds]


def _list_values(alternative: SchemaNode, kind: str) -> dict[str, Json] | None:
    """List the valid values if they are enumerated: those in every enumeration and constant that
    satisfy the bounds.
    """
    lists = [value for value in alternative.values("enum") if isinstance(value, list)] + [
        [value] for value in alternative.values("const")
    ]
    if not lists:
        if kind == "null":
            return {"null": None}
        if kind == "boolean":
            return {"false": False, "true": True}
        return None
    first, *others = lists
    common = {canonical.to_key(value): value for value in first if get_kind(value) == kind}
    for values in others:
        for name in common.keys() - set(map(canonical.to_key, values)):
            del common[name]
    return {name: value for name, value in common.items() if is_within_bounds(alternative, value)}


def _merge_alternatives(alternatives: list[Alternative]) -> tuple[Alternative, ...]:
    """Merge enumerations, and drop alternatives covered by an unconstrained one."""
    unconstrained = next(
        (alternative for alternative in alternatives if alternative.is_unconstrained), None
    )
    if unconstrained is not None:
        return (unconstrained,)
    listed = [alternative for alternative in alternatives if alternative.values is not None]
    others = [alternative for alternative in alternatives if alternative.values is None]
    if len(listed) > 1:
        values: dict[str, Json] = {}
        for alternative in listed:
            values |= alternative.values or {}
        listed = [replace(listed[0], values=values)]
    return tuple(dict.fromkeys(others, None)) + tuple(listed)


def _has_overlaps(tree: SchemaTree, node: SchemaNode) -> bool:
    for schema, keyword in _iter_unions(node):
        if keyword == "oneOf" and not _is_disjoint(
            list(_expand_union(tree, SchemaNode((), node.expanded_unions), schema, keyword))
        ):
            return True
    return False


def _is_disjoint(branches: list[SchemaNode]) -> bool:
    if find_tag(branches) is not None:
        return True
    return len(branches) <= _MAX_PAIRWISE_BRANCHES and all(
        _is_disjoint_pair(*pair) for pair in combinations(branches, 2)
    )


def find_tag(nodes: Iterable[SchemaNode]) -> str | None:
    """Find the first member whose values distinguish all nodes."""
    return next(iter_tags(nodes), None)


def iter_tags(nodes: Iterable[SchemaNode]) -> Iterator[str]:
    """Yield the members whose values distinguish all nodes."""
    tags = [find_tag_values(node) for node in nodes]
    for name in tags[0] if tags else ():
        if all(name in each for each in tags):
            values = list(chain.from_iterable(each[name] for each in tags))
            if len(values) == len(set(values)):
                yield name


def _is_disjoint_pair(one: SchemaNode, other: SchemaNode) -> bool:
    for kind in set(_list_kinds(one)) & set(_list_kinds(other)):
        left = _list_values(one, kind)
        right = _list_values(other, kind)
        if left is not None and right is not None:
            if left.keys() & right.keys():
                return False
        elif kind != "object" or not _has_disjoint_tags(one, other):
            return False
    return True


def _has_disjoint_tags(one: SchemaNode, other: SchemaNode) -> bool:
    left = find_tag_values(one)
    right = find_tag_values(other)
    return any(not set(left[name]) & set(right[name]) for name in left.keys() & right.keys())


def find_tag_values(branch: SchemaNode) -> dict[str, tuple[str, ...]]:
    """Find required members with enumerated values, which distinguish alternatives."""
    required: set[str] = set()
    for names in branch.values("required"):
        if isinstance(names, list):
            required |= set(map(str, names))
    found: dict[str, tuple[str, ...]] = {}
    for properties in branch.values("properties"):
        for name, member in properties.items() if isinstance(properties, dict) else ():
            if name in required and isinstance(member, dict):
                enum = member.get("enum")
                if isinstance(enum, list):
                    found[name] = tuple(map(canonical.to_key, enum))
                elif "const" in member:
                    found[name] = (canonical.to_key(member["const"]),)
    return found
