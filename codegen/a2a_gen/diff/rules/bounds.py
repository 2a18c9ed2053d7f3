"""Bounds: of numbers, and of the sizes of texts, lists and objects; whether items may repeat."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from a2a_gen.diff import value_set
from a2a_gen.diff.change import Change, Scene
from a2a_gen.diff.rules.rule import rule
from a2a_gen.diff.rules.types import compare_integers

TIGHTENED = rule("A2A060 bound-tightened", "bound narrows E I I", "{name} went from {old} to {new}", mirror="bound-loosened")
LOOSENED = rule("A2A061 bound-loosened", "bound widens I E I", "{name} went from {old} to {new}", mirror="bound-tightened")
SET = rule("A2A062 bound-set", "bound narrows W I I", "there was no {name}, and it is {new} now", mirror="bound-lifted")
LIFTED = rule("A2A065 bound-lifted", "bound widens I E I", "{name} was {old}, and is gone", mirror="bound-set")
MULTIPLE_CHANGED = rule("A2A066 multiple-changed", "bound both E E I", "multiples of {old} became multiples of {new}", mirror="multiple-changed")
UNIQUE_ON = rule("A2A064 unique-items-on", "bound narrows E I I", "items may no longer repeat", mirror="unique-items-off")
UNIQUE_OFF = rule("A2A067 unique-items-off", "bound widens I E I", "items may repeat now", mirror="unique-items-on")

RULES = (TIGHTENED, LOOSENED, SET, LIFTED, MULTIPLE_CHANGED, UNIQUE_ON, UNIQUE_OFF)


def compare_number(scene: Scene) -> Iterator[Change]:
    """Compare the bounds of a number."""
    old, new = scene.old.node, scene.new.node
    yield from compare_integers(scene)
    yield from _bound(scene, "minimum", value_set.low(old), value_set.low(new), rising_narrows=True)
    yield from _bound(scene, "maximum", value_set.high(old), value_set.high(new), rising_narrows=False)
    before, after = value_set.step(old), value_set.step(new)
    if value_set.is_integer(old) == value_set.is_integer(new) or not _is_told_by_type(before, after):
        yield from _multiple(scene, before, after)


def _is_told_by_type(old: Fraction | None, new: Fraction | None) -> bool:
    """Whether the step to or from whole numbers is all there is to say."""
    whole, other = (old, new) if old == 1 else (new, old)
    return whole == 1 and (other is None or (1 / other).denominator == 1)


def compare_size(scene: Scene) -> Iterator[Change]:
    """Compare the bounds of a size."""
    kind = scene.old.kind
    least, most = value_set.SIZES[kind]
    old, new = scene.old.node, scene.new.node
    lower = [(Fraction(size), False) if size else None for size in (value_set.smallest(old, kind), value_set.smallest(new, kind))]
    sizes = (value_set.largest(old, kind), value_set.largest(new, kind))
    upper = [None if size is None else (Fraction(size), False) for size in sizes]
    yield from _bound(scene, least, lower[0], lower[1], rising_narrows=True)
    yield from _bound(scene, most, upper[0], upper[1], rising_narrows=False)


def compare_unique(scene: Scene) -> Iterator[Change]:
    """Compare whether items may repeat."""
    old, new = (any(value is True for value in atom.node.values("uniqueItems")) for atom in (scene.old, scene.new))
    if old != new:
        yield scene.change(UNIQUE_ON if new else UNIQUE_OFF, "uniqueItems")


def _bound(
    scene: Scene, name: str, old: tuple[Fraction, bool] | None, new: tuple[Fraction, bool] | None, *, rising_narrows: bool
) -> Iterator[Change]:
    if old == new:
        return
    if old is None or new is None:
        yield scene.change(SET if old is None else LIFTED, name, name=name, old=_told(old), new=_told(new))
        return
    rose = new[0] > old[0] or (new[0] == old[0] and new[1] == rising_narrows)
    yield scene.change(TIGHTENED if rose == rising_narrows else LOOSENED, name, name=name, old=_told(old), new=_told(new))


def _multiple(scene: Scene, old: Fraction | None, new: Fraction | None) -> Iterator[Change]:
    if old == new:
        return
    before, after = (None if step is None else (step, False) for step in (old, new))
    if old is None or new is None:
        found = SET if old is None else LIFTED
    elif (new / old).denominator == 1:
        found = TIGHTENED
    elif (old / new).denominator == 1:
        found = LOOSENED
    else:
        found = MULTIPLE_CHANGED
    yield scene.change(found, "multipleOf", name="multipleOf", old=_told(before), new=_told(after))


def _told(bound: tuple[Fraction, bool] | None) -> str:
    if bound is None:
        return "nothing"
    value, is_out = bound
    shown = str(value.numerator) if value.denominator == 1 else str(float(value))
    return f"{shown} (itself out)" if is_out else shown
