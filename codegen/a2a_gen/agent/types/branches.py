"""Types that need a name of their own, and the schemas that select the branch of a union.

Two options of a union may both accept a value that only one of their schemas accepts: types say
less than schemas. Where no tag tells them apart, the value's branch is the one whose schema accepts
it. ``schemas.json`` in the package holds these schemas, and the reader of the union asks them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from a2a_gen.agent.schemas.catalog import SchemaCatalog, bundle_all, bundle_together, pascal
from a2a_gen.agent.schemas.files import SchemaRef
from a2a_gen.agent.types.shapes import (
    AgentType,
    AliasType,
    ArrayType,
    Definition,
    DefinitionRef,
    EnumType,
    MapType,
    ObjectType,
    ProtocolRef,
    ScalarType,
    TupleType,
    TypeMember,
    UnionType,
    iter_parts,
    map_parts,
)
from a2a_gen.source.json_text import Json

Definitions = dict[str, tuple[str, Definition]]


def break_cycles(definitions: Definitions) -> None:
    """Replace types that consist of nothing but themselves with any value: such a schema restricts
    nothing.
    """
    types = {name: definition for name, (_, definition) in definitions.items()}
    for name, (file, definition) in definitions.items():
        if isinstance(definition, AliasType) and DefinitionRef(name) in iter_parts(
            definition.shape, types
        ):
            types[name] = AliasType(name, ScalarType.ANY, definition.description)
            definitions[name] = (file, types[name])


def name_parts(definitions: Definitions, catalogue: SchemaCatalog) -> None:
    """Name each ambiguous union, whose reader needs a name, and each tuple within a type, from
    which the generator of models makes a type.
    """
    types = {name: definition for name, (_, definition) in definitions.items()}
    names: dict[tuple[str, AgentType], DefinitionRef] = {}

    def convert(shape: AgentType, file: str, name: str, *, is_part: bool = True) -> AgentType:
        made = map_parts(shape, lambda part: convert(part, file, name))
        is_tuple = isinstance(made, TupleType) and (is_part or not made.is_fixed)
        if not is_tuple and not is_ambiguous(made, types):
            return made
        if (file, made) not in names:
            alias = catalogue.unique(f"{name}Tuple" if is_tuple else name, file)
            names[file, made] = DefinitionRef(alias)
            types[alias] = AliasType(alias, made)
            definitions[alias] = (file, types[alias])
        return names[file, made]

    for name, (file, definition) in list(definitions.items()):
        if isinstance(definition, ObjectType):
            members: list[TypeMember] = []
            for each in definition.members:
                is_part = isinstance(each.shape, UnionType)
                part_name = f"{name}{pascal(each.name)}"
                shape = convert(each.shape, file, part_name, is_part=is_part)
                members.append(replace(each, shape=shape))
            definitions[name] = (file, replace(definition, members=tuple(members)))
        else:
            convert_part = partial(convert, file=file, name=f"{name}Item")
            shape = map_parts(definition.shape, convert_part)
            definitions[name] = (file, replace(definition, shape=shape))


# --- ambiguous unions ---


def is_ambiguous(shape: AgentType, types: Mapping[str, Definition]) -> bool:
    """Check that several options of a union may accept one object, or one array, and no tag tells
    them apart, or that one accepts other kinds.
    """
    if not isinstance(shape, UnionType) or not shape.branches:
        return False
    if shape.is_open and not {ScalarType.INTEGER, ScalarType.NUMBER, ScalarType.BOOLEAN}.isdisjoint(
        iter_parts(shape, types)
    ):
        return True
    counts = Counter(chain.from_iterable(_kinds(option, types) for option in shape.options))
    return counts["array"] > 1 or (counts["object"] > 1 and not _is_tagged(shape, types))


def _kinds(shape: AgentType, types: Mapping[str, Definition]) -> list[str]:
    found = {_kind(each, types) for each in iter_parts(shape, types)}
    return sorted(kind for kind in found if kind)


def _kind(shape: AgentType, types: Mapping[str, Definition]) -> str | None:
    match shape:
        case MapType() | ProtocolRef() | ScalarType.OBJECT:
            return "object"
        case ArrayType() | TupleType():
            return "array"
        case DefinitionRef(name):
            if isinstance(types[name], ObjectType):
                return "object"
            return None
        case _:
            return None


def _is_tagged(shape: AgentType, types: Mapping[str, Definition]) -> bool:
    """Check that every object of a union has a required member with one value, and no value
    twice.
    """
    tags: list[dict[str, str]] = []
    for each in iter_parts(shape, types):
        definition = types[each.name] if isinstance(each, DefinitionRef) else None
        if isinstance(definition, ObjectType):
            tags.append(dict(_tags(definition)))
        elif _kind(each, types) == "object":
            return False
    for name in tags[0] if tags else ():
        values = {tag.get(name) for tag in tags} - {None}
        if len(values) == len(tags):
            return True
    return False


def _tags(definition: ObjectType) -> Iterator[tuple[str, str]]:
    for member in definition.members:
        if (
            member.is_required
            and isinstance(member.shape, EnumType)
            and len(member.shape.values) == 1
        ):
            yield member.name, member.shape.values[0]


def emit(
    definitions: Definitions,
    catalogue: SchemaCatalog,
    places: Mapping[str, Sequence[SchemaRef]] | None = None,
) -> bytes:
    """Serialize the schemas of the branches of every ambiguous union, and those at the places of
    types; empty without any.
    """
    types = {name: definition for name, (_, definition) in definitions.items()}
    unions = {
        name: definition.shape
        for name, definition in types.items()
        if isinstance(definition, AliasType)
        and isinstance(definition.shape, UnionType)
        and is_ambiguous(definition.shape, types)
    }
    documents: dict[str, Json] = {}
    listed: dict[str, Json] = {
        name: [*_list_branches(union, types, catalogue, documents)]
        for name, union in sorted(unions.items())
    }
    if places is None:
        if unions:
            return _serialize({"unions": listed, "schemas": documents})
        return b""
    checked: dict[str, Json] = {}
    for name, several in sorted(places.items()):
        addresses = ["".join(bundle_all(place, catalogue, documents)) for place in several]
        checked[name] = {"allOf": [{"$ref": each} for each in addresses]}
    return _serialize({"unions": listed, "types": checked, "schemas": documents})


def _serialize(document: Json) -> bytes:
    return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def _list_branches(
    union: UnionType,
    types: Mapping[str, Definition],
    catalogue: SchemaCatalog,
    documents: dict[str, Json],
) -> Iterator[Json]:
    options = [each for each in union.options if each is not ScalarType.NULL]
    for shape, places in union.branches:
        if shape in options and (kinds := _kinds(shape, types)):
            reference = bundle_together(places, catalogue, documents)
            parts = iter_parts(shape, types)
            members = set(chain.from_iterable(_member_names(each, types) for each in parts))
            yield {
                "option": options.index(shape),
                "kinds": [*kinds],
                "schema": reference,
                "members": [*sorted(members)],
            }


def _member_names(shape: AgentType, types: Mapping[str, Definition]) -> list[str]:
    definition = types[shape.name] if isinstance(shape, DefinitionRef) else None
    if isinstance(definition, ObjectType):
        return [each.name for each in definition.members]
    return []
