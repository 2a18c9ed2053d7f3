"""What has to happen to a value of one type to become a value of the type it corresponds to, without saying in which direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from a2a_gen.emit.translate.paths import Side
from a2a_gen.ir.model import Enumeration, Field, ListOf, MapOf, Primitive, Record, Ref, TypeExpr


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A type of a dialect and the canonical type that it corresponds to."""

    theirs: str
    ours: str

    def __str__(self) -> str:
        return self.theirs if self.theirs == self.ours else f"{self.theirs} as {self.ours}"


@dataclass(frozen=True, slots=True)
class Same:
    """The value passes as it is; ``primitive`` has a form of its own on the wire where it is bytes, a point in time or any JSON."""

    primitive: Primitive


@dataclass(frozen=True, slots=True)
class Words:
    """An enumeration of theirs, a plain string of ours."""


@dataclass(frozen=True, slots=True)
class Free:
    """A record of theirs that keeps unknown members, a free object of ours."""


@dataclass(frozen=True, slots=True)
class Types:
    """Two named types, for which there are functions."""

    pair: Pair


@dataclass(frozen=True, slots=True)
class Each:
    """A list on both sides."""

    item: Match


@dataclass(frozen=True, slots=True)
class Values:
    """A map on both sides."""

    value: Match


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A record of ours that only wraps one member, whose value theirs has without a wrapper."""

    record: str
    field: Field
    content: Match


Match: TypeAlias = Same | Words | Free | Types | Each | Values | Wrapped


@dataclass(frozen=True, slots=True)
class Matcher:
    """Finds how types correspond, knowing the records that only wrap."""

    theirs: Side
    ours: Side
    wrappers: Mapping[str, str]

    def match(self, theirs: TypeExpr, ours: TypeExpr) -> Match | None:
        """Say how a value of one type corresponds to one of the other; ``None`` if no rule says so."""
        match theirs, ours:
            case Ref(), Ref():
                return Types(Pair(theirs.name, ours.name))
            case Ref(), Primitive():
                return self._named_as_primitive(theirs, ours)
            case ((ListOf() | MapOf()), (ListOf() | MapOf())):
                return self._container(theirs, ours)
            case _, Ref():
                return self.unwrap(theirs, ours.name)
            case _:
                return Same(theirs) if isinstance(theirs, Primitive) and theirs == ours else None

    def _container(self, theirs: ListOf | MapOf, ours: ListOf | MapOf) -> Match | None:
        if isinstance(theirs, ListOf) and isinstance(ours, ListOf):
            item = self.match(theirs.item, ours.item)
            return None if item is None else Each(item)
        value = self.match(theirs.value, ours.value) if isinstance(theirs, MapOf) and isinstance(ours, MapOf) else None
        return None if value is None else Values(value)

    def unwrap(self, theirs: TypeExpr, name: str) -> Wrapped | None:
        """Match a type with the content of a canonical record that only wraps it."""
        record, member = self.ours.record(name), self.wrappers.get(name)
        field = record.field(member) if record and member else None
        content = self.match(theirs, field.type) if field else None
        return None if field is None or content is None else Wrapped(name, field, content)

    def _named_as_primitive(self, theirs: Ref, ours: Primitive) -> Match | None:
        named = self.theirs.contract.type(self.theirs.dialect, theirs.name)
        if isinstance(named, Enumeration) and ours is Primitive.STRING:
            return Words()
        if isinstance(named, Record) and named.keeps_unknown and ours is Primitive.OBJECT:
            return Free()
        return None


def pairs_in(match: Match) -> Iterator[Pair]:
    """Go through the pairs of named types that a match needs."""
    match match:
        case Types(pair):
            yield pair
        case Each(inner) | Values(inner):
            yield from pairs_in(inner)
        case Wrapped(content=inner):
            yield from pairs_in(inner)
        case _:
            return


def is_plain(match: Match) -> bool:
    """Say whether a value passes unchanged in both directions."""
    match match:
        case Same(primitive):
            return primitive not in (Primitive.BYTES, Primitive.TIMESTAMP, Primitive.ANY)
        case Each(inner) | Values(inner):
            return is_plain(inner)
        case _:
            return False
