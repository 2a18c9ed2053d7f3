"""What of a schema Python can say: the types of values and the names of members. Pure values, in which everything is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from a2a_gen.source.json_text import Json


class Scalar(Enum):
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
class Words:
    """One of some texts."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A type that is made by this build, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """A type of the protocol, by its path in Python."""

    path: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array."""

    item: Shape


@dataclass(frozen=True, slots=True)
class Tuple:
    """An array of fixed length."""

    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose members have any names."""

    value: Shape


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    options: tuple[Shape, ...]


Shape: TypeAlias = Scalar | Words | Named | Foreign | ListOf | Tuple | MapOf | Either


class Extra(Enum):
    """What becomes of members that a class does not have."""

    KEPT = "SkillModel"
    REFUSED = "ClosedModel"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object."""

    name: str
    shape: Shape
    is_required: bool
    description: str = ""
    default: Json = None


@dataclass(frozen=True, slots=True)
class Record:
    """A class."""

    name: str
    members: tuple[Member, ...]
    extra: Extra
    description: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a type that is no class."""

    name: str
    shape: Shape
    description: str = ""


Definition: TypeAlias = Record | Alias


def either(options: Sequence[Shape]) -> Shape:
    """Unite types: what may be anything may be anything, and no type stands twice; null comes last."""
    flat = [inner for each in options for inner in (each.options if isinstance(each, Either) else (each,))]
    unique = list(dict.fromkeys(flat))
    if Scalar.ANY in unique or not unique:
        return Scalar.ANY
    words = [word for each in unique if isinstance(each, Words) for word in each.values]
    first = next((each for each in unique if isinstance(each, Words)), None)
    united = [Words(tuple(dict.fromkeys(words))) if each is first else each for each in unique if each is first or not isinstance(each, Words)]
    if Scalar.STRING in united:
        united = [each for each in united if not isinstance(each, Words)]
    united.sort(key=lambda each: each is Scalar.NULL)
    return united[0] if len(united) == 1 else Either(tuple(united))


def is_nullable(shape: Shape, types: Mapping[str, Definition]) -> bool:
    """Whether null is a value of a type, also by way of the types that it names."""
    return not {Scalar.NULL, Scalar.ANY}.isdisjoint(consists_of(shape, types))


def consists_of(shape: Shape, types: Mapping[str, Definition]) -> Iterator[Shape]:
    """Yield every shape that a value may be of, by way of the types that are named; each once, however they lead back to each other."""
    waiting, seen = [shape], set[Shape]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        yield each
        match each:
            case Named(name) if isinstance(named := types[name], Alias):
                waiting.append(named.shape)
            case Either(options):
                waiting.extend(options)
            case _:
                pass
