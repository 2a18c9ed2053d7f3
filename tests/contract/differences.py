"""Where two documents of one type differ: every place as the types and members that lead to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from a2a_gen.ir.model import Alias, Constant, Contract, Enumeration, ListOf, MapOf, OneOf, Record, Ref, TypeExpr

Way: TypeAlias = tuple[tuple[str, str], ...]
"""Each type on the way with the member (or word, or branch) that was taken."""

GONE: Final = object()
"""In the place of a value that one of the documents does not have."""


@dataclass(frozen=True)
class Difference:
    """A place, and what stands there."""

    way: Way
    first: object
    second: object

    @property
    def steps(self) -> set[tuple[str, str]]:
        """The place as each of the types on the way would name it."""
        return {(name, ".".join(member for _, member in self.way[start:])) for start, (name, _) in enumerate(self.way)}


@dataclass(frozen=True)
class Comparison:
    """Compares documents of one dialect."""

    contract: Contract
    dialect: str

    def differences(self, expression: TypeExpr, first: object, second: object, way: Way = ()) -> Iterator[Difference]:
        """Go through the places where the second document is not the first."""
        if _text(first) == _text(second):
            return
        match expression:
            case Ref(name):
                yield from self._named(name, first, second, way)
            case ListOf(item) if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
                for one, other in zip(first, second, strict=True):
                    yield from self.differences(item, one, other, way)
            case MapOf(value) if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
                for key in first:
                    yield from self.differences(value, first[key], second[key], way)
            case OneOf(options) if (branch := self._branch(options, first)) and branch == self._branch(options, second):
                yield from self.differences(branch, first, second, way)
            case _:
                yield Difference(way, first, second)

    def _named(self, name: str, first: object, second: object, way: Way) -> Iterator[Difference]:
        named = self.contract.type(self.dialect, name)
        if isinstance(named, Record) and isinstance(first, dict) and isinstance(second, dict):
            for field in named.fields:
                one, other, step = first.get(field.wire, GONE), second.get(field.wire, GONE), (*way, (name, field.wire))
                if GONE not in (one, other):
                    yield from self.differences(field.type, one, other, step)
                elif one is not other:
                    yield from self._missing(field.type, one, other, step)
        elif isinstance(named, Alias) and isinstance(named.type, OneOf):
            branch = self._branch(named.type.options, first)
            if branch is not None and branch == self._branch(named.type.options, second):
                yield from self.differences(branch, first, second, way)
            else:
                yield Difference((*way, (name, branch.name if branch else "")), first, second)
        elif isinstance(named, Alias):
            yield from self.differences(named.type, first, second, way)
        else:
            yield Difference((*way, (name, str(first))) if isinstance(named, Enumeration) else way, first, second)

    def _missing(self, expression: TypeExpr, first: object, second: object, way: Way) -> Iterator[Difference]:
        """Go into a record that only the first document has."""
        is_record = isinstance(expression, Ref) and isinstance(self.contract.type(self.dialect, expression.name), Record)
        inside = list(self.differences(expression, first, {}, way)) if is_record and second is GONE else []
        yield from inside or [Difference(way, first, second)]

    def _branch(self, options: tuple[TypeExpr, ...], value: object) -> Ref | None:
        """Find the branch of a union that a document is of: the first whose constants and required members it has."""
        for option in options:
            record = self.contract.type(self.dialect, option.name) if isinstance(option, Ref) else None
            if isinstance(option, Ref) and isinstance(record, Record) and isinstance(value, Mapping) and _fits(record, value):
                return option
        return None


def _fits(record: Record, value: Mapping[object, object]) -> bool:
    constants = {field.wire: field.type.value for field in record.fields if isinstance(field.type, Constant)}
    has_required = all(field.wire in value for field in record.fields if field.required)
    return has_required and all(value.get(name) == constant for name, constant in constants.items())


def _text(value: object) -> str:
    """Tell apart what Python holds for equal, such as 1 and true."""
    return "" if value is GONE else json.dumps(value, sort_keys=True)
