"""Unions: which alternative of the old side is which of the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from a2a_gen.diff.change import Focus, NodePair, SchemaChange, TextArguments
from a2a_gen.diff.rules.rule import ITSELF, ChangeLevels, ChangeRule, Effect, define_rule
from a2a_gen.diff.value_set import Alternative, find_tag_values

BRANCH_REMOVED = define_rule("A2A070 union-branch-removed", "union narrows E I E", "{name} is no longer an alternative", mirror="union-branch-added")
BRANCH_ADDED = define_rule("A2A071 union-branch-added", "union widens I E I", "{name} is a new alternative", mirror="union-branch-removed")
TAG_CHANGED = define_rule("A2A072 discriminator-changed", "union both E E E", "alternatives are told apart by {new} instead of {old}", mirror=ITSELF)

RULES = (BRANCH_REMOVED, BRANCH_ADDED, TAG_CHANGED)

_MAX_TRIALS = 400

IsCovered = Callable[[Alternative, Alternative, Effect], bool]
"""Whether going from one alternative to another does not have an effect."""


@dataclass(frozen=True, slots=True)
class BranchMatch:
    """Alternatives that belong together, and those that have nobody."""

    pairs: tuple[tuple[Alternative, Alternative], ...]
    removed: tuple[Alternative, ...]
    added: tuple[Alternative, ...]


def match_branches(old: Sequence[Alternative], new: Sequence[Alternative], is_covered: IsCovered) -> BranchMatch:
    """Pair alternatives: by what they are, by their tag, by their name, and last by who can stand in for whom."""
    if len(old) == len(new) == 1:
        return BranchMatch(((old[0], new[0]),), (), ())
    left, right = dict.fromkeys(range(len(old))), dict.fromkeys(range(len(new)))
    together: list[tuple[Alternative, Alternative]] = []

    def join(one: int, other: int) -> None:
        together.append((old[one], new[other]))
        del left[one], right[other]

    for key in (_build_tag_key(old, new), _get_definition_name, _get_listed_key):
        by_key = {word: index for index in reversed(right) if (word := key(new[index]))}
        for index in list(left):
            other = by_key.pop(key(old[index]), None)
            if other is not None:
                join(index, other)
    if len(left) * len(right) <= _MAX_TRIALS:
        for index in list(left):
            other = next((each for each in right if is_covered(old[index], new[each], Effect.BOTH)), None)
            if other is not None:
                join(index, other)
    gone, added = [old[index] for index in left], [new[index] for index in right]
    if len(gone) == len(added) == 1 and not (gone[0].node.name and added[0].node.name):
        return BranchMatch((*together, (gone[0], added[0])), (), ())
    return BranchMatch(tuple(together), tuple(gone), tuple(added))


def compare_alternatives(
    pair: NodePair, found: BranchMatch, old: Sequence[Alternative], new: Sequence[Alternative], is_covered: IsCovered
) -> Iterator[SchemaChange]:
    """Tell of alternatives that came and went, unless another one takes the same values anyway."""
    before, after = find_tag(old), find_tag(new)
    if before and after and before != after and len(old) > 1 and len(new) > 1:
        yield _build_change(TAG_CHANGED, pair, {"old": before, "new": after})
    few = len(old) * len(new) <= _MAX_TRIALS
    for atom in found.removed:
        if not (few and any(is_covered(atom, other, Effect.NARROWS) for other in new)):
            yield _build_change(BRANCH_REMOVED, pair, {"name": _get_label(atom)}, atom)
    for atom in found.added:
        if not (few and any(is_covered(other, atom, Effect.WIDENS) for other in old)):
            levels = ChangeLevels.parse("I W I") if _is_extensible(pair) else None
            yield _build_change(BRANCH_ADDED, pair, {"name": _get_label(atom)}, atom, levels)


def find_tag(alternatives: Sequence[Alternative]) -> str:
    """Find the member by which alternatives are told apart."""
    tags = [find_tag_values(atom.node) for atom in alternatives]
    for name in tags[0] if tags else ():
        words = [word for each in tags for word in each.get(name, (None, None))]
        if None not in words and len(words) == len(set(words)):
            return name
    return ""


def _build_tag_key(old: Sequence[Alternative], new: Sequence[Alternative]) -> Callable[[Alternative], str]:
    name = find_tag(old)
    if not name or name != find_tag(new):
        return lambda _: ""
    return lambda atom: " ".join(find_tag_values(atom.node).get(name, ""))


def _get_definition_name(alternative: Alternative) -> str:
    return alternative.node.name


def _get_listed_key(alternative: Alternative) -> str:
    return "listed" if alternative.values is not None else ""


def _is_extensible(pair: NodePair) -> bool:
    return any(spot.members.get("x-extensible-union") is True for spot in pair.old.schemas)


def _get_label(alternative: Alternative) -> str:
    at = alternative.node.origin
    return (
        alternative.node.name
        or (at.name if at else "")
        or next(iter(" ".join(each) for each in find_tag_values(alternative.node).values()), "")
        or alternative.kind
    )


def _build_change(
    rule: ChangeRule, pair: NodePair, arguments: TextArguments, alternative: Alternative | None = None, levels: ChangeLevels | None = None
) -> SchemaChange:
    return SchemaChange(rule, pair.old_location, pair.new_location, tuple(sorted(arguments.items())), pair, Focus(alternative), levels)
