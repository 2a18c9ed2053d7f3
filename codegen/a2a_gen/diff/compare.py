"""Comparison: a graph of node pairs, each expanded once.

``SchemaEquality`` skips equal schemas by a walk over their texts, since most of two versions is
equal. ``SchemaComparison.expand`` returns the changes of a pair and the pairs below it, without
recursion. ``has_effect`` walks the graph to test the alternatives of a union against each other.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from a2a_gen.diff.change import ChildPair, ComparisonItem, NodePair, RuleContext, SchemaChange
from a2a_gen.diff.rules.annotations import (
    AFTER_SUNSET,
    BEFORE_SUNSET,
    NOT_RESERVED,
    REMOVALS,
    compare_member_annotations,
)
from a2a_gen.diff.rules.applicators import OPENED_OVERLAP, build_undecided_union, compare_conditions
from a2a_gen.diff.rules.arrays import compare_items
from a2a_gen.diff.rules.bounds import compare_number, compare_size, compare_unique
from a2a_gen.diff.rules.closed import OPENED, compare_others
from a2a_gen.diff.rules.enums import ENUM_OPENED, compare_values
from a2a_gen.diff.rules.presence import MEMBER_ADDED, MEMBER_REMOVED, compare_presence
from a2a_gen.diff.rules.properties import ADDED_OPTIONAL, REMOVED_OPTIONAL, compare_members
from a2a_gen.diff.rules.rule import ChangeRule, Effect
from a2a_gen.diff.rules.texts import compare_text
from a2a_gen.diff.rules.types import TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED, compare_kinds
from a2a_gen.diff.rules.unions import (
    BRANCH_ADDED,
    BRANCH_REMOVED,
    TAG_CHANGED,
    compare_alternatives,
    match_branches,
)
from a2a_gen.diff.tree.schema_node import (
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    find_only_branch,
    is_annotation,
    is_constraint,
)
from a2a_gen.diff.tree.value_set import (
    Alternative,
    ComparisonTooLargeError,
    ValueSet,
    build_value_set,
)
from a2a_gen.source.json_text import Json
from a2a_gen.source.references import iter_schemas

MAX_PAIRS = 100_000
_MAX_TRIAL_PAIRS = 200

# Annotations that rules compare although they do not constrain values.
_COMPARED_ANNOTATIONS = frozenset({"default", "deprecated", "discriminator"})
# Their members are names or values, so that "title" below them is no annotation.
_NAMING_KEYWORDS = frozenset(
    {
        "properties",
        "patternProperties",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "enum",
        "required",
        "type",
    }
)
# A part of these that accepts more documents can make the whole accept fewer, or lets documents mix
# the parts.
NOT_MONOTONE = frozenset(
    {
        "contains",
        "dependencies",
        "dependentSchemas",
        "if",
        "not",
        "oneOf",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_MIXING = NOT_MONOTONE | {"allOf"}
_TEXTS = frozenset({"$comment", "contentMediaType", "description", "examples", "title"})
_UNORDERED_KEYWORDS = frozenset({"required", "enum", "type"})


class SchemaEquality:
    """Cached equality of schemas; two recursive schemas are equal unless some other part
    differs.
    """

    def __init__(self, old: SchemaTree, new: SchemaTree) -> None:
        self._trees = (old, new)
        self._known: dict[tuple[SchemaLocation, SchemaLocation], bool] = {}
        self._has_scopes = old.has_scopes or new.has_scopes
        self._is_all_same = self._has_scopes and _drop_texts(old) == _drop_texts(new)

    def is_same(self, old: SchemaLocation, new: SchemaLocation) -> bool:
        """Return true if two schemas have equal content; false only means that they must be
        compared.
        """
        if self._has_scopes:
            return self._is_all_same and old.location == new.location
        if (old, new) in self._known:
            return self._known[old, new]
        assumed: set[tuple[SchemaLocation, SchemaLocation]] = {(old, new)}
        pending = [(old, new)]
        while pending:
            left, right = pending.pop()
            references: list[tuple[SchemaLocation, SchemaLocation]] = []
            if not self._is_equal_at(left, right, references) or any(
                self._known.get(pair) is False for pair in references
            ):
                self._known[old, new] = False
                return False
            for pair in references:
                if pair not in assumed and pair not in self._known:
                    assumed.add(pair)
                    pending.append(pair)
        self._known.update(dict.fromkeys(assumed, True))
        return True

    def find_references(
        self, old: SchemaLocation, new: SchemaLocation
    ) -> list[tuple[SchemaLocation, SchemaLocation]] | None:
        """Return what two schemas of equal text refer to, if they grow and shrink with that;
        ``None`` for all others.
        """
        if self._has_scopes or any(
            not _MIXING.isdisjoint(schema.members) for schema in iter_schemas(new.data)
        ):
            return None
        references: list[tuple[SchemaLocation, SchemaLocation]] = []
        if self._is_equal_at(old, new, references):
            return references
        return None

    def has_same_text(self, old: SchemaLocation, new: SchemaLocation) -> bool:
        """Return true if two schemas differ at most in what they refer to."""
        return not self._has_scopes and self._is_equal_at(old, new, [])

    def _is_equal_at(
        self,
        left: SchemaLocation,
        right: SchemaLocation,
        pairs: list[tuple[SchemaLocation, SchemaLocation]],
    ) -> bool:
        try:
            return self._is_equal_json(left.data, right.data, (left, right), pairs)
        except RecursionError:
            return False  # deeply nested schemas are compared step by step

    def _is_equal_json(
        self,
        old: Json,
        new: Json,
        schemas: tuple[SchemaLocation, SchemaLocation],
        pairs: list[tuple[SchemaLocation, SchemaLocation]],
        under: str = "",
    ) -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            if not under:
                old = _select_compared_keywords(old)
                new = _select_compared_keywords(new)
            if old.keys() != new.keys():
                return False
            return all(
                self._is_equal_member(keyword, old[keyword], new[keyword], schemas, pairs, under)
                for keyword in old
            )
        if isinstance(old, list) and isinstance(new, list):
            if under in _UNORDERED_KEYWORDS:
                return len(old) == len(new) and sorted(map(repr, old)) == sorted(map(repr, new))
            return len(old) == len(new) and all(
                self._is_equal_json(*each, schemas, pairs) for each in zip(old, new, strict=True)
            )
        return type(old) is type(new) and old == new

    def _is_equal_member(
        self,
        keyword: str,
        old: Json,
        new: Json,
        schemas: tuple[SchemaLocation, SchemaLocation],
        pairs: list[tuple[SchemaLocation, SchemaLocation]],
        under: str,
    ) -> bool:
        if keyword == "$ref" and not under and isinstance(old, str) and isinstance(new, str):
            left = self._trees[0].resolve(schemas[0], old)
            right = self._trees[1].resolve(schemas[1], new)
            if left is None or right is None:
                return left is right and old == new
            pairs.append((left, right))
            return True
        if keyword in {"const", "default", "discriminator"} or keyword.startswith("x-"):
            return type(old) is type(new) and old == new
        plain = under or keyword not in _NAMING_KEYWORDS
        return self._is_equal_json(old, new, schemas, pairs, "" if plain else keyword)


def _drop_texts(tree: SchemaTree) -> dict[str, Json]:
    """Return the files of a tree without what their schemas say to people."""
    files = {path: copy.deepcopy(each.data) for path, each in tree.documents.items()}
    for data in files.values():
        for schema in [*iter_schemas(data)]:
            for keyword in _TEXTS & schema.members.keys():
                del schema.members[keyword]
    return files


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
    _GROUP_BY_KEYWORD |= dict.fromkeys(_group, _group)


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
        if is_constraint(schema, each) or each in _COMPARED_ANNOTATIONS
    )
    for group in dict.fromkeys(_GROUP_BY_KEYWORD.get(each, (each,)) for each in compared):
        branch = find_only_branch(schema, group[0])
        part: dict[str, Json] = {
            keyword: schema.members[keyword] for keyword in group if keyword in schema.members
        }
        yield from (
            (SchemaLocation(schema.file, f"{schema.pointer}#part/{group[0]}", part),)
            if branch is None
            else split_schema(branch)
        )


def _select_compared_keywords(members: dict[str, Json]) -> dict[str, Json]:
    return {
        word: value
        for word, value in members.items()
        if not is_annotation(word) or word in _COMPARED_ANNOTATIONS or word.startswith("x-")
    }


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
            undecided = (
                build_undecided_union(pair, OPENED_OVERLAP)
                if self._has_opened_branch(changes, children)
                else build_undecided_union(pair)
            )
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


# One recognized transition is one finding: changes that another change explains are dropped.

_SUNSET_RULES = frozenset({AFTER_SUNSET, BEFORE_SUNSET})
_BRANCH_RULES = frozenset({BRANCH_ADDED, BRANCH_REMOVED})
_GROUP_RULES = {REMOVED_OPTIONAL: MEMBER_REMOVED, ADDED_OPTIONAL: MEMBER_ADDED}
_TYPE_RULES = frozenset({TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED})


def drop_redundant(changes: Iterable[SchemaChange]) -> Iterator[SchemaChange]:
    """Drop changes that another change at the same location already explains."""
    all_changes = tuple(dict.fromkeys(changes))
    sunset = {_get_name(change) for change in all_changes if change.rule in _SUNSET_RULES}
    removed = {_get_name(change) for change in all_changes if change.rule in REMOVALS}
    type_changes = {change.new for change in all_changes if change.rule is TYPE_CHANGED}
    has_new_tag = any(change.rule is TAG_CHANGED for change in all_changes)
    for change in all_changes:
        if change.rule in _BRANCH_RULES and has_new_tag:
            continue  # the new discriminator changes every alternative
        if change.rule in _GROUP_RULES and _get_name(change) in _collect_names(
            all_changes, _GROUP_RULES[change.rule]
        ):
            continue  # reported by the group
        is_removal = change.rule in REMOVALS or change.rule is NOT_RESERVED
        if is_removal and _get_name(change) in sunset:
            continue  # reported by the sunset rule
        if (
            change.rule is NOT_RESERVED
            and _get_name(change) in removed
            and change.levels.write is not NOT_RESERVED.levels.write
        ):
            continue
        if (
            change.rule in _TYPE_RULES
            and change.rule is not TYPE_CHANGED
            and change.new in type_changes
        ):
            continue
        if change.rule is ENUM_OPENED and any(
            other.rule is ENUM_OPENED and other is not change and other.new == change.new
            for other in all_changes
        ):
            continue
        yield change


def _collect_names(changes: Iterable[SchemaChange], rule: ChangeRule) -> set[str]:
    return {_get_name(change) for change in changes if change.rule is rule}


def _get_name(change: SchemaChange) -> str:
    return dict(change.arguments).get("name", "")
