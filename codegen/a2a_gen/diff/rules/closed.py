"""Members without a name of their own: whether an object takes them, and what they must be."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff import members
from a2a_gen.diff.change import Found, Scene
from a2a_gen.diff.rules.rule import rule
from a2a_gen.diff.schema_node import Node

CLOSED = rule("A2A080 additional-closed", "object narrows E I W", "members without a name here are refused now", mirror="additional-opened")
OPENED = rule("A2A081 additional-opened", "object widens I W W", "members without a name here are taken now", mirror="additional-closed")
PATTERN_ADDED = rule(
    "A2A082 pattern-properties-added", "object both E E I", "members that match {name} have a schema of their own now",
    mirror="pattern-properties-removed",
)  # fmt: skip
PATTERN_REMOVED = rule(
    "A2A083 pattern-properties-removed", "object both E E I", "members that match {name} have no schema of their own any more",
    mirror="pattern-properties-added",
)  # fmt: skip

RULES = (CLOSED, OPENED, PATTERN_ADDED, PATTERN_REMOVED)


def compare_others(scene: Scene) -> Iterator[Found]:
    """Compare what holds for members that neither side names."""
    old, new = members.others(scene.trees[0], scene.old.node), members.others(scene.trees[1], scene.new.node)
    if old.is_impossible != new.is_impossible:
        yield scene.change(CLOSED if new.is_impossible else OPENED, "additionalProperties")
    elif not old.is_impossible:
        yield scene.child(old, new, ("any member", ""), "additionalProperties")
    yield from _patterns(scene)
    yield from _names(scene)


def _patterns(scene: Scene) -> Iterator[Found]:
    old, new = members.by_pattern(scene.trees[0], scene.old.node), members.by_pattern(scene.trees[1], scene.new.node)
    for pattern in sorted(old.keys() | new.keys()):
        if pattern in old and pattern in new:
            yield scene.child(old[pattern], new[pattern], ("matching member", pattern), "patternProperties", pattern)
        elif _matters(scene, old.get(pattern), new.get(pattern)):
            yield scene.change(PATTERN_ADDED if pattern in new else PATTERN_REMOVED, "patternProperties", name=pattern)


def _matters(scene: Scene, old: Node | None, new: Node | None) -> bool:
    """A pattern that asks for nothing, where nothing is asked of other members either, is no pattern."""
    rest = members.others(scene.trees[0] if old is None else scene.trees[1], (scene.old if old is None else scene.new).node)
    said = new if old is None else old
    return said != rest and not (rest.is_anything and said is not None and said.is_anything)


def _names(scene: Scene) -> Iterator[Found]:
    old, new = scene.nodes(*([spot for spot in (each.below("propertyNames") for each in atom.node.spots) if spot] for atom in (scene.old, scene.new)))
    if old != new or old.spots:
        yield scene.child(old, new, ("name", ""), "propertyNames")
