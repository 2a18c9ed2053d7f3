"""The members of an object: what each one must be, when several schemas speak at once."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.regex import is_match
from a2a_gen.diff.schema_node import CONDITIONAL, OPAQUE, SchemaLocation, SchemaNode, SchemaTree, build_node
from a2a_gen.diff.value_set import find_presence_groups
from a2a_gen.source.json_text import Json


def list_names(node: SchemaNode) -> tuple[str, ...]:
    """Name the members that a schema names, in their order."""
    found = (name for properties in node.values("properties") if isinstance(properties, dict) for name in properties)
    return tuple(dict.fromkeys(found))


def list_required(node: SchemaNode) -> frozenset[str]:
    """Name the members that must be there."""
    return frozenset(str(name) for listed in node.values("required") if isinstance(listed, list) for name in listed)


def build_member_node(tree: SchemaTree, node: SchemaNode, name: str) -> SchemaNode:
    """Gather what must hold for the member of a name, named or not."""
    return build_node(tree, _iter_member_schemas(node, name))


def build_additional_node(tree: SchemaTree, node: SchemaNode) -> SchemaNode:
    """Gather what must hold for members without a name of their own."""
    spots = (spot.descend(_get_additional_keyword(spot)) for spot in node.schemas if _get_additional_keyword(spot))
    return build_node(tree, [spot for spot in spots if spot is not None])


def add_dependents(node: SchemaNode, names: set[str]) -> set[str]:
    """Add the members that must be there when others are."""
    found, waiting = set(names), list(names)
    while waiting:
        name = waiting.pop()
        for table in node.values("dependentRequired"):
            needed = table.get(name) if isinstance(table, dict) else None
            more = {str(each) for each in (needed if isinstance(needed, list) else ())} - found
            found |= more
            waiting += more
    return found


def list_condition_names(node: SchemaNode) -> Iterator[str]:
    """Name members that only conditions speak of, such as ``not`` or ``then``."""
    waiting: list[Json] = [value for spot in node.schemas for word, value in spot.members.items() if word in OPAQUE or word in CONDITIONAL]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
            listed, named = value.get("required"), value.get("properties")
            yield from (str(name) for name in (listed if isinstance(listed, list) else ()))
            yield from named if isinstance(named, dict) else ()
        elif isinstance(value, list):
            waiting += value


def find_member(node: SchemaNode, name: str) -> SchemaLocation | None:
    """Find where a member is written, its use before its type."""
    found = (spot.descend("properties", name) for spot in node.schemas)
    return next((spot for spot in found if spot is not None), None)


def build_pattern_nodes(tree: SchemaTree, node: SchemaNode) -> dict[str, SchemaNode]:
    """Gather what must hold for members whose names match a pattern."""
    found: dict[str, list[SchemaLocation]] = {}
    for spot in node.schemas:
        said = spot.members.get("patternProperties")
        for pattern in said if isinstance(said, dict) else ():
            below = spot.descend("patternProperties", pattern)
            if below is not None:
                found.setdefault(pattern, []).append(below)
    return {pattern: build_node(tree, spots) for pattern, spots in found.items()}


def collect_presence_groups(node: SchemaNode) -> dict[str, frozenset[frozenset[str]]]:
    """Gather the groups of which exactly one (``oneOf``) or at least one (``anyOf``) must be there, by their name and keyword."""
    found: dict[str, frozenset[frozenset[str]]] = {}
    for spot in node.schemas:
        for keyword, branches in find_presence_groups(spot):
            name = spot.members.get("x-a2a-oneof")
            label = keyword if keyword not in found else f"{keyword} {name or spot.pointer}"
            found[label] = frozenset(branches)
    return found


def _iter_member_schemas(node: SchemaNode, name: str) -> Iterator[SchemaLocation]:
    for spot in node.schemas:
        below = spot.descend("properties", name)
        if below is not None:
            yield below
        matched = below is not None
        said = spot.members.get("patternProperties")
        for pattern in said if isinstance(said, dict) else ():
            if is_match(pattern, name) is not False:
                matched = True
                inner = spot.descend("patternProperties", pattern)
                if inner is not None:
                    yield inner
        keyword = _get_additional_keyword(spot)
        rest = spot.descend(keyword) if keyword and not matched else None
        if rest is not None and not (keyword == "unevaluatedProperties" and name in list_names(node)):
            yield rest


def _get_additional_keyword(schema: SchemaLocation) -> str:
    return next((keyword for keyword in ("additionalProperties", "unevaluatedProperties") if keyword in schema.members), "")


def get_member_keyword(node: SchemaNode, name: str, keyword: str) -> Json:
    """Find what the use of a member says about it, such as its number."""
    for spot in node.schemas:
        below = spot.descend("properties", name)
        if below is not None and keyword in below.members:
            return below.members[keyword]
    return None


def has_entry(node: SchemaNode, keyword: str, name: str) -> bool:
    """Whether a list or table of a schema, such as ``x-a2a-read``, has an entry."""
    return any(name in value for value in node.values(keyword) if isinstance(value, dict | list))
