"""Values made of what schemas mention: names, constants and bounds, combined into small arrays and
objects without regard to the schema.

They find what the border of two nodes misses: conditions whose parts are far from each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, product

from a2a_gen.diff.tree import canonical
from a2a_gen.diff.tree.schema_node import SchemaLocation, SchemaTree
from a2a_gen.source.json_text import Json

_MAX_SCHEMAS = 200
_MAX_SCALARS = 24
_MAX_NAMES = 8
_FILLERS: tuple[Json, ...] = (1, "a", None, True, {}, [])
_NAME_TABLES = ("properties", "dependentRequired", "dependentSchemas", "dependencies")


def generate_pool(sides: Iterable[tuple[SchemaTree, Iterable[SchemaLocation]]]) -> Iterator[Json]:
    """Generate values from the schemas of both sides and from everything that they refer to."""
    names, scalars = collect_pool(sides)
    values = scalars[:_MAX_SCALARS]
    yield from values
    yield from _generate_arrays(values)
    yield from _generate_objects(
        names[:_MAX_NAMES], [value for value in values if not isinstance(value, dict | list)]
    )


def collect_pool(
    sides: Iterable[tuple[SchemaTree, Iterable[SchemaLocation]]],
) -> tuple[list[str], list[Json]]:
    """Collect the names and the scalars that the schemas of both sides mention."""
    scalars: dict[str, Json] = {}
    names: dict[str, None] = {}
    for tree, schemas in sides:
        for data in _iter_data(tree, schemas):
            names |= dict.fromkeys(_iter_names(data))
            scalars |= {canonical.to_key(value): value for value in _iter_scalars(data)}
    return [*names], [*scalars.values()]


def _generate_arrays(values: list[Json]) -> Iterator[Json]:
    yield []
    yield from ([value] for value in (*values, *_FILLERS))
    yield from ([*pair] for pair in product(values[:10], repeat=2))
    yield from ([value] * 3 for value in values[:10])


def _generate_objects(names: list[str], values: list[Json]) -> Iterator[Json]:
    fillers = [*_FILLERS[:2], *values[:6]]
    for size in range(4):
        for chosen in combinations([*names, "other"], size):
            yield from (_fill(chosen, filler) for filler in (*fillers, {}, [], None, True))
            if size == 2:  # noqa: PLR2004 - pairs of different values
                yield from (
                    dict(zip(chosen, pair, strict=True)) for pair in product(fillers[:5], repeat=2)
                )
    yield from (_fill(names, filler) for filler in fillers)


def _fill(names: Iterable[str], filler: Json) -> dict[str, Json]:
    return dict.fromkeys(names, filler)


def _iter_data(tree: SchemaTree, schemas: Iterable[SchemaLocation]) -> Iterator[dict[str, Json]]:
    pending = list(schemas)
    seen = set[SchemaLocation]()
    while pending and len(seen) < _MAX_SCHEMAS:
        schema = pending.pop(0)
        if schema in seen:
            continue
        seen.add(schema)
        inner: list[Json] = [schema.data]
        while inner:
            data = inner.pop(0)
            if isinstance(data, dict):
                yield data
                inner += data.values()
            elif isinstance(data, list):
                inner += data
        targets = (
            tree.resolve(part, reference) for part, reference in tree.iter_references(schema)
        )
        pending += [target for target in targets if target is not None]


def _iter_names(data: dict[str, Json]) -> Iterator[str]:
    for keyword in _NAME_TABLES:
        table = data.get(keyword)
        yield from table if isinstance(table, dict) else ()
    required = data.get("required")
    yield from (
        (each for each in required if isinstance(each, str)) if isinstance(required, list) else ()
    )


def _iter_scalars(data: dict[str, Json]) -> Iterator[Json]:
    listed = data.get("enum")
    yield from listed if isinstance(listed, list) else ()
    if "const" in data:
        yield data["const"]
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        bound = data.get(keyword)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            yield from (bound, bound + 1, bound - 1, bound + 0.5, bound * 2)
    for keyword in ("minLength", "maxLength"):
        size = data.get(keyword)
        if isinstance(size, int) and 0 <= size < 100:  # noqa: PLR2004 - short strings only
            yield from ("a" * size, "a" * (size + 1), "a" * max(0, size - 1))
