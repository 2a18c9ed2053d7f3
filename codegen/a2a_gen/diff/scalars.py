"""Bounds of numbers, texts, lists and objects: what holds when several schemas speak at once, and whether a listed value keeps to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from a2a_gen.diff.node import Node
from a2a_gen.diff.pattern import matches
from a2a_gen.source.json_text import Json

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
