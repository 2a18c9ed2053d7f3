"""Kinds of values that a schema may accept, by the keywords that decide it without a look at the
parts of a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.files import Schema, SchemaRef
from a2a_gen.agent.types.shapes import AgentType, ArrayType, EnumType, ScalarType, make_union
from a2a_gen.agent.types.views import ViewSource
from a2a_gen.source.json_text import Json

SCALAR_KINDS = ("string", "number", "boolean")
# Booleans before integers: in Python they are integers too.
_KINDS: Mapping[type, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_TYPES: Mapping[type, AgentType] = {
    bool: ScalarType.BOOLEAN,
    int: ScalarType.INTEGER,
    float: ScalarType.NUMBER,
    list: ArrayType(ScalarType.ANY),
    dict: ScalarType.OBJECT,
}


class KindFinder:
    """Finds whether schemas accept a value of a kind; of null, which is one value, that is
    certain.
    """

    def __init__(self, catalogue: SchemaCatalog) -> None:
        self._catalogue = catalogue
        self._known: dict[tuple[SchemaRef, str], bool] = {}

    def may_accept(self, source: ViewSource, kind: str) -> bool:
        """Check that a schema may accept values of a kind."""
        schema = source.schema
        if not isinstance(schema, dict):
            return schema is not False
        return all(self._list_verdicts(source, schema, kind))

    def _list_verdicts(self, source: ViewSource, schema: Schema, kind: str) -> Iterator[bool]:
        yield self._follow(source, schema, kind)
        document = self._catalogue.library.value(SchemaRef(source.place.file))
        if "$ref" in schema and schemas.is_old(schemas.text(document, "$schema")):
            return
        if "type" in schema:
            yield kind in schemas.value_kinds(schema)
        listed = [schema["const"]] if "const" in schema else schemas.items(schema, "enum")
        if "const" in schema or "enum" in schema:
            yield kind in {_name_kind(each) for each in listed}
        yield from (self.may_accept(each, kind) for each in _list_parts(source, schema, "allOf"))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield any(
                    self.may_accept(each, kind) for each in _list_parts(source, schema, keyword)
                )
        if kind == "null":
            yield from self._list_verdicts_of_null(source, schema)

    def _list_verdicts_of_null(self, source: ViewSource, schema: Schema) -> Iterator[bool]:
        if "not" in schema:
            yield not self.may_accept(source.part("/not", schema["not"]), "null")
        if "if" in schema:
            chosen = "then" if self.may_accept(source.part("/if", schema["if"]), "null") else "else"
            yield self.may_accept(source.part(f"/{chosen}", schema.get(chosen, True)), "null")

    def _follow(self, source: ViewSource, schema: Schema, kind: str) -> bool:
        text = schemas.reference(schema)
        target = self._catalogue.follow(source.place, text) if text is not None else None
        if target is None:
            return True
        if (target, kind) not in self._known:
            # A schema that leads back to itself restricts nothing.
            self._known[target, kind] = True
            found = ViewSource(self._catalogue.library.value(target), target)
            self._known[target, kind] = self.may_accept(found, kind)
        return self._known[target, kind]


def _list_parts(source: ViewSource, schema: Schema, keyword: str) -> list[ViewSource]:
    return [
        source.part(f"/{keyword}/{index}", each)
        for index, each in enumerate(schemas.items(schema, keyword))
    ]


def _name_kind(value: Json) -> str:
    return next((kind for each, kind in _KINDS.items() if isinstance(value, each)), "null")


def make_constants(values: Sequence[Json]) -> AgentType:
    """Make the type of some values."""
    return make_union([_make_constant(value) for value in values])


def _make_constant(value: Json) -> AgentType:
    if isinstance(value, str):
        return EnumType((value,))
    return next(
        (shape for kind, shape in _TYPES.items() if isinstance(value, kind)), ScalarType.NULL
    )
