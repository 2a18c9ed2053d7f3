"""Items of lists: each by its position, and the rest."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import ComparisonItem, RuleContext
from a2a_gen.diff.schema_node import SchemaLocation, SchemaNode, SchemaTree, build_node


def compare_items(context: RuleContext) -> Iterator[ComparisonItem]:
    """Compare items, those that stand first one by one."""
    first = max(_count_prefix_items(context.old.node), _count_prefix_items(context.new.node))
    for index in range(first):
        old, new = (build_item_node(tree, atom.node, index) for tree, atom in zip(context.trees, (context.old, context.new), strict=True))
        yield context.build_child(old, new, ("item", index), "prefixItems", str(index))
    old, new = (build_item_node(tree, atom.node, first) for tree, atom in zip(context.trees, (context.old, context.new), strict=True))
    yield context.build_child(old, new, ("item", first), "items")


def build_item_node(tree: SchemaTree, node: SchemaNode, index: int) -> SchemaNode:
    """Gather what must hold for the item at a position."""
    return build_node(tree, _iter_item_schemas(node, index))


def _iter_item_schemas(node: SchemaNode, index: int) -> Iterator[SchemaLocation]:
    for spot in node.schemas:
        older = isinstance(spot.members.get("items"), list)
        listed, rest = ("items", "additionalItems") if older else ("prefixItems", "items")
        below = spot.descend(listed, index) or spot.descend(rest)
        if below is not None:
            yield below


def _count_prefix_items(node: SchemaNode) -> int:
    lists = [value for keyword in ("prefixItems", "items") for value in node.values(keyword) if isinstance(value, list)]
    return max(map(len, lists), default=0)
