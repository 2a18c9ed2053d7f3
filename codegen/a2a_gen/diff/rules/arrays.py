"""Items of lists: each by its position, and the rest."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import Found, Scene
from a2a_gen.diff.schema_node import Node, Spot, Tree, node


def compare_items(scene: Scene) -> Iterator[Found]:
    """Compare items, those that stand first one by one."""
    first = max(_first(scene.old.node), _first(scene.new.node))
    for index in range(first):
        old, new = (item(tree, atom.node, index) for tree, atom in zip(scene.trees, (scene.old, scene.new), strict=True))
        yield scene.child(old, new, ("item", index), "prefixItems", str(index))
    old, new = (item(tree, atom.node, first) for tree, atom in zip(scene.trees, (scene.old, scene.new), strict=True))
    yield scene.child(old, new, ("item", first), "items")


def item(tree: Tree, whole: Node, index: int) -> Node:
    """Gather what must hold for the item at a position."""
    return node(tree, _item(whole, index))


def _item(whole: Node, index: int) -> Iterator[Spot]:
    for spot in whole.spots:
        older = isinstance(spot.members.get("items"), list)
        listed, rest = ("items", "additionalItems") if older else ("prefixItems", "items")
        below = spot.below(listed, index) or spot.below(rest)
        if below is not None:
            yield below


def _first(whole: Node) -> int:
    lists = [value for keyword in ("prefixItems", "items") for value in whole.values(keyword) if isinstance(value, list)]
    return max(map(len, lists), default=0)
