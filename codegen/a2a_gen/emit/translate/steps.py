"""Translations as data: functions of a few kinds of steps, which a template prints one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from a2a_gen.emit.render import Code
from a2a_gen.emit.translate.members import TypePair
from a2a_gen.emit.translate.rules import Direction


@dataclass(frozen=True, slots=True)
class Let:
    """Assign a value, or several at once, to local names."""

    kind: ClassVar[str] = "let"
    name: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Make:
    """Begin an object with its required members."""

    kind: ClassVar[str] = "make"
    name: Code
    items: tuple[tuple[Code, Code], ...]


@dataclass(frozen=True, slots=True)
class Put:
    """Add a member to an object if it has a value."""

    kind: ClassVar[str] = "put"
    into: Code
    key: Code
    value: Code
    when: Code | None


@dataclass(frozen=True, slots=True)
class Merge:
    """Add the members that a function returns."""

    kind: ClassVar[str] = "merge"
    into: Code
    value: Code


@dataclass(frozen=True, slots=True)
class Give:
    """Return a value."""

    kind: ClassVar[str] = "give"
    value: Code


@dataclass(frozen=True, slots=True)
class Refuse:
    """Raise an error: the dialect cannot express the value."""

    kind: ClassVar[str] = "refuse"
    error: Code


@dataclass(frozen=True, slots=True)
class BranchStep:
    """Run other steps under a condition."""

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
    """The translation of one pair in one direction, with its imports and constants."""

    pair: TypePair
    direction: Direction
    name: Code
    parameters: Code
    returns: Code
    summary: str
    steps: tuple[Step, ...]
    uses: frozenset[tuple[TypePair, Direction]] = frozenset()
    tables: tuple[LookupTable, ...] = field(default=())
