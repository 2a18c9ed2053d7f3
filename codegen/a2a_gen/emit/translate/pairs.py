"""Pairs of types that a dialect needs: from requests and results of operations, through the members
of records, to enumerations.

The table names the pairs whose types have different names or need rules; pairs of equal names are
found on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from a2a_gen.emit.translate.links import LinkedPair, Linker
from a2a_gen.emit.translate.members import Matcher, RecordMembers, TypePair, WrapperMatch, pairs_in
from a2a_gen.emit.translate.rules import TranslationProblems
from a2a_gen.emit.translate.unions import Option, branches, options
from a2a_gen.ir.model import Alias, Contract, ContractDialect, Enumeration, Translation


@dataclass(frozen=True, slots=True)
class Branches:
    """A union of theirs, with the counterparts of its branches."""

    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class EnumPairs:
    """Two enumerations."""

    theirs: Enumeration
    ours: Enumeration


PairMatch: TypeAlias = LinkedPair | Branches | WrapperMatch | EnumPairs


@dataclass(slots=True)
class TypePairs:
    """The pairs of a dialect with their correspondences; the flat ones are branches of a union
    whose members lie in ours.
    """

    found: dict[TypePair, PairMatch] = field(default_factory=dict)
    flat: set[TypePair] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class PairFinder:
    """Finds the pairs of one dialect."""

    contract: Contract
    dialect: ContractDialect
    report: TranslationProblems

    def pairs(self) -> TypePairs:
        """Walk from the operations until nothing new is needed, and report unused rows of the
        table.
        """
        theirs = RecordMembers(self.contract, self.dialect.name)
        ours = RecordMembers(self.contract, self.contract.canonical)
        matcher = Matcher(theirs, ours, self.dialect.wrappers)
        linker = Linker(theirs, ours, matcher, self.report)
        table = {TypePair(row.theirs, row.ours): row for row in self.dialect.translations}
        pairs = TypePairs()
        waiting = list(self._roots())
        while waiting:
            pair = waiting.pop(0)
            if pair in pairs.found:
                continue
            result = self._find(pair, table.get(pair), linker, matcher)
            if result is not None:
                pairs.found[pair] = result
                waiting += _find_needed(result, pairs)
        for pair, row in table.items():
            if pair not in pairs.found:
                self.report.add(
                    row.place,
                    "A2A-T07",
                    f"{pair}: no operation of {self.dialect.title} uses this row",
                    "delete the row",
                )
        return pairs

    def _roots(self) -> Iterator[TypePair]:
        """List requests and results of operations; types of operations that the dialect lacks are
        included, since the card may need them.
        """
        for operation in self.contract.operations:
            call = operation.call(self.dialect.name)
            if call is None:
                names = [
                    name
                    for name in (operation.request, operation.response)
                    if name and self.contract.type(self.dialect.name, name)
                ]
                yield from (TypePair(name, name) for name in names)
                continue
            for theirs, ours in (
                (call.request, operation.request),
                (call.http_request, operation.request),
                (call.result, operation.response),
                (call.http_result, operation.response),
            ):
                if theirs and ours:
                    yield TypePair(theirs, ours)

    def _find(
        self, pair: TypePair, row: Translation | None, linker: Linker, matcher: Matcher
    ) -> PairMatch | None:
        theirs = self.contract.type(self.dialect.name, pair.theirs)
        ours = self.contract.type(self.contract.canonical, pair.ours)
        listed = tuple(options(linker.ours, row)) if row else ()
        if listed:
            self._check_branches(pair, row, listed, linker)
            return Branches(listed)
        if isinstance(theirs, Enumeration) and isinstance(ours, Enumeration):
            return EnumPairs(theirs, ours)
        if isinstance(theirs, Alias) and (wrapped := matcher.unwrap(theirs.type, pair.ours)):
            return wrapped
        linked = linker.link(pair, row)
        if linked is None:
            source = row or theirs or self.dialect
            text = (
                f"{self.dialect.name}.{pair.theirs} and {self.contract.canonical}.{pair.ours} do "
                "not correspond"
            )
            self.report.add(
                source.place,
                "A2A-T08",
                text,
                "name two records, a union with its branches, or a wrapper and its content",
            )
        return linked

    def _check_branches(
        self, pair: TypePair, row: Translation | None, listed: tuple[Option, ...], linker: Linker
    ) -> None:
        there = set(branches(linker.theirs, pair.theirs))
        listed_branches = {option.branch for option in listed}
        place = row.place if row else self.dialect.place
        for branch in sorted(there ^ listed_branches):
            text = (
                f"{pair}: {branch} is "
                f"{'not in the table' if branch in there else f'no branch of {pair.theirs}'}"
            )
            self.report.add(place, "A2A-T02", text, "list exactly the branches of the union")


def _find_needed(found: PairMatch, pairs: TypePairs) -> Iterator[TypePair]:
    match found:
        case LinkedPair():
            for link in found.links:
                yield from pairs_in(link.match) if link.match else ()
        case WrapperMatch():
            yield from pairs_in(found)
        case Branches(listed):
            pairs.flat |= {option.pair for option in listed if not option.is_held}
            yield from (option.pair for option in listed)
        case _:
            return
