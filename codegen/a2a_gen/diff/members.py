"""The members of an object: what each one must be, when several schemas speak at once."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.regex import matches
from a2a_gen.diff.schema_node import OPAQUE, WITH_IF, Node, Spot, Tree, node
from a2a_gen.diff.value_set import presence_groups
from a2a_gen.source.json_text import Json


def names(whole: Node) -> tuple[str, ...]:
    """Name the members that a schema names, in their order."""
    found = (name for properties in whole.values("properties") if isinstance(properties, dict) for name in properties)
    return tuple(dict.fromkeys(found))


def required(whole: Node) -> frozenset[str]:
    """Name the members that must be there."""
    return frozenset(str(name) for listed in whole.values("required") if isinstance(listed, list) for name in listed)


def member(tree: Tree, whole: Node, name: str) -> Node:
    """Gather what must hold for the member of a name, named or not."""
    return node(tree, _member(whole, name))


def others(tree: Tree, whole: Node) -> Node:
    """Gather what must hold for members without a name of their own."""
    spots = (spot.below(_rest(spot)) for spot in whole.spots if _rest(spot))
    return node(tree, [spot for spot in spots if spot is not None])


def with_dependents(whole: Node, wanted: set[str]) -> set[str]:
    """Add the members that must be there when others are."""
    found, waiting = set(wanted), list(wanted)
    while waiting:
        name = waiting.pop()
        for table in whole.values("dependentRequired"):
            needed = table.get(name) if isinstance(table, dict) else None
            more = {str(each) for each in (needed if isinstance(needed, list) else ())} - found
            found |= more
            waiting += more
    return found


def hinted(whole: Node) -> Iterator[str]:
    """Name members that only conditions speak of, such as ``not`` or ``then``."""
    waiting: list[Json] = [value for spot in whole.spots for word, value in spot.members.items() if word in OPAQUE or word in WITH_IF]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            listed, named = value.get("required"), value.get("properties")
            yield from (str(name) for name in (listed if isinstance(listed, list) else ()))
            yield from named if isinstance(named, dict) else ()
        elif isinstance(value, list):
            waiting += value


def spot_of(whole: Node, name: str) -> Spot | None:
    """Find where a member is written, its use before its type."""
    found = (spot.below("properties", name) for spot in whole.spots)
    return next((spot for spot in found if spot is not None), None)


def by_pattern(tree: Tree, whole: Node) -> dict[str, Node]:
    """Gather what must hold for members whose names match a pattern."""
    found: dict[str, list[Spot]] = {}
    for spot in whole.spots:
        said = spot.members.get("patternProperties")
        for pattern in said if isinstance(said, dict) else ():
            below = spot.below("patternProperties", pattern)
            if below is not None:
                found.setdefault(pattern, []).append(below)
    return {pattern: node(tree, spots) for pattern, spots in found.items()}


def presence(whole: Node) -> dict[str, frozenset[frozenset[str]]]:
    """Gather the groups of which exactly one (``oneOf``) or at least one (``anyOf``) must be there, by their name and keyword."""
    found: dict[str, frozenset[frozenset[str]]] = {}
    for spot in whole.spots:
        for keyword, branches in presence_groups(spot):
            name = spot.members.get("x-a2a-oneof")
            label = keyword if keyword not in found else f"{keyword} {name or spot.pointer}"
            found[label] = frozenset(branches)
    return found


def _member(whole: Node, name: str) -> Iterator[Spot]:
    for spot in whole.spots:
        below = spot.below("properties", name)
        if below is not None:
            yield below
        matched = below is not None
        said = spot.members.get("patternProperties")
        for pattern in said if isinstance(said, dict) else ():
            if matches(pattern, name) is not False:
                matched = True
                inner = spot.below("patternProperties", pattern)
                if inner is not None:
                    yield inner
        keyword = _rest(spot)
        rest = spot.below(keyword) if keyword and not matched else None
        if rest is not None and not (keyword == "unevaluatedProperties" and name in names(whole)):
            yield rest


def _rest(spot: Spot) -> str:
    return next((keyword for keyword in ("additionalProperties", "unevaluatedProperties") if keyword in spot.members), "")


def member_fact(whole: Node, name: str, keyword: str) -> Json:
    """Find what the use of a member says about it, such as its number."""
    for spot in whole.spots:
        below = spot.below("properties", name)
        if below is not None and keyword in below.members:
            return below.members[keyword]
    return None


def fact(whole: Node, keyword: str, name: str) -> bool:
    """Whether a list or table of a schema, such as ``x-a2a-read``, has an entry."""
    return any(name in value for value in whole.values(keyword) if isinstance(value, dict | list))
