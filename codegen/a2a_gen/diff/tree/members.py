"""Members of an object, when several schemas constrain it at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from a2a_gen.diff.documents.regex import is_match
from a2a_gen.diff.tree.member_names import as_list
from a2a_gen.diff.tree.schema_node import (
    IF_KEYWORDS,
    OPAQUE_KEYWORDS,
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    build_node,
)
from a2a_gen.diff.tree.value_set import find_presence_groups
from a2a_gen.source.json_text import Json


def list_names(node: SchemaNode) -> tuple[str, ...]:
    """List the named members, in order."""
    found: dict[str, None] = {}
    for properties in node.values("properties"):
        if isinstance(properties, dict):
            found |= dict.fromkeys(properties)
    return tuple(found)


def list_required(node: SchemaNode) -> frozenset[str]:
    """List the required members."""
    return frozenset(map(str, chain.from_iterable(map(as_list, node.values("required")))))


def build_member_node(tree: SchemaTree, node: SchemaNode, name: str) -> SchemaNode:
    """Build the node of a member, named or not."""
    return build_node(tree, _iter_member_schemas(node, name))


def build_additional_node(tree: SchemaTree, node: SchemaNode) -> SchemaNode:
    """Build the node of members without a name of their own."""
    schemas = (
        schema.descend(_get_additional_keyword(schema))
        for schema in node.schemas
        if _get_additional_keyword(schema)
    )
    return build_node(tree, [schema for schema in schemas if schema is not None])


def add_dependents(node: SchemaNode, names: set[str]) -> set[str]:
    """Add the members that ``dependentRequired`` requires beside the given ones."""
    found = set(names)
    pending = list(names)
    while pending:
        name = pending.pop()
        for table in node.values("dependentRequired"):
            needed = table.get(name) if isinstance(table, dict) else None
            more = set(map(str, as_list(needed))) - found
            found |= more
            pending += more
    return found


def list_condition_names(node: SchemaNode) -> Iterator[str]:
    """List members that only conditions such as ``not`` or ``then`` mention."""
    pending: list[Json] = []
    for schema in node.schemas:
        for keyword, value in schema.members.items():
            if keyword in OPAQUE_KEYWORDS or keyword in IF_KEYWORDS:
                pending.append({keyword: value})
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
            yield from map(str, as_list(value.get("required")))
            for keyword in ("properties", "dependentRequired", "dependentSchemas", "dependencies"):
                table = value.get(keyword)
                yield from table if isinstance(table, dict) else ()
        elif isinstance(value, list):
            pending += value


def find_member(node: SchemaNode, name: str) -> SchemaLocation | None:
    """Find the schema of a named member where it is used."""
    found = (schema.descend("properties", name) for schema in node.schemas)
    return next((schema for schema in found if schema is not None), None)


def build_pattern_nodes(tree: SchemaTree, node: SchemaNode) -> dict[str, SchemaNode]:
    """Build the nodes of members whose names match a pattern."""
    found: dict[str, list[SchemaLocation]] = {}
    for schema in node.schemas:
        table = schema.members.get("patternProperties")
        for pattern in table if isinstance(table, dict) else ():
            below = schema.descend("patternProperties", pattern)
            if below is not None:
                found.setdefault(pattern, []).append(below)
    return {pattern: build_node(tree, schemas) for pattern, schemas in found.items()}


def collect_presence_groups(node: SchemaNode) -> dict[str, frozenset[frozenset[str]]]:
    """Collect the groups of which exactly one (``oneOf``) or at least one (``anyOf``) is required,
    by name and keyword.
    """
    found: dict[str, frozenset[frozenset[str]]] = {}
    for schema in node.schemas:
        for keyword, branches in find_presence_groups(schema):
            name = schema.members.get("x-a2a-oneof")
            label = keyword if keyword not in found else f"{keyword} {name or schema.pointer}"
            found[label] = frozenset(branches)
    return found


def _iter_member_schemas(node: SchemaNode, name: str) -> Iterator[SchemaLocation]:
    for schema in node.schemas:
        below = schema.descend("properties", name)
        if below is not None:
            yield below
        matched = below is not None
        table = schema.members.get("patternProperties")
        for pattern in table if isinstance(table, dict) else ():
            if is_match(pattern, name) is not False:
                matched = True
                inner = schema.descend("patternProperties", pattern)
                if inner is not None:
                    yield inner
        keyword = _get_additional_keyword(schema)
        rest = schema.descend(keyword) if keyword and not matched else None
        if rest is not None and not (
            keyword == "unevaluatedProperties" and name in list_names(node)
        ):
            yield rest


def _get_additional_keyword(schema: SchemaLocation) -> str:
    return next(
        (
            keyword
            for keyword in ("additionalProperties", "unevaluatedProperties")
            if keyword in schema.members
        ),
        "",
    )


def get_member_keyword(node: SchemaNode, name: str, keyword: str) -> Json:
    """Return the value of a keyword beside a member, such as its number."""
    for table in node.values("properties"):
        member = table.get(name) if isinstance(table, dict) else None
        if isinstance(member, dict) and keyword in member:
            return member[keyword]
    return None


def has_entry(node: SchemaNode, keyword: str, name: str) -> bool:
    """Return true if a list or table of a schema, such as ``x-a2a-read``, has an entry."""
    return any(name in value for value in node.values(keyword) if isinstance(value, dict | list))
