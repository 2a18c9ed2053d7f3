"""Plan of a dialect's translations: the functions, module by module, and every problem of the
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, product

from a2a_gen.emit.translate.context import TranslationContext
from a2a_gen.emit.translate.links import Case, Link, LinkedPair, cases
from a2a_gen.emit.translate.members import Leaf, RecordMembers, TypePair, WrapperMatch
from a2a_gen.emit.translate.pairs import Branches, EnumPairs, PairFinder, PairMatch, TypePairs
from a2a_gen.emit.translate.reader import Reader
from a2a_gen.emit.translate.rules import Direction, TranslationProblems
from a2a_gen.emit.translate.steps import Function
from a2a_gen.emit.translate.unions import (
    Option,
    enum_functions,
    enumeration_functions,
    union_functions,
    wrapped_functions,
)
from a2a_gen.emit.translate.writer import Writer
from a2a_gen.ir.checks.tables import ANY_TYPE
from a2a_gen.ir.model import Constant, Contract, ContractDialect, Enumeration, Family, Loss, Record
from a2a_gen.problems import Place, Problem

# --- losses: declared losses and dropped members must agree ---


def find_dropped_members(linked: LinkedPair, *, is_flat: bool) -> Iterator[tuple[Direction, str]]:
    """List the members of a pair that do not survive, or not always."""
    read = [case for case in cases(linked, Direction.READ) if case.key]
    for leaf in linked.theirs:
        if not isinstance(leaf.field.type, Constant) and not _is_read(leaf, linked.links, read):
            yield Direction.READ, leaf.name
    written = cases(linked, Direction.WRITE)
    for leaf in linked.ours:
        if not _is_written(leaf, written, is_flat=is_flat):
            yield Direction.WRITE, leaf.name


def _is_read(leaf: Leaf, links: Sequence[Link], read: Sequence[Case]) -> bool:
    """Check that a member is read whenever it is present; of several that may be present at once,
    only the first becomes ours.
    """
    firsts = [case.link.theirs[:1] if case.link else () for case in read]
    place = next((place for place, first in enumerate(firsts) if leaf in first), 0)
    earlier = chain.from_iterable(firsts[:place])
    carriers = [link for link in links if leaf in link.theirs and link.carries(Direction.READ)]
    return any(_is_first_source(link, links) for link in carriers) and all(
        leaf.excludes(other) for other in earlier
    )


def _is_first_source(link: Link, links: Sequence[Link]) -> bool:
    """Check that no earlier link sets the same target."""
    targets = {leaf.path for leaf in link.ours}
    for each in links[: links.index(link)]:
        if each.sets(Direction.READ) and not targets.isdisjoint(leaf.path for leaf in each.ours):
            # Where they cannot be present together, the earlier one takes nothing away.
            pairs = product(each.theirs, link.theirs)
            if not any(one.excludes(other) for one, other in pairs):
                return False
    return True


def _is_written(leaf: Leaf, cases: Iterable[Case], *, is_flat: bool) -> bool:
    """Check that a member is written whenever it is present; of several that are written to one,
    only the first always is.
    """
    if leaf.last.is_chosen and len(leaf.steps) == 1:
        own = [case.link for case in cases if case.key is leaf and case.link]
        if own:
            return all(link.carries(Direction.WRITE) for link in own)
        return is_flat
    for case in cases:
        carriers = (link for link in case.links if link.carries(Direction.WRITE))
        if not any(_is_first(leaf, link) for link in carriers):
            return False
    return True


def _is_first(leaf: Leaf, link: Link) -> bool:
    return leaf in (link.ours[:1] if link.kind == "rename" else link.ours)


class Losses:
    """The list ``lossy`` of a dialect, and its lines that were used."""

    def __init__(self, dialect: ContractDialect, report: TranslationProblems) -> None:
        self._lines = dialect.lossy
        self._used: set[Loss] = set()
        self._report = report

    def require(self, pair: TypePair, place: Place, direction: Direction, member: str) -> None:
        """Record that a member does not survive; report a problem if no line declares it."""
        lines = [line for line in self._lines if _covers(line, pair, direction, member)]
        self._used.update(lines)
        if not lines:
            owner, verb = (
                (pair.theirs, "reading") if direction is Direction.READ else (pair.ours, "writing")
            )
            line = (
                f'{{"type": "{pair.theirs}", "member": "{member}", "direction": "{direction}", '
                f'"reason": …}}'
            )
            self._report.add(
                place,
                "A2A-T05",
                f"{pair}: {verb} loses {owner}.{member}",
                f'write a rule for it, or add to "lossy": {line}',
            )

    def allow(self, pair: TypePair, direction: Direction, member: str) -> None:
        """Accept declared losses of a member that a function derives, or inside it, where the plan
        cannot tell.
        """
        own = (
            line for line in self._lines if line.type == pair.theirs and line.direction == direction
        )
        self._used.update(
            line for line in own if line.member == member or line.member.startswith(f"{member}.")
        )

    def check(self) -> None:
        """Report unused lines."""
        for line in self._lines:
            if line not in self._used:
                text = f"{line.type}.{line.member} is not lost on {line.direction}"
                self._report.add(
                    line.place,
                    "A2A-T06",
                    text,
                    "delete the line, or correct its type, member and direction",
                )


def _covers(line: Loss, pair: TypePair, direction: Direction, member: str) -> bool:
    is_type = line.type in (ANY_TYPE, pair.theirs)
    return is_type and line.direction == direction and line.member == member


@dataclass(frozen=True, slots=True)
class Module:
    """The functions for the types of one file of a dialect."""

    family: Family
    functions: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class TranslationPlan:
    """Everything that is generated for one dialect."""

    dialect: ContractDialect
    canonical: str
    modules: tuple[Module, ...]
    problems: tuple[Problem, ...]


def build_plan(contract: Contract, dialect: ContractDialect) -> TranslationPlan:
    """Plan the translations of one dialect."""
    report = TranslationProblems()
    pairs = PairFinder(contract, dialect, report).pairs()
    planner = _Planner(_context(contract, dialect, pairs, report), pairs, Losses(dialect, report))
    functions: list[Function] = []
    for pair in sorted(pairs.found):
        functions += planner.functions(pair, pairs.found[pair])
    planner.losses.check()
    modules = tuple(_modules(contract, dialect, functions))
    return TranslationPlan(dialect, contract.canonical, modules, report.problems)


def _context(
    contract: Contract, dialect: ContractDialect, pairs: TypePairs, report: TranslationProblems
) -> TranslationContext:
    positional: set[TypePair] = set()
    for pair, found in pairs.found.items():
        links = found.links if isinstance(found, LinkedPair) else ()
        if any(link.kind == "position" for link in links):
            positional.add(pair)
    return TranslationContext(
        dialect,
        RecordMembers(contract, dialect.name),
        RecordMembers(contract, contract.canonical),
        frozenset(positional),
        report,
    )


def _modules(
    contract: Contract, dialect: ContractDialect, functions: list[Function]
) -> Iterator[Module]:
    for family in contract.families:
        if family.dialect == dialect.name:
            names = {str(definition.name): place for place, definition in enumerate(family.types)}
        else:
            names = {}
        own = sorted(
            (function for function in functions if function.pair.theirs in names),
            key=lambda each: names[each.pair.theirs],
        )
        if own:
            yield Module(family, tuple(own))


@dataclass(frozen=True, slots=True)
class _Planner:
    """Builds the functions of each pair and records their losses."""

    context: TranslationContext
    pairs: TypePairs
    losses: Losses

    def functions(self, pair: TypePair, found: PairMatch) -> Iterator[Function]:
        match found:
            case LinkedPair():
                yield from self._records(pair, found)
            case WrapperMatch():
                yield from self._wrapped(pair, found)
            case EnumPairs(theirs, ours):
                yield from self._enumerations(pair, theirs, ours)
            case Branches(listed):
                yield from self._union(pair, listed)

    def _records(self, pair: TypePair, linked: LinkedPair) -> Iterator[Function]:
        theirs = self.context.theirs.record(pair.theirs)
        ours = self.context.ours.record(pair.ours)
        if theirs and ours:
            is_flat = pair in self.pairs.flat
            for direction, member in find_dropped_members(linked, is_flat=is_flat):
                self.losses.require(pair, linked.place, direction, member)
            for link in linked.links:
                if link.kind in ("derive", "resource"):
                    for direction in Direction:
                        for leaf in link.sources(direction):
                            self.losses.allow(pair, direction, leaf.name)
            yield Reader(self.context).function(linked, ours)
            yield Writer(self.context).function(linked, theirs, is_flat=is_flat)

    def _wrapped(self, pair: TypePair, match: WrapperMatch) -> Iterator[Function]:
        ours = self.context.ours.record(pair.ours)
        for field in ours.fields if ours else ():
            if field != match.field:
                self.losses.require(pair, self.context.dialect.place, Direction.WRITE, field.wire)
        yield from wrapped_functions(self.context, pair, match)

    def _enumerations(
        self, pair: TypePair, theirs: Enumeration, ours: Enumeration
    ) -> Iterator[Function]:
        found = enum_functions(self.context, theirs, ours)
        for direction, word in found.lossy_words(theirs, ours):
            self.losses.require(pair, theirs.place, direction, word)
        yield from enumeration_functions(self.context, pair, theirs, ours, found)

    def _union(self, pair: TypePair, listed: tuple[Option, ...]) -> Iterator[Function]:
        ours = self.context.ours.record(pair.ours)
        returned = {
            option.branch: option.members[0] for option in reversed(listed) if option.is_held
        }
        written: set[str] = set()
        for option in listed:
            chosen = returned.get(option.branch)
            written |= {chosen} & set(option.members) if chosen else set(option.members)
        for option in listed:
            if not option.members:
                self.losses.require(pair, self.context.dialect.place, Direction.READ, option.branch)
        for member in ours.choice.members if isinstance(ours, Record) and ours.choice else ():
            if member not in written:
                self.losses.require(pair, self.context.dialect.place, Direction.WRITE, member)
        yield from union_functions(self.context, pair, listed)
