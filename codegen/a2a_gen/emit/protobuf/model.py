"""Files of protocol buffers: one for each dialect with a gRPC service, from the numbers and types
of its schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from a2a_gen.ir.model import (
    Contract,
    ContractDialect,
    Enumeration,
    Field,
    Json,
    ListOf,
    MapOf,
    OperationRow,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)
from a2a_gen.problems import GeneratorError

EMPTY = "google.protobuf.Empty"


class Kind(IntEnum):
    """The type of a field, with its number in a descriptor."""

    INT64 = 3
    INT32 = 5
    BOOL = 8
    STRING = 9
    MESSAGE = 11
    BYTES = 12
    ENUM = 14


_SCALARS = {
    Primitive.STRING: Kind.STRING,
    Primitive.BYTES: Kind.BYTES,
    Primitive.BOOLEAN: Kind.BOOL,
}
_INTEGERS: Mapping[object, Kind] = {"int32": Kind.INT32, "int64": Kind.INT64}
_WELL_KNOWN = {
    Primitive.TIMESTAMP: "google.protobuf.Timestamp",
    Primitive.OBJECT: "google.protobuf.Struct",
    Primitive.ANY: "google.protobuf.Value",
}
DEPENDENCIES = (
    "google/protobuf/empty.proto",
    "google/protobuf/struct.proto",
    "google/protobuf/timestamp.proto",
)
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class FieldType:
    """A type of a field: a scalar, or a message or an enumeration by its full name."""

    kind: Kind
    name: str = ""


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field of a message.

    ``is_map`` makes it a map from strings; ``oneof`` names its group, and ``is_optional`` gives a
    scalar presence.
    """

    name: str
    wire: str
    number: int
    type: FieldType
    description: str
    is_repeated: bool = False
    is_map: bool = False
    is_optional: bool = False
    is_deprecated: bool = False
    oneof: str | None = None

    @property
    def entry(self) -> str:
        """The name of the nested message that holds an entry of a map."""
        return "".join(word.capitalize() for word in self.name.split("_")) + "Entry"


@dataclass(frozen=True, slots=True)
class ProtoMessage:
    """A message; its fields are in the order of their numbers."""

    name: str
    description: str
    fields: tuple[ProtoField, ...]
    oneof: str | None


@dataclass(frozen=True, slots=True)
class ProtoEnum:
    """An enumeration with the numbers of its words."""

    name: str
    description: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ProtoMethod:
    """A method of the service, by the full names of its types."""

    name: str
    description: str
    request: str
    response: str
    streams: bool


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """The protocol buffers of one dialect."""

    dialect: ContractDialect
    package: str
    service: str
    messages: tuple[ProtoMessage, ...]
    enums: tuple[ProtoEnum, ...]
    methods: tuple[ProtoMethod, ...]
    refused: Mapping[str, str]
    """Values that messages cannot carry, with the reasons."""

    @property
    def path(self) -> str:
        """The name of the file in descriptors and on the disk."""
        return f"{self.package}.proto"

    def full_name(self, name: str) -> str:
        """Return the full name of a type of this file."""
        if "." in name:
            return name
        return f"{self.package}.{name}"


def build_files(contract: Contract) -> tuple[ProtoFile, ...]:
    """Build the file of every dialect with a gRPC service."""
    facts = ((dialect, dialect.facts.get("protobuf")) for dialect in contract.dialects)
    return tuple(
        _build_file(contract, dialect, protobuf)
        for dialect, protobuf in facts
        if isinstance(protobuf, Mapping)
    )


def _build_file(
    contract: Contract, dialect: ContractDialect, protobuf: Mapping[str, Json]
) -> ProtoFile:
    package = str(protobuf["package"])
    types = tuple(contract.types(dialect.name))
    kinds = {str(each.name): Kind.MESSAGE for each in types}
    kinds |= {str(each.name): Kind.ENUM for each in types if isinstance(each, Enumeration)}
    builder = _FieldBuilder(package, kinds)
    refused: Mapping[str, Json] = {}
    if isinstance(given := protobuf.get("refused"), Mapping):
        refused = given
    return ProtoFile(
        dialect=dialect,
        package=package,
        service=str(protobuf["service"]),
        messages=tuple(builder.message(each) for each in types if isinstance(each, Record)),
        enums=tuple(_enum(each) for each in types if isinstance(each, Enumeration)),
        methods=tuple(_methods(contract.operations, dialect.name, package)),
        refused={value: str(reason) for value, reason in refused.items()},
    )


def _enum(enum: Enumeration) -> ProtoEnum:
    values = tuple((value.wire, value.number) for value in enum.values if value.number is not None)
    return ProtoEnum(enum.name, enum.description, values)


def _methods(
    operations: tuple[OperationRow, ...], dialect: str, package: str
) -> Iterator[ProtoMethod]:
    for operation in operations:
        call = operation.call(dialect)
        if call is not None and call.grpc is not None:
            yield ProtoMethod(
                call.grpc,
                operation.description,
                f"{package}.{call.request}" if call.request else EMPTY,
                f"{package}.{call.result}" if call.result else EMPTY,
                operation.streams,
            )


@dataclass(frozen=True, slots=True)
class _FieldBuilder:
    """Builds the messages of a package, whose types it knows by name."""

    package: str
    kinds: Mapping[str, Kind]

    def message(self, record: Record) -> ProtoMessage:
        """Build the message of a record."""
        members = () if record.choice is None else record.choice.members
        oneof = None if record.choice is None else record.choice.name
        fields = [self._field(each, None) for each in record.fields if each.wire not in members]
        fields += [self._field(each, oneof) for each in record.fields if each.wire in members]
        return ProtoMessage(
            record.name,
            record.description,
            tuple(sorted(fields, key=lambda field: field.number)),
            oneof,
        )

    def _field(self, field: Field, oneof: str | None) -> ProtoField:
        facts = field.proto or {}
        number = facts.get("number")
        name = facts.get("name")
        if not isinstance(number, int):
            raise GeneratorError(
                f"{field.place}: {field.wire} has no number of a protocol buffer; add x-proto"
            )
        inner = field.type
        if isinstance(inner, ListOf):
            inner = inner.item
        elif isinstance(inner, MapOf):
            inner = inner.value
        return ProtoField(
            name=name if isinstance(name, str) else _CAPITAL.sub("_", field.wire).lower(),
            wire=field.wire,
            number=number,
            type=self._type(inner, facts.get("type"), field),
            description=field.description,
            is_repeated=isinstance(field.type, ListOf),
            is_map=isinstance(field.type, MapOf),
            is_optional=facts.get("optional") is True,
            is_deprecated=field.deprecated,
            oneof=oneof,
        )

    def _type(self, of: TypeExpr, integer: Json, field: Field) -> FieldType:
        match of:
            case Ref(name) if name in self.kinds:
                return FieldType(self.kinds[name], f"{self.package}.{name}")
            case Primitive.INTEGER if integer in _INTEGERS:
                return FieldType(_INTEGERS[integer])
            case Primitive() if of in _SCALARS:
                return FieldType(_SCALARS[of])
            case Primitive() if of in _WELL_KNOWN:
                return FieldType(Kind.MESSAGE, _WELL_KNOWN[of])
            case _:
                raise GeneratorError(
                    f"{field.place}: {field.wire} has a type that no protocol buffer has; "
                    "use a named type or a scalar"
                )
