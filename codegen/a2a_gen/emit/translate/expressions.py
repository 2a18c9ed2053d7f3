"""Printer of translations as Python expressions.

Every choice is made before; only this module knows the syntax.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from a2a_gen.emit.render import literal
from a2a_gen.emit.translate.members import (
    Each,
    EnumMapping,
    FreeJson,
    Match,
    Same,
    TypePair,
    Types,
    Values,
    WrapperMatch,
    is_plain,
)
from a2a_gen.emit.translate.rules import Direction
from a2a_gen.ir import names
from a2a_gen.ir.model import ClassName, ListOf, MapOf, Primitive, Ref, TypeExpr

EMPTY: Final[Mapping[Primitive, str]] = {
    Primitive.STRING: '""',
    Primitive.INTEGER: "0",
    Primitive.NUMBER: "0.0",
    Primitive.BOOLEAN: "False",
    Primitive.OBJECT: "{}",
}
"""Empty values of members that one side may omit and the other requires."""


def function_name(pair: TypePair, direction: Direction) -> str:
    """Name the function that translates a pair in one direction."""
    theirs, ours = (
        names.field_name(ClassName(name)).rstrip("_") for name in (pair.theirs, pair.ours)
    )
    first, second = (theirs, ours) if direction is Direction.READ else (ours, theirs)
    if pair.theirs == pair.ours:
        return f"{direction}_{first}"
    return f"{direction}_{first}_as_{second}"


def empty_value(match: Match) -> str | None:
    """Return the empty value of a match, equal on both sides; ``None`` if there is none."""
    match match:
        case Same(primitive):
            return EMPTY.get(primitive)
        case Each():
            return "[]"
        case Values() | FreeJson():
            return "{}"
        case WrapperMatch(content=content):
            return empty_value(content)
        case EnumMapping():
            return '""'
        case _:
            return None


def empty_json(match: Match) -> str | None:
    """Return the empty value in the JSON of ours; one that is walked through has a name, by which
    type checkers know what it would have.
    """
    match match:
        case Each() if not is_plain(match):
            return "base.NO_ITEMS"
        case Values() if not is_plain(match):
            return "base.NO_MEMBERS"
        case WrapperMatch(content=content):
            return empty_json(content)
        case _:
            return empty_value(match)


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints expressions of one direction."""

    direction: Direction
    positional: frozenset[TypePair] = frozenset()

    def value(self, match: Match, source: str) -> str:
        """Print a value that is present."""
        match match:
            case Same():
                text = source
            case EnumMapping():
                text = f"{source}.value" if self._reads else source
            case FreeJson():
                text = f"{source}.to_dict()" if self._reads else source
            case Types(pair):
                text = f"{function_name(pair, self.direction)}({source})"
            case Each(item):
                text = self._each(item, source)
            case Values(value):
                inner = self.value(value, "value")
                mapping = f"({source})" if " " in source else source
                if inner == "value":
                    text = source
                else:
                    text = f"{{key: {inner} for key, value in {mapping}.items()}}"
            case WrapperMatch():
                text = self._unwrap(match, source)
        return text

    def _each(self, item: Match, source: str) -> str:
        if isinstance(item, Types) and item.pair in self.positional and not self._reads:
            return (
                f"[{function_name(item.pair, self.direction)}(item, position) for position, item "
                f"in enumerate({source})]"
            )
        inner = self.value(item, "item")
        if inner == "item":
            return source
        return f"[{inner} for item in {source}]"

    def _unwrap(self, match: WrapperMatch, source: str) -> str:
        if self._reads:
            return f"{{{literal(match.field.python)}: {self.value(match.content, source)}}}"
        name = literal(match.field.wire)
        inner = f"{source}.get({name}) or {empty_json(match.content)}"
        if match.field.required:
            inner = f"{source}[{name}]"
        return self.value(match.content, inner)

    @property
    def _reads(self) -> bool:
        return self.direction is Direction.READ


def print_plain_value(expression: TypeExpr, source: str) -> str:
    """Print a value of the models as JSON."""
    match expression:
        case Ref():
            return f"{source}.to_dict()"
        case ListOf(item):
            inner = print_plain_value(item, "item")
            if inner == "item":
                return source
            return f"[{inner} for item in {source}]"
        case MapOf(value):
            inner = print_plain_value(value, "value")
            if inner == "value":
                return source
            return f"{{key: {inner} for key, value in {source}.items()}}"
        case _:
            return source
