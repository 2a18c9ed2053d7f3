"""Pairing of definitions: by location, by name in another file, or by equal content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2a_gen.diff.change import NodePair, SchemaChange
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.rules.annotations import DOC_CHANGED
from a2a_gen.diff.rules.definitions import ADDED, MOVED, REMOVED, RENAMED
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeLevels, ChangeRule
from a2a_gen.diff.tree.schema_node import Location, SchemaLocation, SchemaTree, build_node
from a2a_gen.source.references import iter_schemas

_MAX_RENAME_CANDIDATES = 40_000
_DOC_KEYWORDS = ("title", "description", "examples", "$comment")


@dataclass(frozen=True, slots=True)
class DefinitionPairs:
    """Pairs of definitions to compare, and the changes of unpaired ones."""

    pairs: tuple[NodePair, ...]
    changes: tuple[SchemaChange, ...]


def pair_definitions(
    comparison: SchemaComparison, *, include_docs: bool = False
) -> DefinitionPairs:
    """Pair the definitions of two trees."""
    old, new = (dict(tree.definitions) for tree in comparison.trees)
    for file in sorted({path for path, pointer in old.keys() ^ new.keys() if not pointer}):
        _add_missing_root(comparison.trees, (old, new), file)
    together = [(old.pop(location), new.pop(location)) for location in list(new) if location in old]
    together += _pair_single_files(comparison.trees, (old, new))
    changes: list[SchemaChange] = []
    for before, after in _pair_moved(comparison, old, new):
        together.append((old.pop(before.location), new.pop(after.location)))
        is_renamed = before.name != after.name
        names = (before.name, after.name) if is_renamed else (before.file, after.file)
        changes.append(
            _build_change(
                RENAMED if is_renamed else MOVED,
                before.location,
                after.location,
                name=after.name,
                old=names[0],
                new=names[1],
            )
        )
    changes += _report_unpaired(REMOVED, old, comparison.trees[0])
    changes += _report_unpaired(ADDED, new, comparison.trees[1])
    if include_docs:
        changes += [
            _build_change(
                DOC_CHANGED, before.location, after.location, name=after.name or after.file
            )
            for before, after in together
            if _collect_docs(before) != _collect_docs(after)
        ]
    return DefinitionPairs(
        tuple(_build_pair(comparison, *schemas) for schemas in together), tuple(changes)
    )


def _pair_single_files(
    trees: tuple[SchemaTree, SchemaTree],
    definitions: tuple[dict[Location, SchemaLocation], dict[Location, SchemaLocation]],
) -> list[tuple[SchemaLocation, SchemaLocation]]:
    """Pair the roots of two single files, whatever their names are."""
    roots: list[Location] = []
    for tree in trees:
        files = [tree.entry] if tree.entry else list(tree.documents)
        if len(files) == 1:
            roots.append((files[0], ""))
    if len(roots) < len(trees) or not all(
        root in found for root, found in zip(roots, definitions, strict=True)
    ):
        return []
    return [(definitions[0].pop(roots[0]), definitions[1].pop(roots[1]))]


def _add_missing_root(
    trees: tuple[SchemaTree, SchemaTree],
    definitions: tuple[dict[Location, SchemaLocation], ...],
    file: str,
) -> None:
    """Add the root of a file that has only definitions, if the other side has a root schema there:
    it accepts every document.
    """
    for tree, found in zip(trees, definitions, strict=True):
        if file in tree.documents:
            found.setdefault((file, ""), tree.get_root(file))


def _build_pair(comparison: SchemaComparison, old: SchemaLocation, new: SchemaLocation) -> NodePair:
    trees = comparison.trees
    return NodePair(
        build_node(trees[0], [old], origin=old),
        build_node(trees[1], [new], origin=new),
        old.location,
        new.location,
    )


def _pair_moved(
    comparison: SchemaComparison,
    old: dict[Location, SchemaLocation],
    new: dict[Location, SchemaLocation],
) -> Iterator[tuple[SchemaLocation, SchemaLocation]]:
    matched: set[Location] = set()
    by_name: dict[str, list[SchemaLocation]] = {}
    for schema in new.values():
        by_name.setdefault(schema.name, []).append(schema)
    is_small = len(old) * len(new) <= _MAX_RENAME_CANDIDATES
    for schema in list(old.values()):
        same_name = by_name.get(schema.name, []) if schema.name else []
        if len(same_name) == 1:
            others = same_name
        else:
            others = [
                each
                for each in new.values()
                if is_small and comparison.equality.is_same(schema, each)
            ]
        chosen = next(
            (each for each in others if each.location not in matched and schema.name), None
        )
        if chosen is not None:
            matched.add(chosen.location)
            yield schema, chosen


def _report_unpaired(
    rule: ChangeRule, schemas: dict[Location, SchemaLocation], tree: SchemaTree
) -> Iterator[SchemaChange]:
    """Report unpaired definitions; those used by other definitions matter only to Python code that
    imports them.
    """
    referenced = _find_referenced(tree) if schemas else frozenset[Location]()
    for location, schema in schemas.items():
        if rule is REMOVED:
            places = (location, (location[0], location[1].rpartition("/")[0]))
        else:
            places = (("", ""), location)
        levels = None
        if location in referenced:
            levels = ChangeLevels(ChangeLevel.NONE, ChangeLevel.NONE, rule.levels.source)
        levels = ChangeLevels.parse("E E E") if rule is REMOVED and not schema.name else levels
        yield _build_change(rule, *places, levels=levels, name=schema.name or schema.file)


def _find_referenced(tree: SchemaTree) -> frozenset[Location]:
    found: set[Location] = set()
    for path in tree.documents:
        for schema, reference in tree.iter_references(tree.get_root(path)):
            target = tree.resolve(schema, reference)
            if target is not None:
                found.add(target.location)
    return frozenset(found)


def _collect_docs(schema: SchemaLocation) -> list[tuple[str, str]]:
    docs: list[tuple[str, str]] = []
    for inner in iter_schemas(schema.data):
        said = [inner.members[each] for each in _DOC_KEYWORDS if each in inner.members]
        docs += [(inner.pointer, repr(each)) for each in said]
    return docs


def _build_change(
    rule: ChangeRule,
    old: Location,
    new: Location,
    /,
    *,
    levels: ChangeLevels | None = None,
    **arguments: str,
) -> SchemaChange:
    return SchemaChange(rule, old, new, tuple(sorted(arguments.items())), level_override=levels)
