"""The intermediate form: what a contract says, with every decision taken.

Everything between reading the schemas and writing the files works on these values: rules look at them, templates print them, ``a2a-gen ir`` shows
them. They hold no file handle, no path of this machine and no reference to a library, so the same contract gives the same value anywhere.

    Contract ─┬─ Family*    one file of types ── Record | Enumeration | Union
              ├─ Dialect*   ── Translation*      how its types become canonical ones
              ├─ Operation* ── Call*             its shape in one dialect
              ├─ ErrorRow*
              └─ State*

Names that end up in Python are types of their own, made in ``names.py`` only: a plain string cannot become an identifier by accident.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType, TypeAlias

from a2a_gen.problems import Place

ClassName = NewType("ClassName", str)
FieldName = NewType("FieldName", str)
ModuleName = NewType("ModuleName", str)

Json: TypeAlias = "None | bool | int | float | str | tuple[Json, ...] | Mapping[str, Json]"


# --- types -----------------------------------------------------------------------------------------------------------------------------------------


class Primitive(StrEnum):
    """The types that are not written in a contract."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    OBJECT = "object"  # any JSON object
    ANY = "any"  # any JSON value, null included


@dataclass(frozen=True, slots=True)
class Ref:
    """A use of a type of the same dialect."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array of one type."""

    item: TypeExpr


@dataclass(frozen=True, slots=True)
class MapOf:
    """A JSON object whose keys are free and whose values have one type."""

    value: TypeExpr


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value of any of several types, such as a JSON-RPC id."""

    options: tuple[TypeExpr, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """One fixed value, which tells types apart."""

    value: str | int


TypeExpr: TypeAlias = Primitive | Ref | ListOf | MapOf | OneOf | Constant


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a record, under its name on the wire and its name in Python."""

    wire: str
    python: FieldName
    type: TypeExpr
    required: bool
    description: str
    place: Place
    has_read_default: bool = False
    read_default: Json = None
    aliases: tuple[str, ...] = ()
    deprecated: bool = False
    proto: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A group of members of which exactly one is present."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object with named members."""

    name: ClassName
    description: str
    fields: tuple[Field, ...]
    choice: Choice | None
    place: Place

    def field(self, wire: str) -> Field | None:
        """Find a member by its name on the wire."""
        return next((field for field in self.fields if field.wire == wire), None)


@dataclass(frozen=True, slots=True)
class EnumValue:
    """One value of an enumeration: on the wire, in Python, and its number in the protocol buffer."""

    wire: str
    python: FieldName
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Enumeration:
    """A string that is one of some words; an open one keeps words it does not know."""

    name: ClassName
    description: str
    values: tuple[EnumValue, ...]
    is_open: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a union of types (told apart by ``tag`` where it is set), or for any other type expression."""

    name: ClassName
    description: str
    type: TypeExpr
    tag: str | None
    place: Place


NamedType: TypeAlias = Record | Enumeration | Alias


@dataclass(frozen=True, slots=True)
class Family:
    """One schema file, and the Python module that it becomes."""

    dialect: str
    module: ModuleName
    file: str
    description: str
    types: tuple[NamedType, ...]


# --- dialects --------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """How one or more members of a dialect's record correspond to members of the canonical one; see ``schema/README.md`` for the closed set of kinds."""

    kind: str
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    argument: Json = None


@dataclass(frozen=True, slots=True)
class Translation:
    """How one type of a dialect corresponds to a canonical type."""

    theirs: str
    ours: str
    rules: tuple[Rule, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a dialect cannot carry: a member of a type, in one direction, and why."""

    type: str
    member: str
    direction: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """A form in which agents speak the protocol."""

    name: str
    title: str
    description: str
    version: str | None
    facts: Mapping[str, Json]
    translations: tuple[Translation, ...]
    lossy: tuple[Loss, ...]


# --- tables ----------------------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HttpPath:
    """One HTTP verb and path template; ``verb`` is what follows a colon at the end of the last path segment."""

    method: str
    path: str
    verb: str | None


@dataclass(frozen=True, slots=True)
class Call:
    """The shape of an operation in one dialect; ``None`` for a request or result that has no body."""

    dialect: str
    method: str | None
    grpc: str | None
    request: str | None
    result: str | None
    http_request: str | None
    http_result: str | None
    http: tuple[HttpPath, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing an agent can be asked, named once for all dialects."""

    name: ClassName
    python: FieldName
    description: str
    request: ClassName
    response: ClassName | None
    streams: bool
    capability: FieldName | None
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One error: its place in the hierarchy, its public text, and its codes by dialect (columns of ``errors.json``)."""

    name: ClassName
    parent: ClassName
    description: str
    message: str
    columns: Mapping[str, Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class State:
    """One state of a task, its spellings, and the states that may follow it."""

    name: FieldName
    description: str
    kind: str
    accepts_messages: bool
    spellings: Mapping[str, str]
    reads: Mapping[str, tuple[str, ...]]
    next: tuple[FieldName, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """A whole contract: what every emitter and every rule gets."""

    canonical: str
    families: tuple[Family, ...]
    dialects: tuple[Dialect, ...]
    operations: tuple[Operation, ...]
    errors: tuple[ErrorRow, ...]
    states: tuple[State, ...]

    def type(self, dialect: str, name: str) -> NamedType | None:
        """Find a type by its name in a dialect."""
        for family in self.families:
            if family.dialect == dialect:
                for named in family.types:
                    if named.name == name:
                        return named
        return None
