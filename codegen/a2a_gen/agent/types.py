"""What of a schema Python can say: the types of values and the names of members. Pure values, in which everything is decided."""

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
    """One of some texts."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DefinitionRef:
    """A type that is made by this build, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class ProtocolRef:
    """A type of the protocol, by its path in Python."""

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
    """An object whose members have any names."""

    value: AgentType


@dataclass(frozen=True, slots=True)
class UnionType:
    """One of several."""

    options: tuple[AgentType, ...]


AgentType: TypeAlias = ScalarType | EnumType | DefinitionRef | ProtocolRef | ArrayType | TupleType | MapType | UnionType


class ExtraMembers(Enum):
    """What becomes of members that a class does not have."""

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
    """A name for a type that is no class."""

    name: str
    shape: AgentType
    description: str = ""


Definition: TypeAlias = ObjectType | AliasType


def make_union(options: Sequence[AgentType]) -> AgentType:
    """Unite types: what may be anything may be anything, and no type stands twice; null comes last."""
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
    """Whether null is a value of a type, also by way of the types that it names."""
    return not {ScalarType.NULL, ScalarType.ANY}.isdisjoint(iter_parts(shape, types))


def iter_parts(shape: AgentType, types: Mapping[str, Definition]) -> Iterator[AgentType]:
    """Yield every shape that a value may be of, by way of the types that are named; each once, however they lead back to each other."""
    waiting, seen = [shape], set[AgentType]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        yield each
        match each:
            case DefinitionRef(name) if isinstance(named := types[name], AliasType):
                waiting.append(named.shape)
            case UnionType(options):
                waiting.extend(options)
            case _:
                pass
