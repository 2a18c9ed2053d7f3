"""Types of a contract: records, enumerations and unions of a family, and the type expressions of
their members.

Python names have types of their own, made in ``names.py`` only: a plain string cannot become an
identifier by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import NewType, TypeAlias

from a2a_gen.problems import Place

ClassName = NewType("ClassName", str)
FieldName = NewType("FieldName", str)
ModuleName = NewType("ModuleName", str)

Json: TypeAlias = "bool | int | float | str | tuple[Json, ...] | Mapping[str, Json] | None"


class Primitive(StrEnum):
    """Types that a contract does not define."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"
    # Any JSON object.
    OBJECT = "object"
    # Any JSON value, null included.
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a type of the same dialect."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array of one type."""

    item: TypeExpr


@dataclass(frozen=True, slots=True)
class MapOf:
    """A JSON object with arbitrary keys and values of one type."""

    value: TypeExpr


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value of any of several types, such as a JSON-RPC id."""

    options: tuple[TypeExpr, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """One fixed value, which distinguishes types."""

    value: str | int


TypeExpr: TypeAlias = Primitive | Ref | ListOf | MapOf | OneOf | Constant


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a record, with its wire name and its Python name."""

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
    """A group of members of which exactly one is present; readers of an ``is_optional`` group
    accept its absence.
    """

    name: str
    members: tuple[str, ...]
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object with named members; with ``keeps_unknown`` it keeps members without a
    declaration, as metadata do.
    """

    name: ClassName
    description: str
    fields: tuple[Field, ...]
    choice: Choice | None
    place: Place
    keeps_unknown: bool = False

    def field(self, wire: str) -> Field | None:
        """Return a member by its wire name."""
        return next((field for field in self.fields if field.wire == wire), None)


@dataclass(frozen=True, slots=True)
class EnumValue:
    """One value of an enumeration: on the wire, in Python, and its number in the protocol
    buffer.
    """

    wire: str
    python: FieldName
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Enumeration:
    """A string that is one of some words; an open one keeps unknown words."""

    name: ClassName
    description: str
    values: tuple[EnumValue, ...]
    is_open: bool
    place: Place


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a union of types (distinguished by ``tag`` where it is set), or for any other type
    expression.
    """

    name: ClassName
    description: str
    type: TypeExpr
    tag: str | None
    place: Place


TypeDefinition: TypeAlias = Record | Enumeration | Alias


@dataclass(frozen=True, slots=True)
class Family:
    """One schema file, and the Python module generated from it."""

    dialect: str
    module: ModuleName
    file: str
    description: str
    types: tuple[TypeDefinition, ...]


def iter_types(families: Iterable[Family]) -> Iterator[TypeDefinition]:
    """Iterate over the types of several files, file by file."""
    return chain.from_iterable(family.types for family in families)
