"""The comparison: a graph of pairs of nodes, each looked at once.

``expand`` says what differs at a pair itself and which pairs are below it; nothing here recurses. What a change does further up follows from walking
the graph, which is also how alternatives of a union are tried against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.diff.change import Change, Child, Found, Pair, Scene
from a2a_gen.diff.rules.annotations import AFTER_SUNSET, BEFORE_SUNSET, NOT_RESERVED, REMOVALS, compare_member_facts
from a2a_gen.diff.rules.applicators import compare_conditions, undecided_union
from a2a_gen.diff.rules.arrays import compare_items
from a2a_gen.diff.rules.bounds import compare_number, compare_size, compare_unique
from a2a_gen.diff.rules.closed import compare_others
from a2a_gen.diff.rules.enums import ENUM_OPENED, compare_values
from a2a_gen.diff.rules.presence import MEMBER_ADDED, MEMBER_REMOVED, compare_presence
from a2a_gen.diff.rules.properties import ADDED_OPTIONAL, REMOVED_OPTIONAL, compare_members
from a2a_gen.diff.rules.rule import Effect, Rule
from a2a_gen.diff.rules.texts import compare_text
from a2a_gen.diff.rules.types import TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED, compare_kinds
from a2a_gen.diff.rules.unions import BRANCH_ADDED, BRANCH_REMOVED, TAG_CHANGED, compare_alternatives, match
from a2a_gen.diff.schema_node import Node, Spot, Tree, is_annotation
from a2a_gen.diff.value_set import Atom, Shape, TooLargeError, shape
from a2a_gen.source.json_text import Json

# Which definitions say the same, found by walking both texts side by side before anything is spread out: most of two versions is equal.

# Say nothing about values, and yet rules look at them.
_LOOKED_AT = frozenset({"default", "deprecated", "discriminator"})
_SETS = frozenset({"required", "enum", "type"})


class Sameness:
    """What is known about pairs of schemas; two that refer to each other's like are the same unless something else differs."""

    def __init__(self, old: Tree, new: Tree) -> None:
        self._trees = (old, new)
        self._known: dict[tuple[Spot, Spot], bool] = {}

    def holds(self, old: Spot, new: Spot) -> bool:
        """Tell whether two schemas say the same; False only means that they must be compared."""
        if (old, new) in self._known:
            return self._known[old, new]
        assumed: set[tuple[Spot, Spot]] = {(old, new)}
        waiting = [(old, new)]
        while waiting:
            left, right = waiting.pop()
            pairs: list[tuple[Spot, Spot]] = []
            if not self._agree(left, right, pairs):
                self._known[old, new] = False
                return False
            for pair in pairs:
                if self._known.get(pair) is False:
                    self._known[old, new] = False
                    return False
                if pair not in assumed and pair not in self._known:
                    assumed.add(pair)
                    waiting.append(pair)
        self._known.update(dict.fromkeys(assumed, True))
        return True

    def _agree(self, left: Spot, right: Spot, pairs: list[tuple[Spot, Spot]]) -> bool:
        try:
            return self._texts(left.data, right.data, (left, right), pairs)
        except RecursionError:
            return False  # what is nested so deeply is compared step by step

    def _texts(self, old: Json, new: Json, spots: tuple[Spot, Spot], pairs: list[tuple[Spot, Spot]], under: str = "") -> bool:
        if isinstance(old, dict) and isinstance(new, dict):
            names = [each if under else _asserting(each) for each in (old, new)]
            if names[0].keys() != names[1].keys():
                return False
            return all(self._member(word, old[word], new[word], spots, pairs, under) for word in names[0])
        if isinstance(old, list) and isinstance(new, list):
            if under in _SETS:
                return len(old) == len(new) and sorted(map(repr, old)) == sorted(map(repr, new))
            return len(old) == len(new) and all(self._texts(*each, spots, pairs) for each in zip(old, new, strict=True))
        return type(old) is type(new) and old == new

    def _member(self, word: str, old: Json, new: Json, spots: tuple[Spot, Spot], pairs: list[tuple[Spot, Spot]], under: str) -> bool:
        if word == "$ref" and not under and isinstance(old, str) and isinstance(new, str):
            left, right = self._trees[0].target(spots[0], old), self._trees[1].target(spots[1], new)
            if left is None or right is None:
                return left is right and old == new
            pairs.append((left, right))
            return True
        if word in {"const", "default", "discriminator"} or word.startswith("x-"):
            return type(old) is type(new) and old == new
        plain = under or word not in {"properties", "patternProperties", "dependentSchemas", "enum", "required", "type"}
        return self._texts(old, new, spots, pairs, "" if plain else word)


