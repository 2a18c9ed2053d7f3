"""Rules as a proof: comparisons that need no oracle, because the rules see everything that their
schemas say.

That holds for a schema of simple keywords: one alternative for each kind of value, or objects with
a tag, and no condition on other parts of the schema. Everything else needs the containment oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from a2a_gen.diff.change import NodePair, SchemaChange
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaNode, is_annotation
from a2a_gen.diff.tree.value_set import ComparisonTooLargeError, ValueSet, find_tag

_SIMPLE_KEYWORDS = frozenset(
    """
    additionalProperties const enum exclusiveMaximum exclusiveMinimum format items maxItems
    maxLength maxProperties maximum minItems minLength minProperties minimum multipleOf pattern
    properties required type uniqueItems
    """.split()  # noqa: SIM905 - a list would take a line for each
)
_UNIONS = ("anyOf", "oneOf")
_MAX_PAIRS = 50_000


def is_proven_by_rules(
    comparison: SchemaComparison,
    seed: NodePair,
    has_effect: Callable[[SchemaChange], bool],
    others: frozenset[NodePair],
) -> bool:
    """Return true if rules prove that no change at or below a pair has an effect; ``others`` are
    proven on their own.

    Rules take a member that is added to an open object for safe, which is no proof where documents
    are compared strictly.
    """
    if any(tree.has_scopes for tree in comparison.trees):
        return False
    pending = [seed]
    seen = {seed}
    while pending:
        pair = pending.pop()
        if comparison.is_same(pair):
            continue
        try:
            expansion = comparison.expand(pair)
            is_simple = all(
                _is_simple(node, comparison.get_value_set(side, node))
                for side, node in enumerate((pair.old, pair.new))
            )
        except ComparisonTooLargeError:
            return False
        if not is_simple or any(map(has_effect, expansion.changes)):
            return False
        below = {child.pair for child in expansion.children} - seen - others
        seen |= below
        pending += below
        if len(seen) > _MAX_PAIRS:
            return False
    return True


def _is_simple(node: SchemaNode, values: ValueSet) -> bool:
    if len(node.schemas) > 1 or node.expanded_unions or values.has_overlaps:
        return False
    keywords = set(chain.from_iterable(schema.members for schema in node.schemas))
    if keywords.isdisjoint(_UNIONS):
        return all(map(_has_simple_keywords, node.schemas))
    if not all(is_annotation(keyword) or keyword in _UNIONS for keyword in keywords):
        return False
    nodes = [each.node for each in values]
    if set(values.alternatives) != {"object"} or find_tag(nodes) is None:
        return False
    for each in nodes:
        is_part = each.schemas != node.schemas
        if len(each.schemas) != 1 or (is_part and not _has_simple_keywords(each.schemas[0])):
            return False
    return True


def _has_simple_keywords(schema: SchemaLocation) -> bool:
    listed = {keyword for keyword in schema.members if not is_annotation(keyword)}
    is_scalar_list = bool(listed & {"enum", "const"}) and "format" in listed
    return listed <= _SIMPLE_KEYWORDS and not is_scalar_list
