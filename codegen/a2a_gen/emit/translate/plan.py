"""The functions of a dialect, module by module, and everything that is wrong with its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2a_gen.emit.translate.context import Context
from a2a_gen.emit.translate.links import Linked
from a2a_gen.emit.translate.losses import Losses, dropped
from a2a_gen.emit.translate.matches import Pair, Wrapped
from a2a_gen.emit.translate.pairs import Branches, Found, Pairs, Vocabularies, Walk
from a2a_gen.emit.translate.paths import Side
from a2a_gen.emit.translate.reading import Reader
from a2a_gen.emit.translate.rules import Direction, Report
from a2a_gen.emit.translate.steps import Function
from a2a_gen.emit.translate.unions import Option, enumeration_functions, union_functions, words, wrapped_functions
from a2a_gen.emit.translate.writing import Writer
from a2a_gen.ir.model import Contract, Dialect, Enumeration, Family, Record
from a2a_gen.problems import Problem


@dataclass(frozen=True, slots=True)
class Module:
    """The functions for the types of one file of a dialect."""

    family: Family
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is generated for one dialect."""

    dialect: Dialect
    canonical: str
    modules: tuple[Module, ...]
    problems: tuple[Problem, ...]


def make_plan(contract: Contract, dialect: Dialect) -> Plan:
    """Plan the translations of one dialect."""
    report = Report()
    pairs = Walk(contract, dialect, report).pairs()
    planner = _Planner(_context(contract, dialect, pairs, report), pairs, Losses(dialect, report))
    functions = [function for pair in sorted(pairs.found) for function in planner.functions(pair, pairs.found[pair])]
    planner.losses.check()
    modules = tuple(_modules(contract, dialect, functions))
    return Plan(dialect, contract.canonical, modules, report.problems)


def _context(contract: Contract, dialect: Dialect, pairs: Pairs, report: Report) -> Context:
    linked = ((pair, found) for pair, found in pairs.found.items() if isinstance(found, Linked))
    positional = frozenset(pair for pair, found in linked if any(link.kind == "position" for link in found.links))
    return Context(dialect, Side(contract, dialect.name), Side(contract, contract.canonical), positional, report)


def _modules(contract: Contract, dialect: Dialect, functions: list[Function]) -> Iterator[Module]:
    for family in contract.families:
        names = {str(named.name): place for place, named in enumerate(family.types)} if family.dialect == dialect.name else {}
        own = sorted((function for function in functions if function.pair.theirs in names), key=lambda each: names[each.pair.theirs])
        if own:
            yield Module(family, tuple(own))


@dataclass(frozen=True, slots=True)
class _Planner:
    """Makes the functions of each pair and notes what they lose."""

    context: Context
    pairs: Pairs
    losses: Losses

    def functions(self, pair: Pair, found: Found) -> Iterator[Function]:
        match found:
            case Linked():
                yield from self._records(pair, found)
            case Wrapped():
                yield from self._wrapped(pair, found)
            case Vocabularies(theirs, ours):
                yield from self._enumerations(pair, theirs, ours)
            case Branches(listed):
                yield from self._union(pair, listed)

    def _records(self, pair: Pair, linked: Linked) -> Iterator[Function]:
        theirs, ours = self.context.theirs.record(pair.theirs), self.context.ours.record(pair.ours)
        if theirs and ours:
            is_flat = pair in self.pairs.flat
            for direction, member in dropped(linked, is_flat=is_flat):
                self.losses.demand(pair, linked.place, direction, member)
            for link in linked.links:
                if link.kind in ("derive", "resource"):
                    for direction in Direction:
                        for leaf in link.sources(direction):
                            self.losses.allow(pair, direction, leaf.name)
            yield Reader(self.context).function(linked, ours)
            yield Writer(self.context).function(linked, theirs, is_flat=is_flat)

    def _wrapped(self, pair: Pair, match: Wrapped) -> Iterator[Function]:
        ours = self.context.ours.record(pair.ours)
        for field in ours.fields if ours else ():
            if field != match.field:
                self.losses.demand(pair, self.context.dialect.place, Direction.WRITE, field.wire)
        yield from wrapped_functions(self.context, pair, match)

    def _enumerations(self, pair: Pair, theirs: Enumeration, ours: Enumeration) -> Iterator[Function]:
        found = words(self.context, theirs, ours)
        for direction, word in found.lost(theirs, ours):
            self.losses.demand(pair, theirs.place, direction, word)
        yield from enumeration_functions(self.context, pair, theirs, ours, found)

    def _union(self, pair: Pair, listed: tuple[Option, ...]) -> Iterator[Function]:
        ours = self.context.ours.record(pair.ours)
        returned = {option.branch: option.members[0] for option in reversed(listed) if option.is_held}
        written = {member for option in listed for member in option.members if returned.get(option.branch, member) == member}
        for option in listed:
            if not option.members:
                self.losses.demand(pair, self.context.dialect.place, Direction.READ, option.branch)
        for member in ours.choice.members if isinstance(ours, Record) and ours.choice else ():
            if member not in written:
                self.losses.demand(pair, self.context.dialect.place, Direction.WRITE, member)
        yield from union_functions(self.context, pair, listed)
