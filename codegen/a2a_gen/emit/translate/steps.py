"""A translation as data: functions of few kinds of steps, which a template prints one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from a2a_gen.emit.render import Code
from a2a_gen.emit.translate.members import TypePair
from a2a_gen.emit.translate.rules import Direction


@dataclass(frozen=True, slots=True)
class Let:
    """Name a value, or several at once."""

    kind: ClassVar[str] = "let"
    name: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Make:
    """Begin an object with the members that are always there."""

    kind: ClassVar[str] = "make"
    name: Code
    items: tuple[tuple[Code, Code], ...]


@dataclass(frozen=True, slots=True)
class Put:
    """Add a member to an object, if there is a value for it."""

    kind: ClassVar[str] = "put"
    into: Code
    key: Code
    value: Code
    when: Code | None


@dataclass(frozen=True, slots=True)
class Merge:
    """Add the members that a function gives."""

    kind: ClassVar[str] = "merge"
    into: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Give:
    """End with a value."""

    kind: ClassVar[str] = "give"
    value: Code


@dataclass(frozen=True, slots=True)
class Refuse:
    """End with an error: the dialect has no way to say this."""

    kind: ClassVar[str] = "refuse"
    error: Code


@dataclass(frozen=True, slots=True)
class BranchStep:
    """Do something else under a condition."""

    kind: ClassVar[str] = "branch"
    when: Code
    steps: tuple[Step, ...]


Step: TypeAlias = Let | Make | Put | Merge | Give | Refuse | BranchStep


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A constant of a module."""

    name: Code
    type: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Function:
    """The translation of one pair in one direction, and what it needs beside itself."""

    pair: TypePair
    direction: Direction
    name: Code
    parameters: Code
    returns: Code
    summary: str
    steps: tuple[Step, ...]
    uses: frozenset[tuple[TypePair, Direction]] = frozenset()
    tables: tuple[LookupTable, ...] = field(default=())
