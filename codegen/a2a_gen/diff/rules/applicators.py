"""Keywords compared as a whole: added, removed, or changed with an undecided effect."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import NodePair, RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, define_rule
from a2a_gen.diff.tree.schema_node import (
    COMPARED_KEYWORDS,
    IF_KEYWORDS,
    OPAQUE_KEYWORDS,
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    is_annotation,
)
from a2a_gen.source.json_text import Json

ADDED = define_rule(
    "A2A085 applicator-added",
    "condition narrows E I I",
    "{name} was added, so fewer values are valid",
    mirror="applicator-removed",
)
REMOVED = define_rule(
    "A2A087 applicator-removed",
    "condition widens I E I",
    "{name} was removed, so more values are valid",
    mirror="applicator-added",
)
UNDECIDABLE = define_rule(
    "A2A086 undecidable",
    "condition both W W I",
    "{name} changed; the effect on documents cannot be decided",
    "compare both versions, and accept the change in the ignore file",
    mirror=ITSELF,
)

RULES = (ADDED, REMOVED, UNDECIDABLE)

WHOLE_SCHEMA = "the schema"
_OVERLAP = "a oneOf whose alternatives may overlap"
OPENED_OVERLAP = "a oneOf whose alternatives may overlap in more documents"

# Adding one of these narrows; for the other keywords only the change itself is known.
_NARROWING = frozenset(
    {
        "not",
        "if",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedItems",
    }
)


def compare_conditions(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the conditions on one kind of value."""
    old, new = (_collect_conditions(tree, node, context.old.kind) for tree, node in context.sides)
    for keyword in sorted(old.keys() | new.keys()):
        before = old.get(keyword, [])
        after = new.get(keyword, [])
        is_removed = False
        for schema in before:
            is_removed |= not any(context.is_same(schema, other) for other in after)
        is_added = False
        for schema in after:
            is_added |= not any(context.is_same(other, schema) for other in before)
        if not is_removed and not is_added:
            continue
        found = ADDED if is_added else REMOVED
        if keyword not in _NARROWING or (is_removed and is_added):
            found = UNDECIDABLE
        yield context.build_change(found, keyword, name=keyword)


def build_undecided_union(pair: NodePair, name: str = _OVERLAP) -> SchemaChange:
    """Report a ``oneOf`` with overlapping alternatives: a change in one of them may have the
    opposite effect on the union.
    """
    return SchemaChange(UNDECIDABLE, pair.old_location, pair.new_location, (("name", name),), pair)


def _collect_conditions(
    tree: SchemaTree, node: SchemaNode, kind: str
) -> dict[str, list[SchemaLocation]]:
    found: dict[str, list[SchemaLocation]] = {}
    for schema in node.schemas:
        for keyword, value in schema.members.items():
            is_lost = (
                keyword == "$ref" and isinstance(value, str) and tree.resolve(schema, value) is None
            )
            if is_lost or kind in OPAQUE_KEYWORDS.get(keyword, ()) or is_unknown(keyword):
                keywords = IF_KEYWORDS if keyword == "if" else (keyword,)
                part = {
                    keyword_part: schema.members[keyword_part]
                    for keyword_part in keywords
                    if keyword_part in schema.members
                }
                if not _is_neutral(keyword, part):
                    found.setdefault(keyword, []).append(
                        SchemaLocation(schema.file, f"{schema.pointer}#{keyword}", part)
                    )
    return found


def _is_neutral(keyword: str, part: dict[str, Json]) -> bool:
    """Return true if a condition holds for every value; ``then`` beside an empty ``if`` always
    applies.
    """
    if keyword == "if":
        return part.keys() == {"if"}
    return keyword != "not" and part[keyword] in ({}, [])


def is_about_unknown(change: SchemaChange) -> bool:
    """Return true if an undecided change is one of a keyword that JSON Schema does not define."""
    name = dict(change.arguments).get("name", "")
    return (
        change.rule is UNDECIDABLE
        and name not in {WHOLE_SCHEMA, _OVERLAP, OPENED_OVERLAP}
        and is_unknown(name)
    )


def is_unknown(keyword: str) -> bool:
    """Return true if JSON Schema does not define a keyword."""
    return not (
        keyword in COMPARED_KEYWORDS
        or keyword in OPAQUE_KEYWORDS
        or keyword in IF_KEYWORDS
        or keyword in {"$ref", "allOf"}
        or is_annotation(keyword)
    )
