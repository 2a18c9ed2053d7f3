"""The type of one schema alone, from its own keywords: scalars, arrays, maps, unions and
references.

Schemas that all apply, and those with members, are the work of ``builder``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog, pascal
from a2a_gen.agent.schemas.files import Schema, SchemaRef
from a2a_gen.agent.types.kinds import SCALAR_KINDS, KindFinder, make_constants
from a2a_gen.agent.types.shapes import (
    AgentType,
    ArrayType,
    DefinitionRef,
    MapType,
    ProtocolRef,
    ScalarType,
    TupleType,
    UnionType,
    make_union,
)
from a2a_gen.agent.types.views import ViewSource, views
from a2a_gen.source.json_text import Json, escape_key
from a2a_gen.source.references import PROTOCOL_PREFIX

_SCALARS: Mapping[str, ScalarType] = {
    "null": ScalarType.NULL,
    "boolean": ScalarType.BOOLEAN,
    "integer": ScalarType.INTEGER,
    "number": ScalarType.NUMBER,
}
_FORMATS: Mapping[str, ScalarType] = {
    "date-time": ScalarType.MOMENT,
    "date": ScalarType.DATE,
    "time": ScalarType.TIME,
    "duration": ScalarType.DURATION,
    "uuid": ScalarType.UUID,
    "byte": ScalarType.BASE64,
    "binary": ScalarType.BINARY,
}
_ENCODINGS: Mapping[str, ScalarType] = {
    "base64": ScalarType.BASE64,
    "base64url": ScalarType.BASE64,
    "base16": ScalarType.BASE16,
}
_KEYWORD_KINDS = {
    **dict.fromkeys(("properties", "additionalProperties", "patternProperties"), "object"),
    **dict.fromkeys(("items", "prefixItems"), "array"),
}
_MAX_OPTIONAL_ITEMS = 8

Places: TypeAlias = tuple[SchemaRef, ...]
BuildType: TypeAlias = Callable[[Sequence[ViewSource], str], AgentType]
"""Builds the type of a value that satisfies all schemas, under a name if it becomes a class."""
Warn: TypeAlias = Callable[[ViewSource, str, str, str], None]


class SingleSchemas:
    """Builds the types of schemas that apply alone; parts of them are built by ``build``."""

    def __init__(
        self, catalogue: SchemaCatalog, kinds: KindFinder, build: BuildType, warn: Warn
    ) -> None:
        self._catalogue = catalogue
        self._kinds = kinds
        self._build = build
        self._warn = warn

    # --- one schema alone ---

    def build(
        self, source: ViewSource, schema: Schema, name: str, *, is_own: bool
    ) -> AgentType | None:
        """Build a type from the schema's own keywords; ``None`` when the schema has to be combined
        with others.
        """
        text = schemas.reference(schema)
        rest = {key: value for key, value in schema.items() if key not in schemas.REFERENCES}
        if text is not None:
            if schemas.is_about_types(rest):
                return None
            return self._refer(source, text)
        if "const" in schema or "enum" in schema:
            return make_constants(
                [schema["const"]] if "const" in schema else schemas.items(schema, "enum")
            )
        branches: list[ViewSource] = []
        for keyword in ("oneOf", "anyOf"):
            for index, each in enumerate(schemas.items(schema, keyword)):
                branches.append(source.part(f"/{keyword}/{index}", each))
        if any(schemas.is_about_types(branch.schema) for branch in branches):
            return self._union(source, schema, branches, name)
        if "allOf" in schema and any(map(schemas.is_about_types, schemas.items(schema, "allOf"))):
            return None
        return self._build_by_type(source, schema, name, is_own=is_own)

    def _refer(self, source: ViewSource, text: str) -> AgentType:
        target = self._catalogue.follow(source.place, text)
        if target is None:
            return ScalarType.ANY
        if target.file.startswith(PROTOCOL_PREFIX):
            return ProtocolRef(
                f"a2a_contract.{target.file.removeprefix(PROTOCOL_PREFIX)}."
                f"{target.pointer.rpartition('/')[2]}"
            )
        return DefinitionRef(self._catalogue.names[target])

    def _union(
        self, source: ViewSource, schema: Schema, branches: Sequence[ViewSource], name: str
    ) -> AgentType | None:
        rest: Json = {key: value for key, value in schema.items() if key not in {"oneOf", "anyOf"}}
        others = views([ViewSource(rest, source.place)], self._catalogue)
        if any(view.schema.get("properties") for view in others) or (
            "oneOf" in schema and "anyOf" in schema
        ):
            return None
        common = schema.get("type")
        typed = [with_type(branch, common) for branch in branches]
        titles = [pascal(schemas.text(branch.schema, "title")) for branch in branches]
        shapes = [
            self._build([each], f"{name}{title or f'Option{index}'}")
            for index, (each, title) in enumerate(zip(typed, titles, strict=True), 1)
        ]
        return self.finish_union(make_union(shapes), _find_branches(shapes, typed))

    def _build_by_type(
        self, source: ViewSource, schema: Schema, name: str, *, is_own: bool
    ) -> AgentType | None:
        said = schema.get("type")
        if isinstance(said, list):
            names = [each for each in said if isinstance(each, str)]
            is_object = is_own and len([each for each in names if each != "null"]) == 1
            # The whole takes the name itself.
            inner = f"{name}Value" if is_object else name
            return make_union(
                [
                    self._build([ViewSource({**schema, "type": each}, source.place)], inner)
                    for each in names
                ]
            )
        if said is None and (inferred := _infer_kind(schema)):
            keyword, kind = inferred
            self._warn(
                source,
                "A2A-K07",
                f"{keyword} without a type: values other than {kind}s are valid too",
                tell_type(kind),
            )
            said = kind
        match said:
            case "object":
                return self._object(source, schema, name)
            case "array":
                return self._array(source, schema, name)
            case "string":
                encoding = _ENCODINGS.get(
                    schemas.text(schema, "contentEncoding").lower(), ScalarType.STRING
                )
                return _FORMATS.get(schemas.text(schema, "format"), encoding)
            case str(word):
                return _SCALARS.get(word, ScalarType.ANY)
            case _:
                return None

    def _object(self, source: ViewSource, schema: Schema, name: str) -> AgentType | None:
        found = views([source], self._catalogue)
        if any(view.schema.get("properties") for view in found):
            return None
        values = [
            source.part(f"/patternProperties/{escape_key(key)}", each)
            for key, each in schemas.members(schema, "patternProperties").items()
        ]
        others = schema.get("additionalProperties")
        if isinstance(others, dict) or (not values and others is None):
            values.append(source.part("/additionalProperties", others))
        elif others is not False:
            return ScalarType.OBJECT
        shape = make_union([self._build([each], f"{name}Value") for each in values])
        if shape is ScalarType.ANY:
            return ScalarType.OBJECT
        return MapType(shape)

    def _array(self, source: ViewSource, schema: Schema, name: str) -> AgentType:
        listed = schema.get("prefixItems", schema.get("items"))
        keyword = "prefixItems" if "prefixItems" in schema else "items"
        if not isinstance(listed, list):
            items = schema.get("items")
            if isinstance(items, dict):
                return ArrayType(self._build([source.part("/items", items)], f"{name}Item"))
            return ArrayType(ScalarType.ANY)
        shapes = [
            self._build([source.part(f"/{keyword}/{index}", each)], f"{name}Item{index + 1}")
            for index, each in enumerate(listed)
        ]
        rest = schema.get("items" if keyword == "prefixItems" else "additionalItems", True)
        least = _get_bound(schema, "minItems")
        most = _get_bound(schema, "maxItems")
        if rest is False or (most is not None and most <= len(listed)):
            shapes = shapes[:most]
            more = None
        else:
            more = self._build([source.part("/items", rest)], f"{name}Rest")
        optional = max(len(shapes) - (least or 0), 0)
        has_types = any(each is not ScalarType.ANY for each in (*shapes, more or ScalarType.ANY))
        if (
            shapes
            and has_types
            and optional <= _MAX_OPTIONAL_ITEMS
            and (more is not None or (least or 0) <= len(shapes))
        ):
            return TupleType(tuple(shapes), optional, more)
        return ArrayType(make_union(shapes if more is None else [*shapes, more]))

    # --- unions ---

    def finish_union(
        self, union: AgentType, branches: Iterable[tuple[AgentType, Places]]
    ) -> AgentType:
        """Add the schemas of its options to a union."""
        if not isinstance(union, UnionType):
            return union
        listed = tuple(branches)
        return replace(
            union,
            branches=listed,
            is_open=any(self._is_open(shape, places) for shape, places in listed),
        )

    def _is_open(self, shape: AgentType, places: Places) -> bool:
        """Check that a schema also accepts texts, numbers or booleans, of which its type is not."""
        sources = [ViewSource(self._catalogue.library.value(place), place) for place in places]
        is_of_parts = (
            isinstance(shape, DefinitionRef | MapType | ArrayType | TupleType)
            or shape is ScalarType.OBJECT
        )
        if not is_of_parts:
            return False
        for kind in SCALAR_KINDS:
            if all(self._kinds.may_accept(each, kind) for each in sources):
                return True
        return False


def get_type_of_kind(kind: str) -> AgentType:
    """Return the widest type of a kind of values."""
    match kind:
        case "string":
            return ScalarType.STRING
        case "array":
            return ArrayType(ScalarType.ANY)
        case _:
            return _SCALARS.get(kind, ScalarType.ANY)


def _find_branches(
    shapes: Sequence[AgentType], sources: Sequence[ViewSource]
) -> Iterator[tuple[AgentType, tuple[SchemaRef, ...]]]:
    for shape, source in zip(shapes, sources, strict=True):
        if isinstance(shape, UnionType):
            yield from shape.branches or ((each, (source.place,)) for each in shape.options)
        else:
            yield shape, (source.place,)


def _get_bound(schema: Schema, keyword: str) -> int | None:
    value = schema.get(keyword)
    return value if isinstance(value, int) else None


def with_type(branch: ViewSource, common: Json) -> ViewSource:
    """Add the type beside the union to a branch that has none."""
    schema = branch.schema
    if (
        not isinstance(schema, dict)
        or common is None
        or "type" in schema
        or schemas.reference(schema)
        or "enum" in schema
        or "const" in schema
    ):
        return branch
    return ViewSource({**schema, "type": common}, branch.place)


def _infer_kind(schema: Schema) -> tuple[str, str] | None:
    """Infer the type that the author of a schema without a type meant, from a keyword that says
    nothing of other types.
    """
    return next(
        ((keyword, kind) for keyword, kind in _KEYWORD_KINDS.items() if keyword in schema), None
    )


def tell_type(kind: str) -> str:
    """Tell how a schema says its type."""
    return f'add "type": "{kind}"'
