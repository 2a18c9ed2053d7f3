"""Comparison: a graph of node pairs, each expanded once.

``SchemaComparison.expand`` returns the changes of a pair and the pairs below it, without recursion.
``has_effect`` walks the graph to test the alternatives of a union against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from a2a_gen.diff.change import ChildPair, ComparisonItem, NodePair, RuleContext, SchemaChange
from a2a_gen.diff.equality import COMPARED_ANNOTATIONS, SchemaEquality
from a2a_gen.diff.redundant import drop_redundant
from a2a_gen.diff.rules.annotations import (
    compare_member_annotations,
)
from a2a_gen.diff.rules.applicators import OPENED_OVERLAP, build_undecided_union, compare_conditions
from a2a_gen.diff.rules.arrays import compare_items
from a2a_gen.diff.rules.bounds import compare_number, compare_size, compare_unique
from a2a_gen.diff.rules.closed import OPENED, compare_others
from a2a_gen.diff.rules.enums import compare_values
from a2a_gen.diff.rules.presence import compare_presence
from a2a_gen.diff.rules.properties import compare_members
from a2a_gen.diff.rules.rule import Effect
from a2a_gen.diff.rules.texts import compare_text
from a2a_gen.diff.rules.types import compare_kinds
from a2a_gen.diff.rules.unions import (
    compare_alternatives,
    match_branches,
)
from a2a_gen.diff.tree.schema_node import (
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    find_only_branch,
    is_constraint,
)
from a2a_gen.diff.tree.value_set import (
    Alternative,
    ComparisonTooLargeError,
    ValueSet,
    build_value_set,
)
from a2a_gen.source.json_text import Json

MAX_PAIRS = 100_000
_MAX_TRIAL_PAIRS = 200

# Keywords that depend on each other.
_GROUPS = (
    ("properties", "patternProperties", "additionalProperties"),
    ("prefixItems", "items", "additionalItems"),
    ("contains", "minContains", "maxContains"),
    ("if", "then", "else"),
    ("minimum", "exclusiveMinimum"),
    ("maximum", "exclusiveMaximum"),
)
_GROUP_BY_KEYWORD: dict[str, tuple[str, ...]] = {}
for _group in _GROUPS:
    _GROUP_BY_KEYWORD.update(dict.fromkeys(_group, _group))


def split_schema(schema: SchemaLocation) -> Iterator[SchemaLocation]:
    """Split a schema into parts that together say the same.

    One with a keyword of this project stays whole, since that says how others are read; so does one
    with a reference, beside which older drafts ignore all others.
    """
    if schema.data is False or any(
        keyword == "$ref" or keyword.startswith("x-") for keyword in schema.members
    ):
        yield schema
        return
    compared = (
        each
        for each in schema.members
        if is_constraint(schema, each) or each in COMPARED_ANNOTATIONS
    )
    for group in dict.fromkeys(_GROUP_BY_KEYWORD.get(each, (each,)) for each in compared):
        branch = find_only_branch(schema, group[0])
        part: dict[str, Json] = {
            keyword: schema.members[keyword] for keyword in group if keyword in schema.members
        }
        if branch is None:
            yield SchemaLocation(schema.file, f"{schema.pointer}#part/{group[0]}", part)
        else:
            yield from split_schema(branch)


_RULES_BY_KIND: Mapping[str, tuple[Callable[[RuleContext], Iterator[ComparisonItem]], ...]] = {
    "null": (),
    "boolean": (compare_values,),
    "number": (compare_values, compare_number),
    "string": (compare_values, compare_size, compare_text),
    "array": (compare_values, compare_size, compare_unique, compare_items),
    "object": (
        compare_values,
        compare_size,
        compare_members,
        compare_others,
        compare_presence,
        compare_member_annotations,
    ),
}
_SCALARS = frozenset({"boolean", "number", "string"})


@dataclass(frozen=True, slots=True)
class Expansion:
    """Changes of a pair itself, and the pairs below it."""

    changes: tuple[SchemaChange, ...] = ()
    children: tuple[ChildPair, ...] = ()


_UNCHANGED = Expansion()
ITSELF = ("itself", "")
"""The step to a definition that is an alternative as a whole."""


class SchemaComparison:
    """Two schema trees and every expanded pair of their nodes."""

    def __init__(self, old: SchemaTree, new: SchemaTree) -> None:
        self.trees = (old, new)
        self.equality = SchemaEquality(old, new)
        self._expansions: dict[NodePair, Expansion] = {}
        self._value_sets: tuple[dict[SchemaNode, ValueSet], dict[SchemaNode, ValueSet]] = ({}, {})
        self._in_progress: set[NodePair] = set()

    def expand(self, pair: NodePair) -> Expansion:
        """Compare a pair; the result is cached."""
        known = self._expansions.get(pair)
        if known is not None:
            return known
        if len(self._expansions) >= MAX_PAIRS:
            raise ComparisonTooLargeError(
                f"comparison: more than {MAX_PAIRS} pairs of schemas\n    fix: compare fewer "
                "files at a time"
            )
        self._in_progress.add(pair)
        expansion = _UNCHANGED if self.is_same(pair) else self._compare(pair)
        self._in_progress.discard(pair)
        self._expansions[pair] = expansion
        return expansion

    def get_value_set(self, side: int, node: SchemaNode) -> ValueSet:
        """Build the value set of a node of one side; the result is cached."""
        known = self._value_sets[side].get(node)
        if known is None:
            known = self._value_sets[side][node] = build_value_set(self.trees[side], node)
        return known

    def has_effect(self, effect: Effect, pairs: Iterable[NodePair]) -> bool:
        """Return true if a change at or below the pairs has an effect, or if the limit of pairs is
        reached first.
        """
        pending = list(pairs)
        seen = set(pending)
        while pending:
            pair = pending.pop()
            if pair in self._in_progress and pair not in self._expansions:
                return True
            expansion = self.expand(pair)
            if any(_has_common_effect(change.effect, effect) for change in expansion.changes):
                return True
            for child in expansion.children:
                if child.pair not in seen:
                    seen.add(child.pair)
                    pending.append(child.pair)
            if len(seen) > _MAX_TRIAL_PAIRS:
                return True
        return False

    def is_same(self, pair: NodePair) -> bool:
        """Return true if the schemas of both nodes have equal content, however it is divided among
        them.
        """
        if pair.old.expanded_unions or pair.new.expanded_unions:
            return False
        schemas = pair.old.schemas, pair.new.schemas
        if len(schemas[0]) == len(schemas[1]) and all(
            self.equality.is_same(*each) for each in zip(*schemas, strict=True)
        ):
            return True
        return self._has_same_parts(pair)

    def _has_same_parts(self, pair: NodePair) -> bool:
        if any(tree.has_scopes or tree.has_unevaluated for tree in self.trees):
            return False
        old = list(chain.from_iterable(map(split_schema, pair.old.schemas)))
        new = list(chain.from_iterable(map(split_schema, pair.new.schemas)))
        if {tuple(part.members) for part in old} != {tuple(part.members) for part in new}:
            return False
        for one in old:
            if not any(self.equality.is_same(one, other) for other in new):
                return False
        return all(any(self.equality.is_same(one, other) for one in old) for other in new)

    def _compare(self, pair: NodePair) -> Expansion:
        old = self.get_value_set(0, pair.old)
        new = self.get_value_set(1, pair.new)
        has_overlaps = old.has_overlaps or new.has_overlaps
        items: list[ComparisonItem] = list(compare_kinds(pair, old, new))
        for kind in [each for each in old.alternatives if each in new.alternatives]:
            items.extend(
                self._compare_kind(
                    pair, old.alternatives[kind], new.alternatives[kind], has_overlaps=has_overlaps
                )
            )
        changes = tuple(drop_redundant(each for each in items if isinstance(each, SchemaChange)))
        children = tuple(each for each in items if isinstance(each, ChildPair))
        if has_overlaps and (
            old.has_overlaps != new.has_overlaps
            or changes
            or self.has_effect(Effect.BOTH, (child.pair for child in children))
        ):
            if self._has_opened_branch(changes, children):
                undecided = build_undecided_union(pair, OPENED_OVERLAP)
            else:
                undecided = build_undecided_union(pair)
            changes = (*changes, undecided)
        return Expansion(changes, children)

    def _has_opened_branch(
        self, changes: Iterable[SchemaChange], children: Iterable[ChildPair]
    ) -> bool:
        """Return true if an alternative, here or in a definition, accepts members that it did not:
        documents of another one may match it now.
        """
        found = list(changes)
        for child in children:
            # A definition that is being expanded yields its changes itself.
            if child.step == ITSELF and child.pair not in self._in_progress:
                found += self.expand(child.pair).changes
        return any(change.rule is OPENED for change in found)

    def _compare_kind(
        self,
        pair: NodePair,
        old: tuple[Alternative, ...],
        new: tuple[Alternative, ...],
        *,
        has_overlaps: bool,
    ) -> Iterator[ComparisonItem]:
        matched = match_branches(old, new, self._is_covered)
        yield from compare_alternatives(pair, matched, old, new, self._is_covered)
        if has_overlaps and (matched.removed or matched.added):
            yield build_undecided_union(pair)
        for before, after in matched.pairs:
            if before.node.name and after.node.name and pair.old.name != before.node.name:
                yield _pair_definitions(before, after)
            else:
                yield from self._apply_rules(pair, before, after)

    def _apply_rules(
        self, pair: NodePair, old: Alternative, new: Alternative
    ) -> Iterator[ComparisonItem]:
        context = RuleContext(self.trees, pair, old, new, self.equality.is_same)
        has_only_lists = old.kind in _SCALARS and old.values is not None and new.values is not None
        for compare in (compare_values,) if has_only_lists else _RULES_BY_KIND[old.kind]:
            yield from compare(context)
        if not has_only_lists:
            yield from compare_conditions(context)

    def _is_covered(self, old: Alternative, new: Alternative, effect: Effect) -> bool:
        pair = NodePair(old.node, new.node)
        children: list[NodePair] = []
        for each in self._apply_rules(pair, old, new):
            if isinstance(each, ChildPair):
                children.append(each.pair)
            elif _has_common_effect(each.effect, effect):
                return False
        return not self.has_effect(effect, children)


def _pair_definitions(old: Alternative, new: Alternative) -> ChildPair:
    """Defer alternatives that are whole definitions to the comparison of those definitions."""
    nodes = (
        SchemaNode(old.node.schemas, origin=old.node.schemas[0]),
        SchemaNode(new.node.schemas, origin=new.node.schemas[0]),
    )
    return ChildPair(
        NodePair(*nodes, old.node.schemas[0].location, new.node.schemas[0].location),
        ITSELF,
        old,
        new,
    )


def _has_common_effect(one: Effect, other: Effect) -> bool:
    return (one.is_narrowing and other.is_narrowing) or (one.is_widening and other.is_widening)
