"""Items of arrays: each by its index, and the rest."""

from __future__ import annotations

from collections.abc import Iterator

from a2a_gen.diff.change import ComparisonItem, RuleContext
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaNode, SchemaTree, build_node


def compare_items(context: RuleContext) -> Iterator[ComparisonItem]:
    """Compare items, positional ones one by one."""
    first = max(_count_prefix_items(context.old.node), _count_prefix_items(context.new.node))
    for index in range(first):
        old, new = (build_item_node(*side, index) for side in context.sides)
        yield context.build_child(old, new, ("item", index), "prefixItems", str(index))
    old, new = (build_item_node(*side, first) for side in context.sides)
    yield context.build_child(old, new, ("item", first), "items")


def build_item_node(tree: SchemaTree, node: SchemaNode, index: int) -> SchemaNode:
    """Build the node of the item at an index."""
    return build_node(tree, _iter_item_schemas(node, index))


def _iter_item_schemas(node: SchemaNode, index: int) -> Iterator[SchemaLocation]:
    for schema in node.schemas:
        is_draft_7 = isinstance(schema.members.get("items"), list)
        listed, rest = ("items", "additionalItems") if is_draft_7 else ("prefixItems", "items")
        below = schema.descend(listed, index) or schema.descend(rest)
        if below is not None:
            yield below


def _count_prefix_items(node: SchemaNode) -> int:
    values = (*node.values("prefixItems"), *node.values("items"))
    return max((len(value) for value in values if isinstance(value, list)), default=0)
