"""Schemas split into views.

A schema and everything that it is combined with (``allOf``, references beside other keywords,
``if``, ``oneOf`` beside members of its own) is split into views: one per schema with members. A
view that applies only under a condition is not *sure*: its members are optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.files import Schema, SchemaRef
from a2a_gen.problems import ContractError, Problem
from a2a_gen.source.json_text import Json, escape_key


@dataclass(frozen=True, slots=True)
class ViewSource:
    """A schema and its place."""

    schema: Json
    place: SchemaRef

    def part(self, pointer: str, schema: Json) -> ViewSource:
        """Return a subschema of this one."""
        return ViewSource(schema, SchemaRef(self.place.file, self.place.pointer + pointer))


@dataclass(frozen=True, slots=True)
class ViewBranch:
    """One branch of a union: the union's place, the index of the branch, and the number of
    branches.
    """

    union: SchemaRef
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class View:
    """One of the combined schemas; it applies always, in one branch of a union, or under another
    condition.
    """

    schema: Schema
    place: SchemaRef
    is_sure: bool
    branch: ViewBranch | None = None


def views(sources: Sequence[ViewSource], catalogue: SchemaCatalog) -> list[View]:
    """Split schemas that all apply into views."""
    seen: set[SchemaRef] = set()
    steps = chain.from_iterable(_views(source, catalogue, seen, (True, None)) for source in sources)
    try:
        found = list(islice(steps, _MAX_VIEWS + 1))
    except RecursionError:
        raise explain_too_many(sources[0], catalogue) from None
    if len(found) > _MAX_VIEWS:
        raise explain_too_many(sources[0], catalogue)
    return found


def explain_too_many(source: ViewSource, catalogue: SchemaCatalog) -> ContractError:
    """Build the error of a schema that is combined with too many others."""
    cure = "use fewer allOf, anyOf and oneOf"
    return ContractError(
        [
            Problem(
                catalogue.library.place(source.place), "A2A-K08", "too many combined schemas", cure
            )
        ]
    )


def _views(
    source: ViewSource,
    catalogue: SchemaCatalog,
    seen: set[SchemaRef],
    when: tuple[bool, ViewBranch | None],
) -> Iterator[View]:
    schema = source.schema
    if not isinstance(schema, dict):
        return
    yield View(schema, source.place, *when)
    text = schemas.reference(schema)
    target = catalogue.follow(source.place, text) if text is not None else None
    if target is not None and target not in seen:
        seen.add(target)
        yield from _views(
            ViewSource(catalogue.library.value(target), target), catalogue, seen, when
        )
    for pointer, part in schemas.subschemas(schema):
        keyword, _, number = pointer[1:].partition("/")
        if keyword == "allOf":
            yield from _views(source.part(pointer, part), catalogue, seen, when)
        elif keyword in {
            "anyOf",
            "oneOf",
            "if",
            "then",
            "else",
            "dependentSchemas",
            "dependencies",
        }:
            is_union = when == _ALWAYS and keyword in {"anyOf", "oneOf"}
            union = SchemaRef(source.place.file, f"{source.place.pointer}/{keyword}")
            branch = None
            if is_union:
                branch = ViewBranch(union, int(number), len(schemas.items(schema, keyword)))
            # A schema that is visited here in one branch may also be the one that always applies.
            yield from _views(source.part(pointer, part), catalogue, set(seen), (False, branch))


_ALWAYS = (True, None)
# Nested alternatives double the number with each level.
_MAX_VIEWS = 5_000


# --- schemas that all apply ---


def assertions(source: ViewSource) -> Iterator[ViewSource]:
    """Yield the schemas that restrict the type of a value: an ``allOf`` alone is its parts."""
    schema = source.schema
    if not isinstance(schema, dict) or not schemas.is_about_types(schema):
        return
    rest: Schema = {key: value for key, value in schema.items() if key != "allOf"}
    if (
        len(rest) == len(schema)
        or not rest.keys().isdisjoint({"required", "unevaluatedProperties"})
        or schemas.is_about_types(dict(rest))
    ):
        yield source
        return
    for index, part in enumerate(schemas.items(schema, "allOf")):
        yield from assertions(source.part(f"/allOf/{index}", part))


def conjuncts(source: ViewSource) -> list[ViewSource]:
    """Split a schema into schemas that all apply, each smaller than the whole."""
    schema = source.schema if isinstance(source.schema, dict) else {}
    text = schemas.reference(schema)
    rest: dict[str, Json] = {
        key: value for key, value in schema.items() if key not in {*schemas.REFERENCES, "allOf"}
    }
    alone: list[dict[str, Json]] = [{"$ref": text}] if text is not None else []
    if "oneOf" in rest and "anyOf" in rest:
        alone.append({key: value for key, value in rest.items() if key != "anyOf"})
        alone.append({key: value for key, value in rest.items() if key != "oneOf"})
    else:
        alone.append(rest)
    parts = [ViewSource(each, source.place) for each in alone]
    for index, each in enumerate(schemas.items(schema, "allOf")):
        parts.append(source.part(f"/allOf/{index}", each))
    smaller = [each for each in parts if each.schema != schema]
    return smaller or [ViewSource({}, source.place)]


def sure_kinds(found: Sequence[View]) -> list[str] | None:
    """List the kinds of values that satisfy the ``type`` of every schema that always applies;
    ``None`` without any.
    """
    listed = [
        schemas.kinds(view.schema) for view in found if view.is_sure and "type" in view.schema
    ]
    if listed:
        return sorted(set[str].intersection(*listed))
    return None


# --- members ---


def get_member_source(view: View, wire: str) -> ViewSource:
    """Return the schema of a member that a view describes."""
    return ViewSource({}, view.place).part(
        f"/properties/{escape_key(wire)}", schemas.members(view.schema, "properties")[wire]
    )


def is_closed(found: Sequence[View]) -> bool:
    """Check that a schema declares every member that may be present."""
    return not is_opened(found) and any(
        view.is_sure and view.schema.get("unevaluatedProperties") is False for view in found
    )


def is_in_every_branch(saying: Sequence[View]) -> bool:
    """Check that every branch of one union declares a member; a silent branch allows any value."""
    branches = {view.branch for view in saying if view.branch}
    return (
        len({branch.union for branch in branches}) == 1
        and len(branches) == next(iter(branches)).count
    )


def is_opened(found: Sequence[View]) -> bool:
    """Check that a schema, wherever it applies, accepts members by other means than their names."""
    for view in found:
        if schemas.members(view.schema, "patternProperties"):
            return True
        for keyword in ("additionalProperties", "unevaluatedProperties"):
            if view.schema.get(keyword) not in (None, False):
                return True
    return False
