"""Which definition of one side is which of the other: by place, by name in another file, or by what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2a_gen.diff.change import Change, Pair
from a2a_gen.diff.compare import Comparison
from a2a_gen.diff.rules.annotations import DOC_CHANGED
from a2a_gen.diff.rules.definitions import ADDED, MOVED, REMOVED, RENAMED
from a2a_gen.diff.rules.rule import Level, Levels, Rule
from a2a_gen.diff.schema_node import At, Spot, Tree, node
from a2a_gen.source.references import schemas

_MOST_RENAMES = 40_000
_FOR_PEOPLE = ("title", "description", "examples", "$comment")


@dataclass(frozen=True, slots=True)
class Paired:
    """Definitions to compare, and what happened to the others."""

    seeds: tuple[Pair, ...]
    changes: tuple[Change, ...]


def pair(comparison: Comparison, *, docs: bool = False) -> Paired:
    """Pair the definitions of two trees."""
    old, new = (dict(tree.definitions) for tree in comparison.trees)
    together = [(old.pop(at), new.pop(at)) for at in list(new) if at in old]
    changes: list[Change] = []
    for before, after in _elsewhere(comparison, old, new):
        together.append((old.pop(before.at), new.pop(after.at)))
        is_renamed = before.name != after.name
        names = (before.name, after.name) if is_renamed else (before.file, after.file)
        changes.append(_change(RENAMED if is_renamed else MOVED, before.at, after.at, name=after.name, old=names[0], new=names[1]))
    changes += _alone(REMOVED, old, comparison.trees[0])
    changes += _alone(ADDED, new, comparison.trees[1])
    if docs:
        changes += [
            _change(DOC_CHANGED, before.at, after.at, name=after.name or after.file) for before, after in together if _said(before) != _said(after)
        ]
    return Paired(tuple(_seed(comparison, *spots) for spots in together), tuple(changes))


def _seed(comparison: Comparison, old: Spot, new: Spot) -> Pair:
    trees = comparison.trees
    return Pair(node(trees[0], [old], at=old), node(trees[1], [new], at=new), old.at, new.at)


def _elsewhere(comparison: Comparison, old: dict[At, Spot], new: dict[At, Spot]) -> Iterator[tuple[Spot, Spot]]:
    taken: set[At] = set()
    by_name: dict[str, list[Spot]] = {}
    for spot in new.values():
        by_name.setdefault(spot.name, []).append(spot)
    few = len(old) * len(new) <= _MOST_RENAMES
    for spot in list(old.values()):
        same_name = by_name.get(spot.name, []) if spot.name else []
        others = same_name if len(same_name) == 1 else [each for each in new.values() if few and comparison.sameness.holds(spot, each)]
        chosen = next((each for each in others if each.at not in taken and spot.name), None)
        if chosen is not None:
            taken.add(chosen.at)
            yield spot, chosen


def _alone(found: Rule, spots: dict[At, Spot], tree: Tree) -> Iterator[Change]:
    """Tell of definitions that have no counterpart; those that others are made of matter only to whoever imports them."""
    used = _used(tree) if spots else frozenset[At]()
    for at, spot in spots.items():
        places = (at, (at[0], at[1].rpartition("/")[0])) if found is REMOVED else (("", ""), at)
        levels = Levels(Level.NONE, Level.NONE, found.levels.source) if at in used else None
        levels = Levels.of("E E E") if found is REMOVED and not spot.name else levels
        yield _change(found, *places, levels=levels, name=spot.name or spot.file)


def _used(tree: Tree) -> frozenset[At]:
    found: set[At] = set()
    for document in tree.documents.values():
        for inner in schemas(document.data):
            reference = inner.members.get("$ref")
            target = tree.target(Spot(document.path, inner.pointer, inner.data), reference) if isinstance(reference, str) else None
            if target is not None:
                found.add(target.at)
    return frozenset(found)


def _said(spot: Spot) -> list[tuple[str, str]]:
    return [(inner.pointer, repr(inner.members[word])) for inner in schemas(spot.data) for word in _FOR_PEOPLE if word in inner.members]


def _change(found: Rule, old: At, new: At, /, *, levels: Levels | None = None, **words: str) -> Change:
    return Change(found, old, new, tuple(sorted(words.items())), adjusted=levels)
