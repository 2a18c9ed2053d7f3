"""Normalization of schemas for datamodel-code-generator.

Constructs that the generator would misread silently are replaced: presence unions, numbers, bytes,
timestamps and free JSON become types of the base; the value of an absent member becomes its
default; annotations that would leak into the models are dropped. ``x-a2a-…`` annotations carry what
only the templates in ``dmcg/`` need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from a2a_gen.emit.render import escape_unprintable
from a2a_gen.ir import build
from a2a_gen.ir.model import Contract
from a2a_gen.ir.types import (
    Alias,
    Enumeration,
    Family,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeDefinition,
    TypeExpr,
)
from a2a_gen.source.json_text import Json

Schema: TypeAlias = dict[str, Json]

BASE: Final = "a2a_contract.base"

_CUSTOM: Final[Mapping[TypeExpr, str]] = {
    Primitive.INTEGER: f"{BASE}.Integer",
    Primitive.NUMBER: f"{BASE}.Number",
    Primitive.BYTES: f"{BASE}.Base64",
    Primitive.TIMESTAMP: f"{BASE}.Timestamp",
    Primitive.OBJECT: f"{BASE}.JsonObject",
    Primitive.ANY: f"{BASE}.JsonAny",
    Primitive.NULL: f"{BASE}.JsonNull",
}
_NUMBERS: Final = (Primitive.INTEGER, Primitive.NUMBER)

# Keywords that are kept beside the type; descriptions are handled separately, all others would leak
# into the models.
_CONSTRAINTS: Final = frozenset(
    {
        "$ref",
        "const",
        "type",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maximum",
        "minimum",
        "multipleOf",
        "maxItems",
        "maxLength",
        "minItems",
        "minLength",
        "pattern",
    }
)


def normalize(family: Family, schema: Json, contract: Contract) -> Schema:
    """Normalize one file of types."""
    definitions = _object(_object(schema)["$defs"])
    return {
        "$defs": {
            definition.name: _build_definition(
                definition, _object(definitions[definition.name]), family, contract
            )
            for definition in family.types
        }
    }


def imports(family: Family, contract: Contract) -> str:
    """Return the imports that only the templates use, which datamodel-code-generator therefore does
    not write.
    """
    types = _types(family, contract)
    names: set[str] = set()
    for definition in family.types:
        readers = (_union_annotation(of, types) for of in _member_types(definition))
        names |= {reader.partition("(")[0] for reader in readers if reader}
        if isinstance(definition, Enumeration):
            names.add(_enum_base(definition))
    base = f"from ..base import {', '.join(sorted(names))}\n" if names else ""
    return (
        "from types import MappingProxyType\nfrom typing import Annotated\n\nfrom pydantic "
        f"import Field\n\n{base}"
    )


def _build_definition(
    definition: TypeDefinition, schema: Schema, family: Family, contract: Contract
) -> Schema:
    types = _types(family, contract)
    match definition:
        case Record():
            body = _record(definition, schema, types)
        case Enumeration():
            body = _enumeration(definition, family, contract)
        case Alias():
            body = _with_type(definition.type, schema, types) | {
                "x-a2a-reader": _union_annotation(definition.type, types)
            }
    return body | {"description": _text(definition.description)}


def _types(family: Family, contract: Contract) -> Mapping[str, TypeDefinition]:
    return {definition.name: definition for definition in contract.types(family.dialect)}


def _member_types(definition: TypeDefinition) -> tuple[TypeExpr, ...]:
    match definition:
        case Record():
            return tuple(field.type for field in definition.fields)
        case Alias():
            return (definition.type,)
        case Enumeration():
            return ()


# --- records ---


def _record(record: Record, schema: Schema, types: Mapping[str, TypeDefinition]) -> Schema:
    properties = _object(schema["properties"])
    read = _object(schema.get("x-a2a-read"))
    body: Schema = {
        "type": "object",
        "properties": {
            field.wire: _member(field, _object(properties[field.wire]), record, types)
            | _default(field, read)
            for field in record.fields
        },
        "required": [field.wire for field in record.fields if field.required],
    }
    readers = ((field.wire, _union_annotation(field.type, types)) for field in record.fields)
    body["x-a2a-readers"] = {wire: reader for wire, reader in readers if reader}
    body["x-a2a-empty"] = [
        field.wire
        for field in record.fields
        if isinstance(field.type, Ref) and read.get(field.wire) == {}
    ]
    if record.choice:
        body |= {
            "customBasePath": f"{BASE}.Oneof",
            "x-a2a-oneof": [
                field.python for field in record.fields if field.wire in record.choice.members
            ],
        }
        body["x-a2a-optional"] = record.choice.is_optional
    elif record.keeps_unknown:
        body["customBasePath"] = f"{BASE}.OpenModel"
    return body


def _member(
    field: Field, schema: Schema, record: Record, types: Mapping[str, TypeDefinition]
) -> Schema:
    body = _with_type(field.type, schema, types)
    if field.type is Primitive.ANY:
        # Not `| None`: Pydantic would then accept null as an absent member.
        is_choice = record.choice is not None and field.wire in record.choice.members
        body = {
            "customTypePath": f"{BASE}.JsonChoice" if is_choice else f"{BASE}.JsonAny",
            "nullable": False,
        }
    described: Schema = {
        "description": _text(
            f"{field.description} Deprecated.".strip() if field.deprecated else field.description
        )
    }
    return body | described


def _default(field: Field, read: Schema) -> Schema:
    """Return the default of a member; the template writes an empty record, because no default in a
    schema can express it.
    """
    value = read.get(field.wire)
    if not field.has_read_default or (isinstance(field.type, Ref) and value == {}):
        return {}
    if value in ([], {}):
        return {"default_factory": type(value).__name__}
    return {"default": value}


# --- enumerations ---


def _enumeration(definition: Enumeration, family: Family, contract: Contract) -> Schema:
    words = [value.wire for value in definition.values]
    reads: dict[str | int, str] = {
        value.number: value.wire for value in definition.values if value.number is not None
    }
    if definition.name == contract.lifecycle.type:
        for state in contract.states:
            written = state.spellings.get(family.dialect, "")
            reads |= {
                word: written for word in state.reads.get(family.dialect, ()) if word not in words
            }
    return {
        "type": "string",
        "enum": list(words),
        "x-enum-varnames": [value.python for value in definition.values],
        "x-a2a-base": _enum_base(definition),
        "x-a2a-reads": [[read, word] for read, word in reads.items()],
    }


def _enum_base(definition: Enumeration) -> str:
    if definition.is_open:
        return "OpenEnum"
    return "WireEnum"


# --- types ---


def _with_type(of: TypeExpr, schema: Schema, types: Mapping[str, TypeDefinition]) -> Schema:
    """Return the schema of a type with the constraints of the member's schema."""
    kept: Schema = {keyword: value for keyword, value in schema.items() if keyword in _CONSTRAINTS}
    match of:
        case Primitive() if of in _CUSTOM:
            kept.pop("type", None)
            kept["customTypePath"] = _CUSTOM[of]
            return kept
        case ListOf(item):
            kept["items"] = _with_type(item, _object(schema["items"]), types)
            return kept
        case MapOf(value):
            kept["additionalProperties"] = _with_type(
                value, _object(schema["additionalProperties"]), types
            )
            return kept
        case OneOf():
            return _union(of, schema, types)
        case _:
            return kept


