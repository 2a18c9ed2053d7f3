"""From schema files to families of types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from a2a_gen.ir import names, tags
from a2a_gen.ir.model import (
    Alias,
    Choice,
    ClassName,
    Constant,
    Enumeration,
    EnumValue,
    Family,
    Field,
    ListOf,
    MapOf,
    NamedType,
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)
from a2a_gen.ir.node import Node
from a2a_gen.source.documents import Document
from a2a_gen.source.references import resolve

_BY_TYPE: Mapping[str, Primitive] = {
    "string": Primitive.STRING,
    "integer": Primitive.INTEGER,
    "number": Primitive.NUMBER,
    "boolean": Primitive.BOOLEAN,
    "null": Primitive.NULL,
    "object": Primitive.OBJECT,
}


def build_family(dialect: str, document: Document) -> Family:
    """Read one file of types."""
    root = Node(document, "", document.data)
    types = tuple(_named(name, schema) for name, schema in root["$defs"].members())
    return Family(dialect, names.module_name(document.path), document.path, root["description"].text(), types)


def with_tags(families: tuple[Family, ...]) -> tuple[Family, ...]:
    """Find the constants that tell the branches of unions apart, which may lie in any family of a dialect."""
    return tuple(tags.tagged(family, families) for family in families)


def with_scalars(families: tuple[Family, ...]) -> tuple[Family, ...]:
    """Let every member whose type is only another name of a scalar be of that scalar; what the name demands stays in the schema."""
    named = {(family.dialect, each.name): each.type for family in families for each in family.types if isinstance(each, Alias)}
    scalars = {name: of for name, of in named.items() if isinstance(of, Primitive)}
    return tuple(replace(family, types=tuple(_with_scalars(each, family.dialect, scalars) for each in family.types)) for family in families)


def _with_scalars(named: NamedType, dialect: str, scalars: Mapping[tuple[str, ClassName], Primitive]) -> NamedType:
    if not isinstance(named, Record):
        return named
    return replace(named, fields=tuple(replace(field, type=_bare(field.type, dialect, scalars)) for field in named.fields))


def _bare(of: TypeExpr, dialect: str, scalars: Mapping[tuple[str, ClassName], Primitive]) -> TypeExpr:
    match of:
        case Ref(name):
            return scalars.get((dialect, ClassName(name)), of)
        case ListOf(item):
            return ListOf(_bare(item, dialect, scalars))
        case MapOf(value):
            return MapOf(_bare(value, dialect, scalars))
        case _:
            return of


def _named(name: str, schema: Node) -> NamedType:
    description = schema["description"].text()
    class_name = names.class_name(name)
    if "enum" in schema:
        return Enumeration(class_name, description, tuple(_values(schema)), schema["x-extensible-enum"].flag(), schema.place)
    if "properties" in schema:
        fields = tuple(_field(wire, member, schema) for wire, member in schema["properties"].members())
        return Record(class_name, description, fields, _choice(schema), schema.place, schema["additionalProperties"].flag())
    return Alias(class_name, description, type_of(schema), None, schema.place)


def _values(schema: Node) -> Iterator[EnumValue]:
    python, numbers = schema["x-enum-varnames"].texts(), schema["x-proto"]["values"]
    for index, wire in enumerate(schema["enum"].texts()):
        number = numbers[wire].data
        name = names.member_name(python[index] if index < len(python) else wire)
        yield EnumValue(wire, name, number if isinstance(number, int) else None)


def _field(wire: str, member: Node, schema: Node) -> Field:
    of, read = type_of(member), schema["x-a2a-read"]
    proto = member["x-proto"].frozen()
    return Field(
        wire=wire,
        python=names.field_name(wire, of),
        type=of,
        required=wire in schema["required"].texts(),
        description=member["description"].text(),
        place=member.place,
        has_read_default=wire in read,
        read_default=read[wire].frozen(),
        aliases=member["x-a2a-aliases"].texts(),
        deprecated=member["deprecated"].flag(),
        proto=proto if isinstance(proto, Mapping) else None,
    )


def _choice(schema: Node) -> Choice | None:
    members = tuple(name for branch in schema["oneOf"].items() for name in branch["required"].texts())
    return Choice(schema["x-a2a-oneof"].text(), members) if members else None


def type_of(schema: Node) -> TypeExpr:
    """Read a schema as the type of a value; a type that has to have a name and has none counts as what it is in JSON."""
    if "$ref" in schema:
        return Ref(resolve(schema.document, schema["$ref"].text()).type)
    if "const" in schema and isinstance(schema["const"].data, str | int):
        return Constant(schema["const"].data)
    for keyword in ("oneOf", "anyOf"):
        if keyword in schema:
            return OneOf(tuple(map(type_of, schema[keyword].items())))
    if types := schema["type"].texts():
        return OneOf(tuple(_BY_TYPE.get(name, Primitive.ANY) for name in types))
    return _by_type(schema)


def _by_type(schema: Node) -> TypeExpr:
    match schema["type"].text():
        case "array":
            return ListOf(type_of(schema["items"]))
        case "object" if isinstance(schema["additionalProperties"].data, dict):
            return MapOf(type_of(schema["additionalProperties"]))
        case "string" if schema["contentEncoding"].text() == "base64":
            return Primitive.BYTES
        case "string" if schema["format"].text() == "date-time":
            return Primitive.TIMESTAMP
        case name:
            return _BY_TYPE.get(name, Primitive.ANY)
