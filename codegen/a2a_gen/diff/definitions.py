"""Which definition of one side is which of the other: by place, by name in another file, or by what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2a_gen.diff.change import NodePair, SchemaChange
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.rules.annotations import DOC_CHANGED
from a2a_gen.diff.rules.definitions import ADDED, MOVED, REMOVED, RENAMED
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeLevels, ChangeRule
from a2a_gen.diff.schema_node import Location, SchemaLocation, SchemaTree, build_node
from a2a_gen.source.references import iter_schemas

_MAX_RENAME_CANDIDATES = 40_000
_DOC_KEYWORDS = ("title", "description", "examples", "$comment")


@dataclass(frozen=True, slots=True)
class DefinitionPairs:
    """Definitions to compare, and what happened to the others."""

    pairs: tuple[NodePair, ...]
    changes: tuple[SchemaChange, ...]


def pair_definitions(comparison: SchemaComparison, *, include_docs: bool = False) -> DefinitionPairs:
    """Pair the definitions of two trees."""
    old, new = (dict(tree.definitions) for tree in comparison.trees)
    together = [(old.pop(at), new.pop(at)) for at in list(new) if at in old]
    changes: list[SchemaChange] = []
    for before, after in _pair_moved(comparison, old, new):
        together.append((old.pop(before.location), new.pop(after.location)))
        is_renamed = before.name != after.name
        names = (before.name, after.name) if is_renamed else (before.file, after.file)
        changes.append(_build_change(RENAMED if is_renamed else MOVED, before.location, after.location, name=after.name, old=names[0], new=names[1]))
    changes += _report_unpaired(REMOVED, old, comparison.trees[0])
    changes += _report_unpaired(ADDED, new, comparison.trees[1])
    if include_docs:
        changes += [
            _build_change(DOC_CHANGED, before.location, after.location, name=after.name or after.file)
            for before, after in together
            if _collect_docs(before) != _collect_docs(after)
        ]
    return DefinitionPairs(tuple(_build_pair(comparison, *spots) for spots in together), tuple(changes))


def _build_pair(comparison: SchemaComparison, old: SchemaLocation, new: SchemaLocation) -> NodePair:
    trees = comparison.trees
    return NodePair(build_node(trees[0], [old], origin=old), build_node(trees[1], [new], origin=new), old.location, new.location)


def _pair_moved(
    comparison: SchemaComparison, old: dict[Location, SchemaLocation], new: dict[Location, SchemaLocation]
) -> Iterator[tuple[SchemaLocation, SchemaLocation]]:
    taken: set[Location] = set()
    by_name: dict[str, list[SchemaLocation]] = {}
    for spot in new.values():
        by_name.setdefault(spot.name, []).append(spot)
    few = len(old) * len(new) <= _MAX_RENAME_CANDIDATES
    for spot in list(old.values()):
        same_name = by_name.get(spot.name, []) if spot.name else []
        others = same_name if len(same_name) == 1 else [each for each in new.values() if few and comparison.equality.is_same(spot, each)]
        chosen = next((each for each in others if each.location not in taken and spot.name), None)
        if chosen is not None:
            taken.add(chosen.location)
            yield spot, chosen


def _report_unpaired(rule: ChangeRule, schemas: dict[Location, SchemaLocation], tree: SchemaTree) -> Iterator[SchemaChange]:
    """Tell of definitions that have no counterpart; those that others are made of matter only to whoever imports them."""
    used = _find_referenced(tree) if schemas else frozenset[Location]()
    for at, spot in schemas.items():
        places = (at, (at[0], at[1].rpartition("/")[0])) if rule is REMOVED else (("", ""), at)
        levels = ChangeLevels(ChangeLevel.NONE, ChangeLevel.NONE, rule.levels.source) if at in used else None
        levels = ChangeLevels.parse("E E E") if rule is REMOVED and not spot.name else levels
        yield _build_change(rule, *places, levels=levels, name=spot.name or spot.file)


def _find_referenced(tree: SchemaTree) -> frozenset[Location]:
    found: set[Location] = set()
    for document in tree.documents.values():
        for inner in iter_schemas(document.data):
            reference = inner.members.get("$ref")
            target = tree.resolve(SchemaLocation(document.path, inner.pointer, inner.data), reference) if isinstance(reference, str) else None
            if target is not None:
                found.add(target.location)
    return frozenset(found)


def _collect_docs(schema: SchemaLocation) -> list[tuple[str, str]]:
    return [(inner.pointer, repr(inner.members[word])) for inner in iter_schemas(schema.data) for word in _DOC_KEYWORDS if word in inner.members]


def _build_change(rule: ChangeRule, old: Location, new: Location, /, *, levels: ChangeLevels | None = None, **arguments: str) -> SchemaChange:
    return SchemaChange(rule, old, new, tuple(sorted(arguments.items())), level_override=levels)
