"""Python types of schemas and the names of members: pure values in which everything is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from a2a_gen.source.json_text import Json


class ScalarType(Enum):
    """A type without parts."""

    ANY = "any"
    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    MOMENT = "date-time"
    DATE = "date"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class EnumType:
    """A set of literal texts."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A reference to a type of this build."""

    name: str


@dataclass(frozen=True, slots=True)
class ProtocolRef:
    """A reference to a type of the protocol, by its Python path."""

    path: str


@dataclass(frozen=True, slots=True)
class ArrayType:
    """An array."""

    item: AgentType


@dataclass(frozen=True, slots=True)
class TupleType:
    """An array of fixed length."""

    items: tuple[AgentType, ...]


@dataclass(frozen=True, slots=True)
class MapType:
    """An object with arbitrary keys."""

    value: AgentType


@dataclass(frozen=True, slots=True)
class UnionType:
    """A union of types."""

    options: tuple[AgentType, ...]


AgentType: TypeAlias = ScalarType | EnumType | DefinitionRef | ProtocolRef | ArrayType | TupleType | MapType | UnionType


class ExtraMembers(Enum):
    """The treatment of members that a class does not declare."""

    KEPT = "SkillModel"
    REFUSED = "ClosedModel"


@dataclass(frozen=True, slots=True)
class TypeMember:
    """A member of an object."""

    name: str
    shape: AgentType
    is_required: bool
    description: str = ""
    default: Json = None


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A class."""

    name: str
    members: tuple[TypeMember, ...]
    extra: ExtraMembers
    description: str = ""


@dataclass(frozen=True, slots=True)
class AliasType:
    """A name for a type that is not a class."""

    name: str
    shape: AgentType
    description: str = ""


Definition: TypeAlias = ObjectType | AliasType


def make_union(options: Sequence[AgentType]) -> AgentType:
    """Unite types: any value absorbs the others, duplicates are dropped, null comes last."""
    flat = [inner for each in options for inner in (each.options if isinstance(each, UnionType) else (each,))]
    unique = list(dict.fromkeys(flat))
    if ScalarType.ANY in unique or not unique:
        return ScalarType.ANY
    words = [word for each in unique if isinstance(each, EnumType) for word in each.values]
    first = next((each for each in unique if isinstance(each, EnumType)), None)
    united = [EnumType(tuple(dict.fromkeys(words))) if each is first else each for each in unique if each is first or not isinstance(each, EnumType)]
    if ScalarType.STRING in united:
        united = [each for each in united if not isinstance(each, EnumType)]
    united.sort(key=lambda each: each is ScalarType.NULL)
    return united[0] if len(united) == 1 else UnionType(tuple(united))


def is_nullable(shape: AgentType, types: Mapping[str, Definition]) -> bool:
    """Check that null is a value of a type, also through the types that it names."""
    return not {ScalarType.NULL, ScalarType.ANY}.isdisjoint(iter_parts(shape, types))


def iter_parts(shape: AgentType, types: Mapping[str, Definition]) -> Iterator[AgentType]:
    """Yield every type that a value may have, through named types; each once, cycles included."""
    waiting, seen = [shape], set[AgentType]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        yield each
        match each:
            case DefinitionRef(name) if isinstance(target := types[name], AliasType):
                waiting.append(target.shape)
            case UnionType(options):
                waiting.extend(options)
            case _:
                pass
