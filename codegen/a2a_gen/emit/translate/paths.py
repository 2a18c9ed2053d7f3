"""The members of a record, and of the records inside it that a rule reaches into.

A rule such as ``file.bytes`` → ``raw`` opens the member ``file``: in its place stand its own members, each a ``Leaf`` with the steps that lead to it.
Nothing here knows a direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from a2a_gen.ir.model import Alias, Choice, ClassName, Constant, Contract, Field, OneOf, Record, Ref, TypeExpr

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two dialects of a translation."""

    contract: Contract
    dialect: str

    def record(self, name: str) -> Record | None:
        """Find a record by its name."""
        named = self.contract.type(self.dialect, name)
        return named if isinstance(named, Record) else None

    def records(self, expression: TypeExpr) -> tuple[Record, ...]:
        """Find what may stand in a member: a record, or any of several; empty if something else may."""
        match expression:
            case Ref(name):
                named = self.contract.type(self.dialect, name)
                if isinstance(named, Alias):
                    return self.records(named.type)
                return (named,) if isinstance(named, Record) else ()
            case OneOf(options):
                found = [self.records(option) for option in options]
                return tuple(record for records in found for record in records) if all(found) else ()
            case _:
                return ()

    def is_empty_valid(self, record: Record) -> bool:
        """Say whether a record can be made without any member."""
        fields_are_free = all(not field.required or field.has_read_default or isinstance(field.type, Constant) for field in record.fields)
        return record.choice is None and fields_are_free

    def empty(self, record: Record) -> str:
        """Print the making of a record without any member."""
        # Type checkers know defaults that are written as values, not those that a factory makes.
        has_factory = any(isinstance(field.read_default, tuple | Mapping) for field in record.fields)
        return f"{self.dialect}.{record.name}{'.model_validate({})' if has_factory else '()'}"


@dataclass(frozen=True, slots=True)
class Step:
    """One member on a path; ``option`` is the record that has it, where the member before may be any of several."""

    field: Field
    choice: Choice | None = None
    option: ClassName | None = None

    @property
    def is_chosen(self) -> bool:
        """Whether the member is one of a group of which exactly one is present."""
        return self.choice is not None and self.field.wire in self.choice.members

    @property
    def is_nullable(self) -> bool:
        """Whether the member may be absent in Python."""
        return not self.field.required and not self.field.has_read_default and not isinstance(self.field.type, Constant)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A member that is not opened, and the way to it."""

    steps: tuple[Step, ...]

    @property
    def path(self) -> Path:
        """The names on the wire."""
        return tuple(step.field.wire for step in self.steps)

    @property
    def name(self) -> str:
        """The path as a rule writes it."""
        return ".".join(self.path)

    @property
    def last(self) -> Step:
        """The member itself."""
        return self.steps[-1]

    @property
    def field(self) -> Field:
        """The member itself, without the way."""
        return self.last.field

    def excludes(self, other: Leaf) -> bool:
        """Say whether the two can never be present together, because a group on their common way allows only one of them."""
        for mine, theirs in zip(self.steps, other.steps, strict=False):
            if mine.field.wire == theirs.field.wire and mine.option == theirs.option:
                continue
            both_chosen = mine.is_chosen and theirs.is_chosen and mine.choice == theirs.choice
            other_option = mine.option is not None and theirs.option is not None and mine.option != theirs.option
            return both_chosen or other_option
        return False


def leaves(side: Side, record: Record, opened: frozenset[Path]) -> tuple[Leaf, ...]:
    """List the members of a record, with the members of the opened ones in their place."""
    return tuple(_leaves(side, (record,), opened, ()))


def _leaves(side: Side, records: tuple[Record, ...], opened: frozenset[Path], way: tuple[Step, ...]) -> Iterator[Leaf]:
    seen: set[str] = set()
    for record in records:
        for field in record.fields:
            if field.wire in seen:
                continue
            in_all = all(other.field(field.wire) for other in records)
            seen |= {field.wire} if in_all else set()
            steps = (*way, Step(field, record.choice, None if in_all else record.name))
            inner = side.records(field.type) if tuple(step.field.wire for step in steps) in opened else ()
            yield from _leaves(side, inner, opened, steps) if inner else (Leaf(steps),)