def _asserting(members: dict[str, Json]) -> dict[str, Json]:
    return {word: each for word, each in members.items() if not is_annotation(word) or word in _LOOKED_AT or word.startswith("x-")}


MOST_PAIRS = 100_000
_MOST_IN_A_TRIAL = 200

_FINDERS: Mapping[str, tuple[Callable[[Scene], Iterator[Found]], ...]] = {
    "null": (),
    "boolean": (compare_values,),
    "number": (compare_values, compare_number),
    "string": (compare_values, compare_size, compare_text),
    "array": (compare_values, compare_size, compare_unique, compare_items),
    "object": (compare_values, compare_size, compare_members, compare_others, compare_presence, compare_member_facts),
}
_SCALARS = frozenset({"boolean", "number", "string"})


@dataclass(frozen=True, slots=True)
class Expansion:
    """What differs at a pair itself, and the pairs below it."""

    changes: tuple[Change, ...] = ()
    children: tuple[Child, ...] = ()


_SAME = Expansion()


class Comparison:
    """Two trees, and every pair of their nodes that was looked at."""

    def __init__(self, old: Tree, new: Tree) -> None:
        self.trees = (old, new)
        self.sameness = Sameness(old, new)
        self._expansions: dict[Pair, Expansion] = {}
        self._shapes: tuple[dict[Node, Shape], dict[Node, Shape]] = ({}, {})
        self._open: set[Pair] = set()

    def expand(self, pair: Pair) -> Expansion:
        """Look at a pair, once."""
        known = self._expansions.get(pair)
        if known is not None:
            return known
        if len(self._expansions) >= MOST_PAIRS:
            raise TooLargeError(f"there are more than {MOST_PAIRS} pairs of schemas to compare\n    fix: compare fewer files at a time")
        self._open.add(pair)
        found = _SAME if self._is_same(pair) else self._look(pair)
        self._open.discard(pair)
        self._expansions[pair] = found
        return found

    def shape(self, side: int, node: Node) -> Shape:
        """Spread a node of one side out, once."""
        known = self._shapes[side].get(node)
        if known is None:
            known = self._shapes[side][node] = shape(self.trees[side], node)
        return known

    def has(self, effect: Effect, pairs: Iterable[Pair]) -> bool:
        """Whether any change at some pairs or below them has an effect; without an answer within bounds, it may have."""
        waiting = list(pairs)
        seen = set(waiting)
        while waiting:
            pair = waiting.pop()
            if pair in self._open and pair not in self._expansions:
                return True
            expansion = self.expand(pair)
            if any(_shares(change.effect, effect) for change in expansion.changes):
                return True
            for child in expansion.children:
                if child.pair not in seen:
                    seen.add(child.pair)
                    waiting.append(child.pair)
            if len(seen) > _MOST_IN_A_TRIAL:
                return True
        return False

    def _is_same(self, pair: Pair) -> bool:
        if pair.old.used or pair.new.used or len(pair.old.spots) != len(pair.new.spots):
            return False
        return all(self.sameness.holds(*spots) for spots in zip(pair.old.spots, pair.new.spots, strict=True))

    def _look(self, pair: Pair) -> Expansion:
        old, new = self.shape(0, pair.old), self.shape(1, pair.new)
        overlaps = old.overlaps or new.overlaps
        found: list[Found] = list(compare_kinds(pair, old, new))
        for kind in old.atoms.keys() & new.atoms.keys():
            found.extend(self._kind(pair, old.atoms[kind], new.atoms[kind], overlaps=overlaps))
        changes = tuple(unclaimed(each for each in found if isinstance(each, Change)))
        children = tuple(each for each in found if isinstance(each, Child))
        if overlaps and (old.overlaps != new.overlaps or changes or self.has(Effect.BOTH, (child.pair for child in children))):
            changes = (*changes, undecided_union(pair))
        return Expansion(changes, children)

    def _kind(self, pair: Pair, old: tuple[Atom, ...], new: tuple[Atom, ...], *, overlaps: bool) -> Iterator[Found]:
        found = match(old, new, self._covers)
        yield from compare_alternatives(pair, found, old, new, self._covers)
        if overlaps and (found.gone or found.added):
            yield undecided_union(pair)
        for before, after in found.together:
            if before.node.name and after.node.name and pair.old.name != before.node.name:
                yield _definitions(before, after)
            else:
                yield from self._atoms(pair, before, after)

    def _atoms(self, pair: Pair, old: Atom, new: Atom) -> Iterator[Found]:
        scene = Scene(self.trees, pair, old, new, self.sameness.holds)
        both_listed = old.kind in _SCALARS and old.values is not None and new.values is not None
        for finder in (compare_values,) if both_listed else _FINDERS[old.kind]:
            yield from finder(scene)
        if not both_listed:
            yield from compare_conditions(scene)

    def _covers(self, old: Atom, new: Atom, effect: Effect) -> bool:
        pair = Pair(old.node, new.node)
        found = list(self._atoms(pair, old, new))
        if any(_shares(each.effect, effect) for each in found if isinstance(each, Change)):
            return False
        return not self.has(effect, (each.pair for each in found if isinstance(each, Child)))