def _union(of: OneOf, schema: Schema, types: Mapping[str, TypeDefinition]) -> Schema:
    branches = _list(
        schema.get(
            "oneOf", schema.get("anyOf", [{"type": name} for name in _list(schema.get("type"))])
        )
    )
    options: list[Json] = []
    for option, branch in zip(of.options, map(_object, branches), strict=True):
        # Beside a text type, a quoted number stays text: only a member without a text type is
        # also parsed from text.
        options.append(branch if option in _NUMBERS else _with_type(option, branch, types))
    body: Schema = {"anyOf": options}
    records = build.branches(of, types)
    tag = build.find_tag(records) if records else None
    if tag:
        body["discriminator"] = {"propertyName": tag}
    return body


def _union_annotation(of: TypeExpr, types: Mapping[str, TypeDefinition]) -> str:
    """Return the annotation that parses a union without a tag, so that a wrong value has one error
    instead of one per branch.
    """
    if not isinstance(of, OneOf):
        return ""
    records = build.branches(of, types)
    if not records:
        return f"AnyOf({' or '.join(map(_kind, of.options))!r})"
    if build.find_tag(records) or not build.are_distinguishable(records):
        return ""
    names: dict[str, str] = {}
    nullable: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    for record in records:
        wire = build.get_own_member(record, records)
        names[wire] = str(record.name)
        field = record.field(wire)
        if field is not None:
            nullable += (wire,) if _is_nullable(field.type) else ()
            aliases += tuple((alias, wire) for alias in field.aliases)
    arguments = repr(names)
    if nullable:
        arguments += f", {nullable!r}"
    if aliases:
        arguments += f", aliases={aliases!r}"
    return f"UnionByMember({arguments})"


def _is_nullable(of: TypeExpr) -> bool:
    return of in (Primitive.ANY, Primitive.NULL) or (
        isinstance(of, OneOf) and any(map(_is_nullable, of.options))
    )


def _kind(of: TypeExpr) -> str:
    match of:
        case Primitive():
            return of.value
        case Ref(name):
            return name
        case ListOf():
            return "array"
        case _:
            return "object"


def _text(description: str) -> str:
    # Docstrings escape quotes and backslashes when they are written; here, only unprintable
    # characters.
    return escape_unprintable(description, keep="\n")


# --- narrowing ---


def _object(value: Json | None) -> Schema:
    if isinstance(value, dict):
        return value
    return {}


def _list(value: Json | None) -> list[Json]:
    if isinstance(value, list):
        return value
    return []
