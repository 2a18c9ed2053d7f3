"""Unions: which alternative of the old side is which of the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from a2a_gen.diff.change import Change, Focus, Pair, Words
from a2a_gen.diff.rules.rule import SAME, Effect, Levels, Rule, rule
from a2a_gen.diff.value_set import Atom, tag_values

BRANCH_REMOVED = rule("A2A070 union-branch-removed", "union narrows E I E", "{name} is no longer an alternative", mirror="union-branch-added")
BRANCH_ADDED = rule("A2A071 union-branch-added", "union widens I E I", "{name} is a new alternative", mirror="union-branch-removed")
TAG_CHANGED = rule("A2A072 discriminator-changed", "union both E E E", "alternatives are told apart by {new} instead of {old}", mirror=SAME)

RULES = (BRANCH_REMOVED, BRANCH_ADDED, TAG_CHANGED)

_MOST_TRIALS = 400

Covers = Callable[[Atom, Atom, Effect], bool]
"""Whether going from one alternative to another does not have an effect."""


@dataclass(frozen=True, slots=True)
class Match:
    """Alternatives that belong together, and those that have nobody."""

    together: tuple[tuple[Atom, Atom], ...]
    gone: tuple[Atom, ...]
    added: tuple[Atom, ...]


def match(old: Sequence[Atom], new: Sequence[Atom], covers: Covers) -> Match:
    """Pair alternatives: by what they are, by their tag, by their name, and last by who can stand in for whom."""
    if len(old) == len(new) == 1:
        return Match(((old[0], new[0]),), (), ())
    left, right = dict.fromkeys(range(len(old))), dict.fromkeys(range(len(new)))
    together: list[tuple[Atom, Atom]] = []

    def join(one: int, other: int) -> None:
        together.append((old[one], new[other]))
        del left[one], right[other]

    for key in (_tags(old, new), _definition, _listed):
        by_key = {word: index for index in reversed(right) if (word := key(new[index]))}
        for index in list(left):
            other = by_key.pop(key(old[index]), None)
            if other is not None:
                join(index, other)
    if len(left) * len(right) <= _MOST_TRIALS:
        for index in list(left):
            other = next((each for each in right if covers(old[index], new[each], Effect.BOTH)), None)
            if other is not None:
                join(index, other)
    gone, added = [old[index] for index in left], [new[index] for index in right]
    if len(gone) == len(added) == 1 and not (gone[0].node.name and added[0].node.name):
        return Match((*together, (gone[0], added[0])), (), ())
    return Match(tuple(together), tuple(gone), tuple(added))


def compare_alternatives(pair: Pair, found: Match, old: Sequence[Atom], new: Sequence[Atom], covers: Covers) -> Iterator[Change]:
    """Tell of alternatives that came and went, unless another one takes the same values anyway."""
    before, after = tag(old), tag(new)
    if before and after and before != after and len(old) > 1 and len(new) > 1:
        yield _change(TAG_CHANGED, pair, {"old": before, "new": after})
    few = len(old) * len(new) <= _MOST_TRIALS
    for atom in found.gone:
        if not (few and any(covers(atom, other, Effect.NARROWS) for other in new)):
            yield _change(BRANCH_REMOVED, pair, {"name": _name(atom)}, atom)
    for atom in found.added:
        if not (few and any(covers(other, atom, Effect.WIDENS) for other in old)):
            levels = Levels.of("I W I") if _is_open(pair) else None
            yield _change(BRANCH_ADDED, pair, {"name": _name(atom)}, atom, levels)


def tag(atoms: Sequence[Atom]) -> str:
    """Find the member by which alternatives are told apart."""
    tags = [tag_values(atom.node) for atom in atoms]
    for name in tags[0] if tags else ():
        words = [word for each in tags for word in each.get(name, (None, None))]
        if None not in words and len(words) == len(set(words)):
            return name
    return ""


def _tags(old: Sequence[Atom], new: Sequence[Atom]) -> Callable[[Atom], str]:
    name = tag(old)
    if not name or name != tag(new):
        return lambda _: ""
    return lambda atom: " ".join(tag_values(atom.node).get(name, ""))


def _definition(atom: Atom) -> str:
    return atom.node.name


def _listed(atom: Atom) -> str:
    return "listed" if atom.values is not None else ""


def _is_open(pair: Pair) -> bool:
    return any(spot.members.get("x-extensible-union") is True for spot in pair.old.spots)


def _name(atom: Atom) -> str:
    at = atom.node.at
    return atom.node.name or (at.name if at else "") or next(iter(" ".join(each) for each in tag_values(atom.node).values()), "") or atom.kind


def _change(found: Rule, pair: Pair, words: Words, atom: Atom | None = None, levels: Levels | None = None) -> Change:
    return Change(found, pair.old_at, pair.new_at, tuple(sorted(words.items())), pair, Focus(atom), levels)
