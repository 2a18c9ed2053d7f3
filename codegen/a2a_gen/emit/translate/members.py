"""Members of a record, and of the records inside it that a rule reaches into, with the matches of
their types.

A rule such as ``file.bytes`` → ``raw`` opens the member ``file``: its own members take its place,
each a ``Leaf`` with the steps that lead to it. Nothing here depends on a direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from a2a_gen.ir.model import (
    Alias,
    Choice,
    ClassName,
    Constant,
    Contract,
    Enumeration,
    Field,
    ListOf,
    MapOf,
    OneOf,
    Primitive,
    Record,
    Ref,
    TypeExpr,
)

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordMembers:
    """One of the two dialects of a translation."""

    contract: Contract
    dialect: str

    def record(self, name: str) -> Record | None:
        """Return a record by name."""
        definition = self.contract.type(self.dialect, name)
        if isinstance(definition, Record):
            return definition
        return None

    def records(self, expression: TypeExpr) -> tuple[Record, ...]:
        """Return the possible records of a member: one, or any of several; empty if another type is
        possible.
        """
        match expression:
            case Ref(name):
                definition = self.contract.type(self.dialect, name)
                if isinstance(definition, Alias):
                    return self.records(definition.type)
                if isinstance(definition, Record):
                    return (definition,)
                return ()
            case OneOf(options):
                found = [self.records(option) for option in options]
                if all(found):
                    return tuple(chain.from_iterable(found))
                return ()
            case _:
                return ()

    def is_empty_valid(self, record: Record) -> bool:
        """Check that a record can be constructed without any member."""
        fields_are_free = all(
            not field.required or field.has_read_default or isinstance(field.type, Constant)
            for field in record.fields
        )
        return record.choice is None and fields_are_free

    def empty(self, record: Record) -> str:
        """Print the construction of a record without any member."""
        # Type checkers see defaults that are written as values, not those of a factory.
        has_factory = any(
            isinstance(field.read_default, tuple | Mapping) for field in record.fields
        )
        return f"{self.dialect}.{record.name}{'.model_validate({})' if has_factory else '()'}"


@dataclass(frozen=True, slots=True)
class PathStep:
    """One member on a path; ``option`` is its record, where the member before may be any of
    several.
    """

    field: Field
    choice: Choice | None = None
    option: ClassName | None = None

    @property
    def is_chosen(self) -> bool:
        """Check that the member is one of a group of which exactly one is present."""
        return self.choice is not None and self.field.wire in self.choice.members

    @property
    def is_nullable(self) -> bool:
        """Check that the member may be absent in Python."""
        return (
            not self.field.required
            and not self.field.has_read_default
            and not isinstance(self.field.type, Constant)
        )


@dataclass(frozen=True, slots=True)
class Leaf:
    """A member that is not opened, and the path to it."""

    steps: tuple[PathStep, ...]

    @property
    def path(self) -> Path:
        """Return the wire names on the path."""
        return tuple(step.field.wire for step in self.steps)

    @property
    def name(self) -> str:
        """Return the path as a rule writes it."""
        return ".".join(self.path)

    @property
    def last(self) -> PathStep:
        """Return the last step."""
        return self.steps[-1]

    @property
    def field(self) -> Field:
        """Return the member without its path."""
        return self.last.field

    def excludes(self, other: Leaf) -> bool:
        """Check that the two can never be present together, because a group on their common path
        allows only one of them.
        """
        for mine, theirs in zip(self.steps, other.steps, strict=False):
            if mine.field.wire == theirs.field.wire and mine.option == theirs.option:
                continue
            both_chosen = mine.is_chosen and theirs.is_chosen and mine.choice == theirs.choice
            other_option = (
                mine.option is not None
                and theirs.option is not None
                and mine.option != theirs.option
            )
            return both_chosen or other_option
        return False


def leaves(side: RecordMembers, record: Record, opened: frozenset[Path]) -> tuple[Leaf, ...]:
    """List the members of a record, with the members of opened records in their place."""
    return tuple(_leaves(side, (record,), opened, ()))


def _leaves(
    side: RecordMembers,
    records: tuple[Record, ...],
    opened: frozenset[Path],
    way: tuple[PathStep, ...],
) -> Iterator[Leaf]:
    seen: set[str] = set()
    for record in records:
        for field in record.fields:
            if field.wire in seen:
                continue
            in_all = all(other.field(field.wire) for other in records)
            seen |= {field.wire} if in_all else set()
            steps = (*way, PathStep(field, record.choice, None if in_all else record.name))
            if tuple(step.field.wire for step in steps) in opened:
                inner = side.records(field.type)
            else:
                inner = ()
            yield from _leaves(side, inner, opened, steps) if inner else (Leaf(steps),)


# --- matches: conversions between corresponding types, in both directions ---


@dataclass(frozen=True, slots=True, order=True)
class TypePair:
    """A type of a dialect and its canonical counterpart."""

    theirs: str
    ours: str

    def __str__(self) -> str:
        if self.theirs == self.ours:
            return self.theirs
        return f"{self.theirs} as {self.ours}"


@dataclass(frozen=True, slots=True)
class Same:
    """Unchanged values; a ``primitive`` converts its wire form when it is bytes, a timestamp or any
    JSON.
    """

    primitive: Primitive


@dataclass(frozen=True, slots=True)
class EnumMapping:
    """An enumeration of theirs, a plain string of ours."""


@dataclass(frozen=True, slots=True)
class FreeJson:
    """A record of theirs that keeps unknown members, a free object of ours."""


@dataclass(frozen=True, slots=True)
class Types:
    """Two named types with translation functions."""

    pair: TypePair


@dataclass(frozen=True, slots=True)
class Each:
    """A list on both sides."""

    item: Match


@dataclass(frozen=True, slots=True)
class Values:
    """A map on both sides."""

    value: Match


@dataclass(frozen=True, slots=True)
class WrapperMatch:
    """A record of ours that only wraps one member, whose value theirs has without a wrapper."""

    record: str
    field: Field
    content: Match


Match: TypeAlias = Same | EnumMapping | FreeJson | Types | Each | Values | WrapperMatch


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches types, given the records that only wrap one member."""

    theirs: RecordMembers
    ours: RecordMembers
    wrappers: Mapping[str, str]

    def match(self, theirs: TypeExpr, ours: TypeExpr) -> Match | None:
        """Match two types; ``None`` if they do not correspond."""
        match theirs, ours:
            case Ref(), Ref():
                return Types(TypePair(theirs.name, ours.name))
            case Ref(), Primitive():
                return self._match_as_primitive(theirs, ours)
            case ((ListOf() | MapOf()), (ListOf() | MapOf())):
                return self._container(theirs, ours)
            case _, Ref():
                return self.unwrap(theirs, ours.name)
            case _:
                if isinstance(theirs, Primitive) and theirs == ours:
                    return Same(theirs)
                return None

    def _container(self, theirs: ListOf | MapOf, ours: ListOf | MapOf) -> Match | None:
        if isinstance(theirs, ListOf) and isinstance(ours, ListOf):
            item = self.match(theirs.item, ours.item)
            if item is None:
                return None
            return Each(item)
        value = None
        if isinstance(theirs, MapOf) and isinstance(ours, MapOf):
            value = self.match(theirs.value, ours.value)
        if value is None:
            return None
        return Values(value)

    def unwrap(self, theirs: TypeExpr, name: str) -> WrapperMatch | None:
        """Match a type with the content of a canonical record that only wraps it."""
        record = self.ours.record(name)
        member = self.wrappers.get(name)
        field = record.field(member) if record and member else None
        content = self.match(theirs, field.type) if field else None
        if field is None or content is None:
            return None
        return WrapperMatch(name, field, content)

    def _match_as_primitive(self, theirs: Ref, ours: Primitive) -> Match | None:
        definition = self.theirs.contract.type(self.theirs.dialect, theirs.name)
        if isinstance(definition, Enumeration) and ours is Primitive.STRING:
            return EnumMapping()
        if isinstance(definition, Record) and definition.keeps_unknown and ours is Primitive.OBJECT:
            return FreeJson()
        return None


def pairs_in(match: Match | None) -> Iterator[TypePair]:
    """Yield the pairs of named types that a match needs."""
    match match:
        case Types(pair):
            yield pair
        case Each(inner) | Values(inner):
            yield from pairs_in(inner)
        case WrapperMatch(content=inner):
            yield from pairs_in(inner)
        case _:
            return


def is_plain(match: Match) -> bool:
    """Check that a value passes unchanged in both directions."""
    match match:
        case Same(primitive):
            return primitive not in (Primitive.BYTES, Primitive.TIMESTAMP, Primitive.ANY)
        case Each(inner) | Values(inner):
            return is_plain(inner)
        case _:
            return False
