"""Kinds of value: which ones a schema allows at all."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import value_set
from a2a_gen.diff.change import Change, Focus, Pair, Scene
from a2a_gen.diff.rules.rule import SAME, rule
from a2a_gen.diff.value_set import Shape

BECAME_NULLABLE = rule("A2A032 became-nullable", "type widens I E E", "null is now allowed", mirror="became-non-nullable")
BECAME_NON_NULLABLE = rule("A2A033 became-non-nullable", "type narrows E I E", "null is no longer allowed", mirror="became-nullable")
TYPE_NARROWED = rule("A2A040 type-narrowed", "type narrows E I E", "{old} became {new}", mirror="type-widened")
TYPE_WIDENED = rule("A2A041 type-widened", "type widens I E E", "{old} became {new}", mirror="type-narrowed")
TYPE_CHANGED = rule("A2A042 type-changed", "type both E E E", "{old} became {new}", mirror=SAME)

RULES = (BECAME_NULLABLE, BECAME_NON_NULLABLE, TYPE_NARROWED, TYPE_WIDENED, TYPE_CHANGED)


def compare_kinds(pair: Pair, old: Shape, new: Shape) -> Iterator[Change]:
    """Compare the kinds of value that two nodes allow."""
    gone, added = set(old.atoms) - set(new.atoms), set(new.atoms) - set(old.atoms)
    if not gone and not added:
        return
    words = (("new", _told(new)), ("old", _told(old)))
    if gone == {"null"} and (set(new.atoms) and not added):
        found = BECAME_NON_NULLABLE
    elif added == {"null"} and (set(old.atoms) and not gone):
        found = BECAME_NULLABLE
    else:
        found = TYPE_CHANGED if gone and added else TYPE_NARROWED if gone else TYPE_WIDENED
    yield Change(found, pair.old_at, pair.new_at, words, pair, Focus(kinds=frozenset(gone | added)))


def compare_integers(scene: Scene) -> Iterator[Change]:
    """Tell a whole number from any number."""
    old, new = value_set.is_integer(scene.old.node), value_set.is_integer(scene.new.node)
    if old != new:
        found = TYPE_NARROWED if new else TYPE_WIDENED
        yield scene.change(found, "type", old="integer" if old else "number", new="integer" if new else "number")


def _told(shape: Shape) -> str:
    kinds = [
        "integer" if kind == "number" and all(value_set.is_integer(atom.node) for atom in atoms) else kind for kind, atoms in shape.atoms.items()
    ]
    return "any value" if len(kinds) == 6 else " or ".join(kinds) or "no value"  # noqa: PLR2004 - there are six kinds