def _definitions(old: Atom, new: Atom) -> Child:
    """Leave alternatives that are whole definitions to the comparison of these."""
    nodes = Node(old.node.spots, at=old.node.spots[0]), Node(new.node.spots, at=new.node.spots[0])
    return Child(Pair(*nodes, old.node.spots[0].at, new.node.spots[0].at), ("itself", ""), old, new)


def _shares(one: Effect, other: Effect) -> bool:
    return (one.narrows and other.narrows) or (one.widens and other.widens)


# One recognised transition is one finding: what a change explains is not told again.

_SUNSETS = frozenset({AFTER_SUNSET, BEFORE_SUNSET})
_BRANCHES = frozenset({BRANCH_ADDED, BRANCH_REMOVED})
_IN_GROUPS = {REMOVED_OPTIONAL: MEMBER_REMOVED, ADDED_OPTIONAL: MEMBER_ADDED}
_TYPES = frozenset({TYPE_CHANGED, TYPE_NARROWED, TYPE_WIDENED})


def unclaimed(changes: Iterable[Change]) -> Iterator[Change]:
    """Leave out changes that another one at the same place claims."""
    found = tuple(dict.fromkeys(changes))
    over = {_name(change) for change in found if change.rule in _SUNSETS}
    removed = {_name(change) for change in found if change.rule in REMOVALS}
    both_types = {change.new for change in found if change.rule is TYPE_CHANGED}
    has_new_tag = any(change.rule is TAG_CHANGED for change in found)
    for change in found:
        if change.rule in _BRANCHES and has_new_tag:
            continue  # every alternative is told apart anew
        if change.rule in _IN_GROUPS and _name(change) in _names(found, _IN_GROUPS[change.rule]):
            continue  # the group says it
        is_removal = change.rule in REMOVALS or change.rule is NOT_RESERVED
        if is_removal and _name(change) in over:
            continue  # the last day of a member says it all
        if change.rule is NOT_RESERVED and _name(change) in removed and change.levels.write is not NOT_RESERVED.levels.write:
            continue
        if change.rule in _TYPES and change.rule is not TYPE_CHANGED and change.new in both_types:
            continue
        if change.rule is ENUM_OPENED and any(other.rule is ENUM_OPENED and other is not change and other.new == change.new for other in found):
            continue
        yield change


def _names(changes: Iterable[Change], rule: Rule) -> set[str]:
    return {_name(change) for change in changes if change.rule is rule}


def _name(change: Change) -> str:
    return dict(change.words).get("name", "")
