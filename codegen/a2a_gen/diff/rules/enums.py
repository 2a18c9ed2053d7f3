"""Enumerated values: enumerations and constants. A constant is an enumeration of one value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from a2a_gen.diff.change import Focus, RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import ITSELF, ChangeLevel, ChangeLevels, ChangeRule, define_rule
from a2a_gen.diff.tree import value_set
from a2a_gen.diff.tree.schema_node import SchemaNode
from a2a_gen.source.json_text import Json

VALUE_REMOVED = define_rule(
    "A2A050 enum-value-removed",
    "enum narrows E I E",
    "the value {name} was removed",
    mirror="enum-value-added",
)
VALUE_ADDED = define_rule(
    "A2A051 enum-value-added",
    "enum widens I E I",
    "the value {name} was added, and readers with the old list reject it",
    'set "x-extensible-enum": true on an enumeration before it grows',
    mirror="enum-value-removed",
)
ENUM_CLOSED = define_rule(
    "A2A052 enum-closed",
    "enum narrows E I W",
    "only listed values are now allowed",
    mirror="enum-opened",
)
ENUM_OPENED = define_rule(
    "A2A053 enum-opened",
    "enum widens I E W",
    "unlisted values are now allowed",
    mirror="enum-closed",
)
CONST_CHANGED = define_rule(
    "A2A054 const-changed",
    "enum both E E E",
    "the constant changed from {old} to {new}",
    mirror=ITSELF,
)
VALUE_RENAMED = define_rule(
    "A2A055 enum-value-renamed",
    "enum both E E E",
    "the value {old} was renamed to {new}; both have the same number",
    mirror=ITSELF,
)

RULES = (VALUE_REMOVED, VALUE_ADDED, ENUM_CLOSED, ENUM_OPENED, CONST_CHANGED, VALUE_RENAMED)

_MAX_REPORTED = 25


def compare_values(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare enumerated values, also with a side that has none."""
    old = context.old.values
    new = context.new.values
    below = (
        "const" if any("const" in schema.members for schema in context.new.node.schemas) else "enum"
    )
    if old is not None and new is not None:
        yield from _compare_lists(context, dict(old), dict(new), below)
    elif old is None and new is not None:
        yield context.build_change(ENUM_CLOSED, below)
    elif old is not None:
        refused = [
            name
            for name, value in old.items()
            if not value_set.is_within_bounds(context.new.node, value)
        ]
        yield from _report_values(context, VALUE_REMOVED, refused, below)
        yield context.build_change(ENUM_OPENED, below)
    if (
        old is not None
        and new is not None
        and is_extensible(context.old.node) != is_extensible(context.new.node)
    ):
        yield _build_extensibility_change(context, is_extensible(context.new.node))


def is_extensible(node: SchemaNode) -> bool:
    """Return true if readers keep unknown values."""
    return any(value is True for value in node.values("x-extensible-enum"))


def _build_extensibility_change(
    context: RuleContext,
    is_opened: bool,  # noqa: FBT001 - the direction of the change
) -> SchemaChange:
    """Report that readers treat unknown values differently; the listed values are the same."""
    if is_opened:
        levels = ChangeLevels(ChangeLevel.INFO, ChangeLevel.WARNING, ChangeLevel.WARNING)
    else:
        levels = ChangeLevels(ChangeLevel.WARNING, ChangeLevel.INFO, ChangeLevel.WARNING)
    return context.build_change(
        ENUM_OPENED if is_opened else ENUM_CLOSED, "x-extensible-enum", levels=levels
    )


def _compare_lists(
    context: RuleContext, old: dict[str, Json], new: dict[str, Json], below: str
) -> Iterator[SchemaChange]:
    if len(old) == len(new) == 1 and old.keys() != new.keys() and below == "const":
        yield context.build_change(CONST_CHANGED, below, old=next(iter(old)), new=next(iter(new)))
        return
    renamed = _find_renamed(context, old, new)
    for before, after in renamed.items():
        yield context.build_change(VALUE_RENAMED, below, old=before, new=after)
    yield from _report_values(
        context,
        VALUE_REMOVED,
        [name for name in old if name not in new and name not in renamed],
        below,
    )
    yield from _report_values(
        context,
        VALUE_ADDED,
        [name for name in new if name not in old and name not in renamed.values()],
        below,
    )


def _report_values(
    context: RuleContext, rule: ChangeRule, names: list[str], below: str
) -> Iterator[SchemaChange]:
    """Report each value; of a long list, the first few and the number of the rest."""
    levels = None
    if rule is VALUE_ADDED and is_extensible(context.old.node):
        levels = ChangeLevels.parse("I I I")
    for name in islice(names, _MAX_REPORTED):
        yield context.build_change(rule, below, name=name, levels=levels, focus=Focus(value=name))
    if len(names) > _MAX_REPORTED:
        yield context.build_change(
            rule,
            below,
            name=f"{names[_MAX_REPORTED]} and {len(names) - _MAX_REPORTED - 1} others",
            levels=levels,
        )


def _find_renamed(
    context: RuleContext, old: dict[str, Json], new: dict[str, Json]
) -> dict[str, str]:
    before = {
        number: name for name, number in _get_numbers(context.old.node).items() if name in old
    }
    after = {number: name for name, number in _get_numbers(context.new.node).items() if name in new}
    return {
        name: after[number]
        for number, name in before.items()
        if number in after and name not in new and after[number] not in old
    }


def _get_numbers(node: SchemaNode) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in node.values("x-proto"):
        listed = value.get("values") if isinstance(value, dict) else None
        for name, number in listed.items() if isinstance(listed, dict) else ():
            if isinstance(number, int):
                found[f'"{name}"'] = number
    return found
