"""Members without a name of their own: whether an object takes them, and what they must be."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import members
from a2a_gen.diff.change import ComparisonItem, RuleContext
from a2a_gen.diff.rules.rule import define_rule
from a2a_gen.diff.schema_node import SchemaNode

CLOSED = define_rule("A2A080 additional-closed", "object narrows E I W", "members without a name here are refused now", mirror="additional-opened")
OPENED = define_rule("A2A081 additional-opened", "object widens I W W", "members without a name here are taken now", mirror="additional-closed")
PATTERN_ADDED = define_rule(
    "A2A082 pattern-properties-added", "object both E E I", "members that match {name} have a schema of their own now",
    mirror="pattern-properties-removed",
)  # fmt: skip
PATTERN_REMOVED = define_rule(
    "A2A083 pattern-properties-removed", "object both E E I", "members that match {name} have no schema of their own any more",
    mirror="pattern-properties-added",
)  # fmt: skip

RULES = (CLOSED, OPENED, PATTERN_ADDED, PATTERN_REMOVED)


def compare_others(context: RuleContext) -> Iterator[ComparisonItem]:
    """Compare what holds for members that neither side names."""
    old, new = members.build_additional_node(context.trees[0], context.old.node), members.build_additional_node(context.trees[1], context.new.node)
    if old.is_impossible != new.is_impossible:
        yield context.build_change(CLOSED if new.is_impossible else OPENED, "additionalProperties")
    elif not old.is_impossible:
        yield context.build_child(old, new, ("any member", ""), "additionalProperties")
    yield from _compare_patterns(context)
    yield from _compare_names(context)


def _compare_patterns(context: RuleContext) -> Iterator[ComparisonItem]:
    old, new = members.build_pattern_nodes(context.trees[0], context.old.node), members.build_pattern_nodes(context.trees[1], context.new.node)
    for pattern in sorted(old.keys() | new.keys()):
        if pattern in old and pattern in new:
            yield context.build_child(old[pattern], new[pattern], ("matching member", pattern), "patternProperties", pattern)
        elif _is_relevant(context, old.get(pattern), new.get(pattern)):
            yield context.build_change(PATTERN_ADDED if pattern in new else PATTERN_REMOVED, "patternProperties", name=pattern)


def _is_relevant(context: RuleContext, old: SchemaNode | None, new: SchemaNode | None) -> bool:
    """A pattern that asks for nothing, where nothing is asked of other members either, is no pattern."""
    rest = members.build_additional_node(context.trees[0] if old is None else context.trees[1], (context.old if old is None else context.new).node)
    said = new if old is None else old
    return said != rest and not (rest.is_unconstrained and said is not None and said.is_unconstrained)


def _compare_names(context: RuleContext) -> Iterator[ComparisonItem]:
    old, new = context.build_nodes(
        *([spot for spot in (each.descend("propertyNames") for each in atom.node.schemas) if spot] for atom in (context.old, context.new))
    )
    if old != new or old.schemas:
        yield context.build_child(old, new, ("name", ""), "propertyNames")
