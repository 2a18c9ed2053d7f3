"""Conversion of documents to the contract.

Building never fails halfway: what a table or a schema omits becomes an empty value, and ``checks``
reports afterwards, all at once, what is inconsistent. ``assemble`` returns the contract with its
problems, for callers that apply more rules; ``build_contract`` raises them.

A tag is a property that every branch of a union requires with a constant of its own. Parsing by the
tag is faster than trying the branches, and a wrong value has one error at one place instead of one
per branch. Branches without a tag are distinguished by a member that only one of them requires.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from a2a_gen.ir import checks, names, tables
from a2a_gen.ir import tables as dialects
from a2a_gen.ir.model import (
    EXTENSIONS_FOLDER,
    Alias,
    Choice,
    ClassName,
    Constant,
    Contract,
    Enumeration,
    EnumValue,
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
    iter_types,
)
from a2a_gen.ir.node import SourceNode
from a2a_gen.problems import ContractError, Level, Place, Problem
from a2a_gen.source import references
from a2a_gen.source.documents import Document
from a2a_gen.source.references import resolve_reference

# --- tags of unions ---


def find_tags(family: Family, families: tuple[Family, ...]) -> Family:
    """Set the tag of every union of a family that has one."""
    own = (each for each in families if each.dialect == family.dialect)
    types: dict[str, TypeDefinition] = {each.name: each for each in iter_types(own)}
    return replace(family, types=tuple(_find_tag(definition, types) for definition in family.types))


def _find_tag(definition: TypeDefinition, types: Mapping[str, TypeDefinition]) -> TypeDefinition:
    if not isinstance(definition, Alias):
        return definition
    records = branches(definition.type, types)
    if records:
        return replace(definition, tag=find_tag(records))
    return definition


def branches(of: TypeExpr, types: Mapping[str, TypeDefinition]) -> tuple[Record, ...] | None:
    """Return the records of a union; empty when a branch is no record."""
    if not isinstance(of, OneOf):
        return None
    names = (option.name for option in of.options if isinstance(option, Ref))
    definitions = (types.get(name) for name in names)
    records = tuple(each for each in definitions if isinstance(each, Record))
    if len(records) == len(of.options):
        return records
    return None


def find_tag(records: tuple[Record, ...]) -> str | None:
    """Return the property that has a different constant in every record."""
    for field in records[0].fields:
        constants = [_constant(record, field.wire) for record in records]
        known = {constant.value for constant in constants if constant is not None}
        if len(known) == len(records):
            return field.wire
    return None


def are_distinguishable(records: tuple[Record, ...]) -> bool:
    """Check that each record requires a member that no other record has."""
    return all(any(_find_own_members(record, records)) for record in records)


def get_own_member(record: Record, records: tuple[Record, ...]) -> str:
    """Return the first member that a record requires and no other record has."""
    return next(_find_own_members(record, records))


def _find_own_members(record: Record, records: tuple[Record, ...]) -> Iterator[str]:
    fields = chain.from_iterable(other.fields for other in records if other is not record)
    others = {field.wire for field in fields}
    for field in record.fields:
        if field.required and field.wire not in others:
            yield field.wire


def _constant(record: Record, wire: str) -> Constant | None:
    field = record.field(wire)
    if field is not None and field.required and isinstance(field.type, Constant):
        return field.type
    return None


# --- from schema files to families of types ---

_BY_TYPE: Mapping[str, Primitive] = {
    "string": Primitive.STRING,
    "integer": Primitive.INTEGER,
    "number": Primitive.NUMBER,
    "boolean": Primitive.BOOLEAN,
    "null": Primitive.NULL,
    "object": Primitive.OBJECT,
}


def build_family(dialect: str, document: Document) -> Family:
    """Parse one file of types."""
    root = SourceNode(document, "", document.data)
    types = tuple(_build_type(name, schema) for name, schema in root["$defs"].members())
    return Family(
        dialect, names.module_name(document.path), document.path, root["description"].text(), types
    )


def set_tags(families: tuple[Family, ...]) -> tuple[Family, ...]:
    """Set the tags of all unions; their constants may lie in any family of a dialect."""
    return tuple(find_tags(family, families) for family in families)


def resolve_scalars(families: tuple[Family, ...]) -> tuple[Family, ...]:
    """Replace references to aliases of a scalar with the scalar; the alias's restrictions stay in
    the schema.
    """
    scalars: dict[tuple[str, ClassName], Primitive] = {}
    for family in families:
        for each in family.types:
            if isinstance(each, Alias) and isinstance(each.type, Primitive):
                scalars[family.dialect, each.name] = each.type
    resolved: list[Family] = []
    for family in families:
        types = (_resolve_scalar_fields(each, family.dialect, scalars) for each in family.types)
        resolved.append(replace(family, types=tuple(types)))
    return tuple(resolved)


def _resolve_scalar_fields(
    definition: TypeDefinition, dialect: str, scalars: Mapping[tuple[str, ClassName], Primitive]
) -> TypeDefinition:
    if not isinstance(definition, Record):
        return definition
    return replace(
        definition,
        fields=tuple(
            replace(field, type=_strip_reference(field.type, dialect, scalars))
            for field in definition.fields
        ),
    )


def _strip_reference(
    of: TypeExpr, dialect: str, scalars: Mapping[tuple[str, ClassName], Primitive]
) -> TypeExpr:
    match of:
        case Ref(name):
            return scalars.get((dialect, ClassName(name)), of)
        case ListOf(item):
            return ListOf(_strip_reference(item, dialect, scalars))
        case MapOf(value):
            return MapOf(_strip_reference(value, dialect, scalars))
        case _:
            return of


def _build_type(name: str, schema: SourceNode) -> TypeDefinition:
    description = schema["description"].text()
    class_name = names.class_name(name)
    if "enum" in schema:
        return Enumeration(
            class_name,
            description,
            tuple(_values(schema)),
            schema["x-extensible-enum"].flag(),
            schema.place,
        )
    if "properties" in schema:
        fields = tuple(
            _field(wire, member, schema) for wire, member in schema["properties"].members()
        )
        return Record(
            class_name,
            description,
            fields,
            _choice(schema),
            schema.place,
            schema["additionalProperties"].flag(),
        )
    return Alias(class_name, description, build_type_expression(schema), None, schema.place)


def _values(schema: SourceNode) -> Iterator[EnumValue]:
    python = schema["x-enum-varnames"].texts()
    numbers = schema["x-proto"]["values"]
    for index, wire in enumerate(schema["enum"].texts()):
        number = numbers[wire].data
        name = names.member_name(python[index] if index < len(python) else wire)
        yield EnumValue(wire, name, number if isinstance(number, int) else None)


def _field(wire: str, member: SourceNode, schema: SourceNode) -> Field:
    of = build_type_expression(member)
    read = schema["x-a2a-read"]
    proto = member["x-proto"].freeze()
    return Field(
        wire=wire,
        python=names.field_name(wire, of),
        type=of,
        required=wire in schema["required"].texts(),
        description=member["description"].text(),
        place=member.place,
        has_read_default=wire in read,
        read_default=read[wire].freeze(),
        aliases=member["x-a2a-aliases"].texts(),
        deprecated=member["deprecated"].flag(),
        proto=proto if isinstance(proto, Mapping) else None,
    )


def _choice(schema: SourceNode) -> Choice | None:
    branches = schema["oneOf"].items()
    members = tuple(chain.from_iterable(branch["required"].texts() for branch in branches))
    name = schema["x-a2a-oneof"].text()
    if members:
        return Choice(name, members, name in dict(schema["x-a2a-read"].members()))
    return None


def build_type_expression(schema: SourceNode) -> TypeExpr:
    """Parse a schema as the type of a value; a type that requires a name and has none becomes its
    JSON type.
    """
    if "$ref" in schema:
        return Ref(resolve_reference(schema.document, schema["$ref"].text()).type_name)
    if "const" in schema and isinstance(schema["const"].data, str | int):
        return Constant(schema["const"].data)
    for keyword in ("oneOf", "anyOf"):
        if keyword in schema:
            return OneOf(tuple(map(build_type_expression, schema[keyword].items())))
    if types := schema["type"].texts():
        return OneOf(tuple(_BY_TYPE.get(name, Primitive.ANY) for name in types))
    return _by_type(schema)


def _by_type(schema: SourceNode) -> TypeExpr:
    match schema["type"].text():
        case "array":
            return ListOf(build_type_expression(schema["items"]))
        case "object" if isinstance(schema["additionalProperties"].data, dict):
            return MapOf(build_type_expression(schema["additionalProperties"]))
        case "string" if schema["contentEncoding"].text() == "base64":
            return Primitive.BYTES
        case "string" if schema["format"].text() == "date-time":
            return Primitive.TIMESTAMP
        case name:
            return _BY_TYPE.get(name, Primitive.ANY)


_TABLES = ("dialects.json", "errors.json", "lifecycle.json", "operations.json")
_NOT_FAMILIES = frozenset({"meta"})


def build_contract(documents: Mapping[str, Document]) -> Contract:
    """Build the contract, or raise ``ContractError`` with every problem."""
    contract, problems = assemble(documents)
    if any(problem.level is Level.ERROR for problem in problems):
        raise ContractError(problems)
    return contract


def assemble(documents: Mapping[str, Document]) -> tuple[Contract, tuple[Problem, ...]]:
    """Build the contract as far as the documents allow, with all problems."""
    dialect_table, errors, lifecycle, operations = (_table(documents, name) for name in _TABLES)
    known = tuple(dialects.dialects(dialect_table))
    error_rows = tuple(tables.errors(errors, known))
    contract = Contract(
        canonical=dialect_table["canonical"].text(),
        families=set_tags(resolve_scalars(_families(documents))),
        dialects=known,
        parameters=tuple(dialects.parameters(dialect_table)),
        reserved_tenants=dialect_table["reserved_tenants"].texts(),
        operations=tuple(tables.operations(operations, known)),
        error_root=tables.error_root(error_rows),
        error_domain=errors["domain"].text(),
        shared_codes=tuple(
            each.data for each in errors["shared_codes"].items() if isinstance(each.data, int)
        ),
        errors=error_rows,
        lifecycle=tables.lifecycle(lifecycle, known),
        extensions=tuple(tables.extensions(_extension_files(documents))),
    )
    missing = [
        Problem(Place(name), "A2A-C01", "this table is missing", "write it; meta/ has its schema")
        for name in _TABLES
        if name not in documents
    ]
    return contract, tuple(
        sorted(
            {*missing, *references.find_unresolved_references(documents), *checks.check(contract)}
        )
    )


def _families(documents: Mapping[str, Document]) -> tuple[Family, ...]:
    return tuple(
        build_family(_folder(path), document) for path, document in family_files(documents).items()
    )


def family_files(documents: Mapping[str, Document]) -> Mapping[str, Document]:
    """Return the files of types: those in the folder of a dialect."""
    return {
        path: document
        for path, document in documents.items()
        if _folder(path) and _folder(path) not in _NOT_FAMILIES
    }


def _extension_files(documents: Mapping[str, Document]) -> Iterator[SourceNode]:
    for path, document in family_files(documents).items():
        if _folder(path) == EXTENSIONS_FOLDER:
            yield SourceNode(document, "", document.data)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _table(documents: Mapping[str, Document], name: str) -> SourceNode:
    document = documents.get(name, Document(name, "{}", {}))
    return SourceNode(document, "", document.data)
