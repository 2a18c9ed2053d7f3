"""Unions: matching the alternatives of both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import TypeAlias

from a2a_gen.diff.change import Focus, NodePair, SchemaChange, TextArguments
from a2a_gen.diff.rules.rule import ITSELF, ChangeLevels, ChangeRule, Effect, define_rule
from a2a_gen.diff.tree.schema_node import is_annotation
from a2a_gen.diff.tree.value_set import Alternative, find_tag_values, iter_tags

BRANCH_REMOVED = define_rule(
    "A2A070 union-branch-removed",
    "union narrows E I E",
    "the alternative {name} was removed",
    mirror="union-branch-added",
)
BRANCH_ADDED = define_rule(
    "A2A071 union-branch-added",
    "union widens I E I",
    "the alternative {name} was added",
    mirror="union-branch-removed",
)
TAG_CHANGED = define_rule(
    "A2A072 discriminator-changed",
    "union both E E E",
    "the discriminator changed from {old} to {new}",
    mirror=ITSELF,
)

RULES = (BRANCH_REMOVED, BRANCH_ADDED, TAG_CHANGED)

_MAX_TRIALS = 400
_MAX_COMPARED = 40_000
_LIKE = 0.5

_Indices: TypeAlias = dict[int, None]
IsCovered = Callable[[Alternative, Alternative, Effect], bool]
"""True if replacing one alternative by another does not have the effect."""


@dataclass(frozen=True, slots=True)
class BranchMatch:
    """Matched alternatives, and those without a counterpart."""

    pairs: tuple[tuple[Alternative, Alternative], ...]
    removed: tuple[Alternative, ...]
    added: tuple[Alternative, ...]


def match_branches(
    old: Sequence[Alternative], new: Sequence[Alternative], is_covered: IsCovered
) -> BranchMatch:
    """Match alternatives: by tag, definition, title and enumeration, then by which can replace
    which, and last by likeness.
    """
    if len(old) == len(new) == 1:
        return BranchMatch(((old[0], new[0]),), (), ())
    left = dict.fromkeys(range(len(old)))
    right = dict.fromkeys(range(len(new)))
    pairs: list[tuple[Alternative, Alternative]] = []
    searches = [
        _find_by_key(old, new, left, right, key)
        for key in (_build_tag_key(old, new), _get_definition_name, _get_title, _get_listed_key)
    ]
    for index, other in chain(
        *searches,
        _find_replaceable(old, new, left, right, is_covered),
        _find_like(old, new, left, right),
    ):
        pairs.append((old[index], new[other]))
        del left[index], right[other]
    removed = [old[index] for index in left]
    added = [new[index] for index in right]
    if len(removed) == len(added) == 1 and not _are_other_definitions(removed[0], added[0]):
        return BranchMatch((*pairs, (removed[0], added[0])), (), ())
    return BranchMatch(tuple(pairs), tuple(removed), tuple(added))


# Searches for pairs among the alternatives that are left; each pair is taken out before the search
# goes on.


def _find_by_key(
    old: Sequence[Alternative],
    new: Sequence[Alternative],
    left: _Indices,
    right: _Indices,
    key: Callable[[Alternative], str],
) -> Iterator[tuple[int, int]]:
    """Find alternatives by a key; one that several of a side have says nothing about which is
    which.
    """
    before = _index_by_key(old, left, key)
    after = _index_by_key(new, right, key)
    yield from ((before[value], after[value]) for value in before if value in after)


def _index_by_key(
    side: Sequence[Alternative], indices: Iterable[int], key: Callable[[Alternative], str]
) -> dict[str, int]:
    keys = {index: key(side[index]) for index in indices}
    count = Counter(keys.values())
    return {value: index for index, value in keys.items() if value and count[value] == 1}


def _find_replaceable(
    old: Sequence[Alternative],
    new: Sequence[Alternative],
    left: _Indices,
    right: _Indices,
    is_covered: IsCovered,
) -> Iterator[tuple[int, int]]:
    """Find alternatives that can replace each other; one that says mostly the same is preferred,
    although it may have changed.
    """
    if len(left) * len(right) > _MAX_TRIALS:
        return
    features = {other: _list_features(new[other]) for other in right}
    for index in list(left):
        own = _list_features(old[index])
        scores = {other: _compute_likeness(own, features[other]) for other in right}
        for other in sorted(right, key=lambda each: -scores[each]):
            if is_covered(old[index], new[other], Effect.BOTH):
                yield index, other
                break
            if scores[other] >= _LIKE:
                break


def _find_like(
    old: Sequence[Alternative], new: Sequence[Alternative], left: _Indices, right: _Indices
) -> Iterator[tuple[int, int]]:
    """Find alternatives that say mostly the same, the most alike first; two definitions of
    different names are different things.
    """
    if len(left) * len(right) > _MAX_COMPARED:
        return
    old_features = {index: _list_features(old[index]) for index in left}
    new_features = {index: _list_features(new[index]) for index in right}
    scores: list[tuple[float, int, int]] = []
    for index, other in product(old_features, new_features):
        if not _are_other_definitions(old[index], new[other]):
            score = _compute_likeness(old_features[index], new_features[other])
            scores.append((score, index, other))
    for score, index, other in sorted(scores, key=lambda each: (-each[0], *each[1:])):
        if score >= _LIKE and index in left and other in right:
            yield index, other


def _are_other_definitions(one: Alternative, other: Alternative) -> bool:
    return bool(one.node.name and other.node.name) and one.node.name != other.node.name


def _compute_likeness(one: frozenset[str], two: frozenset[str]) -> float:
    if one and two:
        return len(one & two) / len(one | two)
    return 0


def _list_features(alternative: Alternative) -> frozenset[str]:
    """List what an alternative says: its keywords, its members and their schemas."""
    found: set[str] = set()
    for schema in alternative.node.schemas:
        for keyword, value in schema.members.items():
            if keyword == "properties" and isinstance(value, dict):
                found |= {f"{keyword} {name}" for name in value} | {
                    f"{keyword} {name} {each!r}" for name, each in value.items()
                }
            elif not is_annotation(keyword):
                found |= {keyword, f"{keyword} {value!r}"}
    return frozenset(found)


def compare_alternatives(
    pair: NodePair,
    matched: BranchMatch,
    old: Sequence[Alternative],
    new: Sequence[Alternative],
    is_covered: IsCovered,
) -> Iterator[SchemaChange]:
    """Report added and removed alternatives, unless another one accepts the same values."""
    before = _list_tags(old)
    after = _list_tags(new)
    if before and after and len(old) > 1 and len(new) > 1 and set(before).isdisjoint(after):
        yield _build_change(TAG_CHANGED, pair, {"old": before[0], "new": after[0]})
    is_small = len(old) * len(new) <= _MAX_TRIALS
    for alternative in matched.removed:
        if not (is_small and any(is_covered(alternative, other, Effect.NARROWS) for other in new)):
            yield _build_change(
                BRANCH_REMOVED, pair, {"name": _get_label(alternative)}, alternative
            )
    for alternative in matched.added:
        if not (is_small and any(is_covered(other, alternative, Effect.WIDENS) for other in old)):
            levels = ChangeLevels.parse("I W I") if _is_extensible(pair) else None
            yield _build_change(
                BRANCH_ADDED, pair, {"name": _get_label(alternative)}, alternative, levels
            )


def _list_tags(alternatives: Sequence[Alternative]) -> list[str]:
    return list(iter_tags(alternative.node for alternative in alternatives))


def _build_tag_key(
    old: Sequence[Alternative], new: Sequence[Alternative]
) -> Callable[[Alternative], str]:
    others = _list_tags(new)
    name = next((each for each in _list_tags(old) if each in others), "")
    return lambda alternative: " ".join(find_tag_values(alternative.node).get(name, ""))


def _get_definition_name(alternative: Alternative) -> str:
    return alternative.node.name


def _get_title(alternative: Alternative) -> str:
    origin = alternative.node.origin
    title = origin.members.get("title") if origin else None
    if isinstance(title, str):
        return title
    return ""


def _get_listed_key(alternative: Alternative) -> str:
    if alternative.values is not None:
        return "listed"
    return ""


def _is_extensible(pair: NodePair) -> bool:
    return any(schema.members.get("x-extensible-union") is True for schema in pair.old.schemas)


def _get_label(alternative: Alternative) -> str:
    origin = alternative.node.origin
    return (
        alternative.node.name
        or (origin.name if origin else "")
        or _get_title(alternative)
        or next(iter(" ".join(each) for each in find_tag_values(alternative.node).values()), "")
        or alternative.kind
    )


def _build_change(
    rule: ChangeRule,
    pair: NodePair,
    arguments: TextArguments,
    alternative: Alternative | None = None,
    levels: ChangeLevels | None = None,
) -> SchemaChange:
    return SchemaChange(
        rule,
        pair.old_location,
        pair.new_location,
        tuple(sorted(arguments.items())),
        pair,
        Focus(alternative),
        levels,
    )
