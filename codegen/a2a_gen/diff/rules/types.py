"""Kinds of value that a schema allows."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import Focus, NodePair, RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, define_rule
from a2a_gen.diff.tree import value_set
from a2a_gen.diff.tree.schema_node import KINDS
from a2a_gen.diff.tree.value_set import ValueSet

BECAME_NULLABLE = define_rule(
    "A2A032 became-nullable",
    "type widens I E E",
    "null is now allowed",
    mirror="became-non-nullable",
)
BECAME_NON_NULLABLE = define_rule(
    "A2A033 became-non-nullable",
    "type narrows E I E",
    "null is no longer allowed",
    mirror="became-nullable",
)
TYPE_NARROWED = define_rule(
    "A2A040 type-narrowed",
    "type narrows E I E",
    "the type changed from {old} to {new}",
    mirror="type-widened",
)
TYPE_WIDENED = define_rule(
    "A2A041 type-widened",
    "type widens I E E",
    "the type changed from {old} to {new}",
    mirror="type-narrowed",
)
TYPE_CHANGED = define_rule(
    "A2A042 type-changed", "type both E E E", "the type changed from {old} to {new}", mirror=ITSELF
)

RULES = (BECAME_NULLABLE, BECAME_NON_NULLABLE, TYPE_NARROWED, TYPE_WIDENED, TYPE_CHANGED)


def compare_kinds(pair: NodePair, old: ValueSet, new: ValueSet) -> Iterator[SchemaChange]:
    """Compare the kinds of value that two nodes allow."""
    removed = set(old.alternatives) - set(new.alternatives)
    added = set(new.alternatives) - set(old.alternatives)
    if not removed and not added:
        return
    words = (("new", _render_kinds(new)), ("old", _render_kinds(old)))
    if removed == {"null"} and (set(new.alternatives) and not added):
        found = BECAME_NON_NULLABLE
    elif added == {"null"} and (set(old.alternatives) and not removed):
        found = BECAME_NULLABLE
    else:
        found = TYPE_WIDENED
        if removed:
            found = TYPE_CHANGED if added else TYPE_NARROWED
    yield SchemaChange(
        found,
        pair.old_location,
        pair.new_location,
        words,
        pair,
        Focus(kinds=frozenset(removed | added)),
    )


def compare_integers(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare integers with numbers."""
    old = value_set.is_integer(context.old.node)
    new = value_set.is_integer(context.new.node)
    if old != new:
        found = TYPE_NARROWED if new else TYPE_WIDENED
        yield context.build_change(
            found, "type", old="integer" if old else "number", new="integer" if new else "number"
        )


def _render_kinds(values: ValueSet) -> str:
    kinds: list[str] = []
    for kind, alternatives in values.alternatives.items():
        is_number = kind == "number"
        if is_number and all(value_set.is_integer(each.node) for each in alternatives):
            kinds.append("integer")
        else:
            kinds.append(kind)
    if len(kinds) == len(KINDS):
        return "any value"
    return " or ".join(kinds) or "no value"
