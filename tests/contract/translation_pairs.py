"""Every pair of types that has translations: its functions, and what becomes of a document that
goes there and back.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from contract.differences import MISSING, Difference, DocumentComparison
from contract.strategies import Documents
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from a2a_contract.conversions import UntranslatableError
from a2a_gen.emit.translate.expressions import function_name
from a2a_gen.emit.translate.links import Link, LinkedPair
from a2a_gen.emit.translate.members import TypePair
from a2a_gen.emit.translate.pairs import PairFinder, TypePairs
from a2a_gen.emit.translate.rules import Direction, TranslationProblems
from a2a_gen.ir.extension import is_translated
from a2a_gen.ir.model import Enumeration, Loss, Record, Ref

Step = tuple[str, str]

LIMITS = frozenset(
    {
        "oneof",
        "string_too_short",
        "too_short",
        "too_long",
        "greater_than_equal",
        "less_than_equal",
        "string_pattern_mismatch",
        "enum",
    }
)

DOCUMENTS = Documents()
CONTRACT = DOCUMENTS.contract
EPOCH = "1970-01-01T00:00:00.000Z"
UNSPECIFIED = {
    each.values[0].wire
    for each in CONTRACT.types(CONTRACT.canonical)
    if isinstance(each, Enumeration)
}
DIALECTS = {
    dialect.name: dialect for dialect in CONTRACT.dialects if is_translated(CONTRACT, dialect.name)
}


@dataclass(frozen=True)
class Translated:
    """One pair of one dialect, in one direction: reading starts from theirs, writing from ours."""

    dialect: str
    pair: TypePair
    direction: Direction

    def __str__(self) -> str:
        return f"{self.dialect}-{function_name(self.pair, self.direction)}"

    @property
    def source(self) -> tuple[str, str]:
        """The dialect and the type that the translation starts from."""
        return (
            (self.dialect, self.pair.theirs)
            if self.direction is Direction.READ
            else (CONTRACT.canonical, self.pair.ours)
        )

    @property
    def back(self) -> Translated:
        """The other direction."""
        return Translated(
            self.dialect,
            self.pair,
            Direction.WRITE if self.direction is Direction.READ else Direction.READ,
        )

    def translate(self, document: object) -> object:
        """Translate a document: from JSON of one side to JSON of the other."""
        function: Callable[[object], object] = getattr(
            importlib.import_module(f"a2a_contract.translate.{self.dialect}"),
            function_name(self.pair, self.direction),
        )
        model = adapter(*self.source).validate_json(json.dumps(document))
        if self.direction is Direction.WRITE:
            return plain(function(plain(model)))
        return plain(adapter(*self.back.source).validate_python(function(model)))

    def list_dropped(self, document: object) -> list[Difference]:
        """Translate a document and back, and list what is no longer there."""
        before = normalize_document(*self.source, document)
        after = self._there_and_back(before)
        dialect, name = self.source
        found = DocumentComparison(CONTRACT, dialect).find_differences(
            Ref(name), before, {} if after is None else after
        )
        dropped = [difference for difference in found if not self._is_no_loss(difference)]
        # What cannot be read back for want of a member is lost whole: the member is what counts.
        return (
            dropped
            if after is not None
            else [each for each in dropped if losses(self, each)] or dropped
        )

    def _there_and_back(self, document: object) -> object:
        """Translate a document and back: nothing comes back without its member, and what the other
        side has no form for as it is.
        """
        try:
            there = self.translate(document)
        except UntranslatableError:
            return None
        except ValidationError as error:
            return self._accept_limit(document, error)
        try:
            return normalize_document(
                *self.source, self.back.translate(normalize_document(*self.back.source, there))
            )
        except ValidationError as error:
            return None if _kinds(error) == {"oneof"} else self._accept_limit(document, error)

    def _accept_limit(self, document: object, error: ValidationError) -> object:
        if not _kinds(error) <= LIMITS:
            raise error
        return document

    def _is_no_loss(self, difference: Difference) -> bool:
        """Say whether a difference is another way to say the same, or the trace of another one."""
        dialect, _ = self.source
        name, member = difference.path[-1]
        record = CONTRACT.type(dialect, name)
        if (
            difference.first is MISSING
            and isinstance(record, Record)
            and record.choice
            and member in record.choice.members
        ):
            return True  # the member that was there before is missing too
        marks = marks_of(self.dialect, self.direction)
        if is_empty(difference.first) and difference.steps & (
            marks.loose if is_empty(difference.second) else marks.made_up
        ):
            return True
        return any(
            (name, path) in marks.derived or (name, path.partition(".")[0]) in marks.derived
            for name, path in difference.steps
        )


def is_empty(value: object) -> bool:
    """Say whether a value says no more than its absence, where one side of a translation must have
    the member.
    """
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return (
        value is MISSING
        or not value
        or (isinstance(value, str) and (value == EPOCH or value in UNSPECIFIED))
    )


def _kinds(error: ValidationError) -> set[str]:
    return {each["type"] for each in error.errors()}


@dataclass(frozen=True)
class Marks:
    """Members, as the types on one side name them: those that may be empty instead of absent, made
    of others, or made up.
    """

    loose: frozenset[Step]
    derived: frozenset[Step]
    made_up: frozenset[Step]


@cache
def pairs_of(dialect: str) -> TypePairs:
    """Find the pairs of a dialect."""
    return PairFinder(CONTRACT, DIALECTS[dialect], TranslationProblems()).pairs()


@cache
def marks_of(dialect: str, direction: Direction) -> Marks:
    """Find the members that need not come back to the letter."""
    loose = set[Step]()
    derived = set[Step]()
    made_up = set[Step]()
    loose |= set(DIALECTS[dialect].wrappers.items())
    for pair, found in pairs_of(dialect).found.items():
        links = (
            [link for link in found.links if link.sets(direction)]
            if isinstance(found, LinkedPair)
            else []
        )
        for link in links:
            steps = {
                (pair.theirs if direction is Direction.READ else pair.ours, leaf.name)
                for leaf in link.sources(direction)
            }
            above = {(name, path.rpartition(".")[0]) for name, path in steps}
            loose |= steps if _is_uneven(link) or _has_rivals(link, links, direction) else above
            derived |= steps if direction is Direction.READ and link.kind == "derive" else set()
            made_up |= steps if _has_rivals(link, links, direction) else set()
            made_up |= above
    made_up |= _fresh(dialect) if direction is Direction.WRITE else set()
    return Marks(frozenset(loose), frozenset(derived), frozenset(made_up))


def _is_uneven(link: Link) -> bool:
    """Say whether only one of the sides requires the member."""
    return (
        link.kind in ("not", "only", "resource", "derive", "wrap")
        or len({leaf.last.is_nullable for leaf in (*link.theirs, *link.ours)}) > 1
    )


def _has_rivals(link: Link, links: list[Link], direction: Direction) -> bool:
    """Say whether several members become one, which then comes back in all of them."""
    targets = {leaf.path for leaf in link.targets(direction)}
    return (
        len(link.sources(direction)) > 1
        or sum(bool(targets & {leaf.path for leaf in each.targets(direction)}) for each in links)
        > 1
    )


def _fresh(dialect: str) -> set[Step]:
    found = (
        (pair, each)
        for pair, each in pairs_of(dialect).found.items()
        if isinstance(each, LinkedPair)
    )
    return {
        (pair.ours, leaf.name)
        for pair, each in found
        for link in each.links
        if link.kind == "fresh"
        for leaf in link.ours
    }


def losses(translated: Translated, difference: Difference) -> list[Loss]:
    """List the lines of ``lossy`` that say a difference."""
    owners = {(pair.theirs, pair.ours) for pair in pairs_of(translated.dialect).found}
    return [
        line
        for line in DIALECTS[translated.dialect].lossy
        if line.direction == translated.direction
        and any(
            (path == line.member or path.startswith(f"{line.member}."))
            and (
                line.type in ("*", name)
                if translated.direction is Direction.READ
                else line.type == "*" or (line.type, name) in owners
            )
            for name, path in difference.steps
        )
    ]


@cache
def adapter(dialect: str, name: str) -> TypeAdapter[object]:
    """Read documents of one type."""
    return TypeAdapter(getattr(importlib.import_module(f"a2a_contract.{dialect}"), name))


def normalize_document(dialect: str, name: str, document: object) -> object:
    """Read a document and write it again, so that defaults are there and the order of members does
    not matter.
    """
    return plain(adapter(dialect, name).validate_json(json.dumps(document)))


def plain(value: object) -> object:
    """Write a value as JSON, and read it as what every JSON parser makes of it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    result: object = json.loads(value.to_json() if hasattr(value, "to_json") else to_json(value))
    return result
