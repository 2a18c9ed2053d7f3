"""Bounds of numbers and of the sizes of strings, arrays and objects; unique items."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from a2a_gen.diff.change import RuleContext, SchemaChange
from a2a_gen.diff.rules.rule import define_rule
from a2a_gen.diff.rules.types import compare_integers
from a2a_gen.diff.tree import value_set
from a2a_gen.diff.tree.schema_node import SchemaNode

TIGHTENED = define_rule(
    "A2A060 bound-tightened",
    "bound narrows E I I",
    "{name} changed from {old} to {new}",
    mirror="bound-loosened",
)
LOOSENED = define_rule(
    "A2A061 bound-loosened",
    "bound widens I E I",
    "{name} changed from {old} to {new}",
    mirror="bound-tightened",
)
SET = define_rule(
    "A2A062 bound-set", "bound narrows E I I", "{name} {new} was added", mirror="bound-lifted"
)
LIFTED = define_rule(
    "A2A065 bound-lifted", "bound widens I E I", "{name} {old} was removed", mirror="bound-set"
)
MULTIPLE_CHANGED = define_rule(
    "A2A066 multiple-changed",
    "bound both E E I",
    "multipleOf changed from {old} to {new}",
    mirror="multiple-changed",
)
UNIQUE_ON = define_rule(
    "A2A064 unique-items-on",
    "bound narrows E I I",
    "items must now be unique",
    mirror="unique-items-off",
)
UNIQUE_OFF = define_rule(
    "A2A067 unique-items-off",
    "bound widens I E I",
    "items may now repeat",
    mirror="unique-items-on",
)

RULES = (TIGHTENED, LOOSENED, SET, LIFTED, MULTIPLE_CHANGED, UNIQUE_ON, UNIQUE_OFF)


def compare_number(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the bounds of a number."""
    old = context.old.node
    new = context.new.node
    yield from compare_integers(context)
    yield from _compare_bound(
        context,
        "minimum",
        value_set.get_lower_bound(old),
        value_set.get_lower_bound(new),
        is_minimum=True,
    )
    yield from _compare_bound(
        context,
        "maximum",
        value_set.get_upper_bound(old),
        value_set.get_upper_bound(new),
        is_minimum=False,
    )
    before = value_set.get_multiple(old)
    after = value_set.get_multiple(new)
    if value_set.is_integer(old) == value_set.is_integer(new) or not _is_covered_by_type(
        before, after
    ):
        yield from _compare_multiple(context, before, after)


def _is_covered_by_type(old: Fraction | None, new: Fraction | None) -> bool:
    """Return true if the change to or from integers is the only change of the multiple."""
    integers, other = (old, new) if old == 1 else (new, old)
    return integers == 1 and (other is None or (1 / other).denominator == 1)


def compare_size(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare the bounds of a size."""
    kind = context.old.kind
    minimum, maximum = value_set.SIZES[kind]
    old = context.old.node
    new = context.new.node
    # A size is at least 0 anyway, so a minimum of 0 is none.
    lower = [_make_bound(value_set.get_min_size(node, kind) or None) for node in (old, new)]
    upper = [_make_bound(value_set.get_max_size(node, kind)) for node in (old, new)]
    yield from _compare_bound(context, minimum, lower[0], lower[1], is_minimum=True)
    yield from _compare_bound(context, maximum, upper[0], upper[1], is_minimum=False)


def _make_bound(value: Fraction | int | None) -> tuple[Fraction, bool] | None:
    if value is None:
        return None
    return Fraction(value), False


def compare_unique(context: RuleContext) -> Iterator[SchemaChange]:
    """Compare ``uniqueItems``."""
    old, new = map(_has_unique_items, context.nodes)
    if old != new:
        yield context.build_change(UNIQUE_ON if new else UNIQUE_OFF, "uniqueItems")


def _has_unique_items(node: SchemaNode) -> bool:
    return any(value is True for value in node.values("uniqueItems"))


def _compare_bound(
    context: RuleContext,
    name: str,
    old: tuple[Fraction, bool] | None,
    new: tuple[Fraction, bool] | None,
    *,
    is_minimum: bool,
) -> Iterator[SchemaChange]:
    if old == new:
        return
    if old is None or new is None:
        yield context.build_change(
            SET if old is None else LIFTED,
            name,
            name=name,
            old=_render_bound(old),
            new=_render_bound(new),
        )
        return
    rose = new[0] > old[0] or (new[0] == old[0] and new[1] == is_minimum)
    yield context.build_change(
        TIGHTENED if rose == is_minimum else LOOSENED,
        name,
        name=name,
        old=_render_bound(old),
        new=_render_bound(new),
    )


def _compare_multiple(
    context: RuleContext, old: Fraction | None, new: Fraction | None
) -> Iterator[SchemaChange]:
    if old == new:
        return
    if old is None or new is None:
        found = SET if old is None else LIFTED
    elif (new / old).denominator == 1:
        found = TIGHTENED
    elif (old / new).denominator == 1:
        found = LOOSENED
    else:
        found = MULTIPLE_CHANGED
    yield context.build_change(
        found,
        "multipleOf",
        name="multipleOf",
        old=_render_bound(_make_bound(old)),
        new=_render_bound(_make_bound(new)),
    )


def _render_bound(bound: tuple[Fraction, bool] | None) -> str:
    if bound is None:
        return "nothing"
    value, is_out = bound
    text = str(value.numerator) if value.denominator == 1 else str(float(value))
    if is_out:
        return f"{text} (itself out)"
    return text
