"""Additional members: whether an object accepts members without a name of their own, and their
schema.
"""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import ComparisonItem, RuleContext
from a2a_gen.diff.rules.rule import define_rule
from a2a_gen.diff.tree import members
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaNode

CLOSED = define_rule(
    "A2A080 additional-closed",
    "object narrows E I W",
    "additional members are now rejected",
    mirror="additional-opened",
)
OPENED = define_rule(
    "A2A081 additional-opened",
    "object widens I W W",
    "additional members are now accepted",
    mirror="additional-closed",
)
PATTERN_ADDED = define_rule(
    "A2A082 pattern-properties-added",
    "object both E E I",
    "members that match {name} now have their own schema",
    mirror="pattern-properties-removed",
)
PATTERN_REMOVED = define_rule(
    "A2A083 pattern-properties-removed",
    "object both E E I",
    "members that match {name} no longer have their own schema",
    mirror="pattern-properties-added",
)

RULES = (CLOSED, OPENED, PATTERN_ADDED, PATTERN_REMOVED)


def compare_others(context: RuleContext) -> Iterator[ComparisonItem]:
    """Compare the schemas of members that neither side names."""
    old, new = (members.build_additional_node(*side) for side in context.sides)
    if old.is_impossible != new.is_impossible:
        yield context.build_change(CLOSED if new.is_impossible else OPENED, "additionalProperties")
    elif not old.is_impossible:
        yield context.build_child(old, new, ("any member", ""), "additionalProperties")
    yield from _compare_patterns(context)
    yield from _compare_names(context)


def _compare_patterns(context: RuleContext) -> Iterator[ComparisonItem]:
    old, new = (members.build_pattern_nodes(*side) for side in context.sides)
    for pattern in sorted(old.keys() | new.keys()):
        if pattern in old and pattern in new:
            yield context.build_child(
                old[pattern],
                new[pattern],
                ("matching member", pattern),
                "patternProperties",
                pattern,
            )
        elif _is_relevant(context, old.get(pattern), new.get(pattern)):
            yield context.build_change(
                PATTERN_ADDED if pattern in new else PATTERN_REMOVED,
                "patternProperties",
                name=pattern,
            )


def _is_relevant(context: RuleContext, old: SchemaNode | None, new: SchemaNode | None) -> bool:
    """Return true unless the pattern adds nothing to the schema of other members."""
    rest = members.build_additional_node(*context.sides[0 if old is None else 1])
    node = new if old is None else old
    return node != rest and not (
        rest.is_unconstrained and node is not None and node.is_unconstrained
    )


def _compare_names(context: RuleContext) -> Iterator[ComparisonItem]:
    """Compare the schemas of names; a name is a string, whether its schema says so or not."""
    found: list[list[SchemaLocation]] = []
    for node in context.nodes:
        schemas = (each.descend("propertyNames") for each in node.schemas)
        found.append([each for each in schemas if each])
    if any(found):
        texts = [
            SchemaLocation(next(iter(tree.documents)), "?name", {"type": "string"})
            for tree in context.trees
        ]
        old, new = context.build_nodes([*found[0], texts[0]], [*found[1], texts[1]])
        yield context.build_child(old, new, ("name", ""), "propertyNames")
