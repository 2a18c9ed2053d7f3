"""Differences between two documents of one type: each place as the types and members that lead to
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from a2a_gen.ir.model import (
    Alias,
    Constant,
    Contract,
    Enumeration,
    ListOf,
    MapOf,
    OneOf,
    Record,
    Ref,
    TypeExpr,
)

DocumentPath: TypeAlias = tuple[tuple[str, str], ...]
"""Each type on the way with the member (or word, or branch) that was taken."""

MISSING: Final = object()
"""In the place of a value that one of the documents does not have."""


@dataclass(frozen=True)
class Difference:
    """A place, and the values there."""

    path: DocumentPath
    first: object
    second: object

    @property
    def steps(self) -> set[tuple[str, str]]:
        """The place from each of the types on the path."""
        return {
            (name, ".".join(member for _, member in self.path[start:]))
            for start, (name, _) in enumerate(self.path)
        }


@dataclass(frozen=True)
class DocumentComparison:
    """Comparison of documents of one dialect."""

    contract: Contract
    dialect: str

    def find_differences(
        self, expression: TypeExpr, first: object, second: object, path: DocumentPath = ()
    ) -> Iterator[Difference]:
        """Iterate over the places where the documents differ."""
        if _to_text(first) == _to_text(second):
            return
        match expression:
            case Ref(name):
                yield from self._find_in_type(name, first, second, path)
            case ListOf(item) if (
                isinstance(first, list) and isinstance(second, list) and len(first) == len(second)
            ):
                for one, other in zip(first, second, strict=True):
                    yield from self.find_differences(item, one, other, path)
            case MapOf(value) if (
                isinstance(first, dict)
                and isinstance(second, dict)
                and first.keys() == second.keys()
            ):
                for key in first:
                    yield from self.find_differences(value, first[key], second[key], path)
            case OneOf(options) if (
                branch := self._find_branch(options, first)
            ) and branch == self._find_branch(options, second):
                yield from self.find_differences(branch, first, second, path)
            case _:
                yield Difference(path, first, second)

    def _find_in_type(
        self, name: str, first: object, second: object, path: DocumentPath
    ) -> Iterator[Difference]:
        definition = self.contract.type(self.dialect, name)
        if isinstance(definition, Record) and isinstance(first, dict) and isinstance(second, dict):
            for field in definition.fields:
                one = first.get(field.wire, MISSING)
                other = second.get(field.wire, MISSING)
                step = (*path, (name, field.wire))
                if MISSING not in (one, other):
                    yield from self.find_differences(field.type, one, other, step)
                elif one is not other:
                    yield from self._find_missing(field.type, one, other, step)
        elif isinstance(definition, Alias) and isinstance(definition.type, OneOf):
            branch = self._find_branch(definition.type.options, first)
            if branch is not None and branch == self._find_branch(definition.type.options, second):
                yield from self.find_differences(branch, first, second, path)
            else:
                yield Difference((*path, (name, branch.name if branch else "")), first, second)
        elif isinstance(definition, Alias):
            yield from self.find_differences(definition.type, first, second, path)
        else:
            yield Difference(
                (*path, (name, str(first))) if isinstance(definition, Enumeration) else path,
                first,
                second,
            )

    def _find_missing(
        self, expression: TypeExpr, first: object, second: object, path: DocumentPath
    ) -> Iterator[Difference]:
        """Descend into a record that only the first document has."""
        is_record = isinstance(expression, Ref) and isinstance(
            self.contract.type(self.dialect, expression.name), Record
        )
        inside = (
            list(self.find_differences(expression, first, {}, path))
            if is_record and second is MISSING
            else []
        )
        yield from inside or [Difference(path, first, second)]

    def _find_branch(self, options: tuple[TypeExpr, ...], value: object) -> Ref | None:
        """Find the branch of a union that matches a document: the first whose constants and
        required members it has.
        """
        for option in options:
            record = (
                self.contract.type(self.dialect, option.name) if isinstance(option, Ref) else None
            )
            if (
                isinstance(option, Ref)
                and isinstance(record, Record)
                and isinstance(value, Mapping)
                and _is_match(record, value)
            ):
                return option
        return None


def _is_match(record: Record, value: Mapping[object, object]) -> bool:
    constants = {
        field.wire: field.type.value for field in record.fields if isinstance(field.type, Constant)
    }
    has_required = all(field.wire in value for field in record.fields if field.required)
    return has_required and all(value.get(name) == constant for name, constant in constants.items())


def _to_text(value: object) -> str:
    """Distinguish values that Python treats as equal, such as 1 and true."""
    return "" if value is MISSING else json.dumps(value, sort_keys=True)
