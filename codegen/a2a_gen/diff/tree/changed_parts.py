"""Parts of two schemas that differ at the same place, and values that the two versions of a part
judge differently.

A document that shows a change deep in a schema needs a value there that shows it. Such values are
searched for each part alone, from the innermost part outwards, where the values of inner parts are
used for outer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from a2a_gen.diff.documents.random_values import RandomValues
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaTree
from a2a_gen.source.json_text import Json
from a2a_gen.source.references import iter_schemas

Trees: TypeAlias = tuple[SchemaTree, SchemaTree]
Part: TypeAlias = tuple[SchemaLocation, SchemaLocation]
"""Two versions of a schema."""
PartValues: TypeAlias = Mapping[int, Sequence[Json]]
"""Values by the identity of the data of a part, in either version; the trees keep their data."""

_MAX_SCHEMAS = 200
_MAX_PARTS = 16
_MAX_VALUES = 6
_MAX_STEPS = 500


def find_part_values(
    trees: Trees, whole: Sequence[Part], is_judged_differently: Callable[[Part, Json], bool]
) -> PartValues:
    """Find values for the parts below pairs of schemas."""
    found: dict[int, Sequence[Json]] = {}
    for part in list_changed_parts(trees, whole):
        source = RandomValues(
            zip(trees, ((each,) for each in part), strict=True), _MAX_STEPS, found
        )
        values = [
            *islice(
                (value for value in source.generate() if is_judged_differently(part, value)),
                _MAX_VALUES,
            )
        ]
        if values:
            found |= {id(version.data): values for version in part}
    return found


def list_changed_parts(trees: Trees, whole: Sequence[Part]) -> list[Part]:
    """List the parts below pairs of schemas, and in what they refer to at the same place, whose
    text differs; the innermost first.
    """
    listed = {each for each in _iter_parts(trees, whole) if each[1] not in whole}
    innermost_first = sorted(listed, key=lambda each: (-each[0], each[1][1].location))
    return [part for _, part in innermost_first][:_MAX_PARTS]


def _iter_parts(trees: Trees, whole: Sequence[Part]) -> Iterator[tuple[int, Part]]:
    """Iterate over the parts with their depths."""
    pending = [(0, part) for part in whole]
    seen = set(whole)
    while pending:
        depth, (old, new) = pending.pop()
        inner_of_new = _read_inner(new)
        for path, inner in _read_inner(old).items():
            if path not in inner_of_new:
                continue
            part = (inner, inner_of_new[path])
            below = depth + path.count("/")
            if part[0].data != part[1].data:
                yield below, part
            target = _resolve_both(trees, part)
            if target is not None and target not in seen and len(seen) < _MAX_SCHEMAS:
                seen.add(target)
                pending.append((below + 1, target))


def _read_inner(schema: SchemaLocation) -> dict[str, SchemaLocation]:
    """Read a schema and those within it, by their paths below it."""
    found = iter_schemas(schema.data, has_definitions=False)
    return {
        each.pointer: SchemaLocation(schema.file, schema.pointer + each.pointer, each.data)
        for each in found
    }


def _resolve_both(trees: Trees, part: Part) -> Part | None:
    ends: list[SchemaLocation] = []
    for tree, each in zip(trees, part, strict=True):
        reference = each.members.get("$ref")
        target = tree.resolve(each, reference) if isinstance(reference, str) else None
        if target is None:
            return None
        ends.append(target)
    return (ends[0], ends[1])
