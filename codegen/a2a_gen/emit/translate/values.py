"""How the members of one side are reached, and what each of them gives in one of the cases of a function.

A value knows whether it may be ``None``; a target knows whether it must be there. Between the two stands one agreement, in both directions: where one
side requires a member and the other may leave it out, the empty value of the first is the absence of the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from a2a_gen.emit.translate.paths import Leaf, Side, Step
from a2a_gen.ir.model import Alias, Enumeration, Primitive, Ref, TypeExpr


@dataclass(frozen=True, slots=True)
class Value:
    """An expression, and whether it may be ``None``."""

    text: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A record inside the source that has a name of its own in the function."""

    name: str
    value: str
    nullable: bool


@dataclass(slots=True)
class Source:
    """The side that is translated: prints how its members are reached."""

    side: Side
    root: str
    opened: dict[tuple[str, ...], Opened] = field(default_factory=dict)

    def open(self, leaves: Iterable[Leaf]) -> None:
        """Name the records on the way to some members."""
        for leaf in leaves:
            for length in range(1, len(leaf.steps)):
                path = leaf.path[:length]
                if path not in self.opened:
                    self.opened[path] = self._open(path, leaf.steps[:length])

    def _open(self, path: tuple[str, ...], steps: tuple[Step, ...]) -> Opened:
        step = steps[-1]
        text = f"{self._holder(path)}.{step.field.python}"
        records = self.side.records(step.field.type)
        nullable = step.is_nullable
        if nullable and not step.is_chosen and len(records) == 1 and self.side.is_empty_valid(records[0]):
            return Opened(step.field.python, f"{text} or {self.side.empty(records[0])}", nullable=False)
        return Opened(step.field.python, text, nullable)

    def _holder(self, path: tuple[str, ...]) -> str:
        return self.opened[path[:-1]].name if len(path) > 1 else self.root

    def text(self, leaf: Leaf) -> str:
        """Print a member, taking the records on the way for present."""
        return f"{self._holder(leaf.path)}.{leaf.field.python}"

    def value(self, leaf: Leaf, known: frozenset[str]) -> Value:
        """Print a member where some expressions are known not to be ``None``."""
        text = self.text(leaf)
        nullable = leaf.last.is_nullable and text not in known
        way = self.opened.get(leaf.path[:-1])
        if way and way.nullable and way.name not in known:
            return Value(f"(None if {way.name} is None else {text})", nullable=True)
        return Value(text, nullable)

    def conditions(self, leaf: Leaf) -> tuple[str, ...]:
        """List what must hold for a member to be present."""
        found: list[str] = []
        way = self.opened.get(leaf.path[:-1])
        if way and leaf.last.option:
            found.append(f"isinstance({way.name}, {self.side.dialect}.{leaf.last.option})")
        elif way and way.nullable:
            found.append(f"{way.name} is not None")
        if leaf.last.is_nullable:
            found.append(f"{self.text(leaf)} is not None")
        return tuple(found)

    def known(self, leaf: Leaf) -> frozenset[str]:
        """List the expressions that are not ``None`` when a member is present."""
        way = self.opened.get(leaf.path[:-1])
        return frozenset({self.text(leaf)} | ({way.name} if way else set()))


def fills_empty(expression: TypeExpr, side: Side) -> bool:
    """Say whether a value of this type has an empty one that means absence: text, lists and maps; not numbers, truth, enumerations and records."""
    match expression:
        case Ref(name):
            named = side.contract.type(side.dialect, name)
            return isinstance(named, Alias) and fills_empty(named.type, side)
        case Primitive():
            return expression is Primitive.STRING
        case _:
            return True


def enumeration(expression: TypeExpr, side: Side) -> Enumeration | None:
    """Find the enumeration that a member is of."""
    named = side.contract.type(side.dialect, expression.name) if isinstance(expression, Ref) else None
    return named if isinstance(named, Enumeration) else None
