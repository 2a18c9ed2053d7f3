"""Comparing two sides as a whole: definitions by name, the pairs below them, the tables, the agent; and whom each change concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from a2a_gen.diff import definitions
from a2a_gen.diff.change import Change, Child, Pair
from a2a_gen.diff.compare import Comparison
from a2a_gen.diff.finding import Finding, fingerprint, level
from a2a_gen.diff.rules.agents import compare_agents, compare_versions
from a2a_gen.diff.rules.operations import compare_tables
from a2a_gen.diff.rules.python import compare_python
from a2a_gen.diff.rules.rule import Level
from a2a_gen.diff.schema_node import At
from a2a_gen.diff.sides import Side
from a2a_gen.diff.usage import BOTH, Role, Roles, owner
from a2a_gen.diff.witness import Witness, Witnesses


@dataclass(frozen=True)
class Report:
    """Everything that was found, the worst first."""

    findings: tuple[Finding, ...]
    compared: int
    baseline: str = ""

    def at_least(self, worst: Level) -> tuple[Finding, ...]:
        """Pick what is as bad as a level, or worse."""
        return tuple(finding for finding in self.findings if finding.level >= worst)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a comparison is made for: who counts, in which role plain schemas are, and what else to tell."""

    profile: str = "FULL"
    roles: frozenset[Role] = BOTH
    witnesses: bool = True
    docs: bool = False


@dataclass(slots=True)
class _Reached:
    """A pair that was reached: from which definition, on which path, and for whom."""

    root: Pair
    path: tuple[Child, ...]
    roles: set[Role] = field(default_factory=set)


def compare(old: Side, new: Side, wish: Wish) -> Report:
    """Compare two sides; those of the same texts are not looked into."""
    if old.says_the_same(new):
        return Report((), len(new.tree.definitions))
    comparison = Comparison(old.tree, new.tree)
    found = definitions.pair(comparison, docs=wish.docs)
    roles = (old.roles(wish.roles), new.roles(wish.roles))
    skills = tuple(_skill_pairs(old, new))
    reached = _walk(comparison, found.seeds, roles, skills)
    changes: list[tuple[Change, _Reached | None]] = [(change, each) for pair, each in reached.items() for change in comparison.expand(pair).changes]
    changes += [(change, None) for change in found.changes]
    changes += [(change, None) for change in _tables(comparison, old, new)]
    told = _Teller(comparison, roles, wish)
    if old.agent and new.agent:
        agents = list(compare_agents(old.agent, new.agent))
        broken = [change for change, _ in changes] + agents
        changes += [(change, None) for change in (*agents, *compare_versions(old.agent, new.agent, broken))]
    findings = {finding.fingerprint: finding for change, each in changes if (finding := told.finding(change, each)) is not None}
    ordered = sorted(findings.values(), key=lambda each: (-each.level, each.new, each.rule.code, each.text))
    return Report(tuple(ordered), len(found.seeds))


def _walk(comparison: Comparison, seeds: Sequence[Pair], roles: tuple[Roles, Roles], skills: Iterable[tuple[Pair, Role]]) -> Mapping[Pair, _Reached]:
    """Go from every definition to what is below it, up to the next definition that is compared itself."""
    all_seeds = set(seeds)
    reached: dict[Pair, _Reached] = {}
    starts = [(seed, roles[0].of(seed.old_at) | roles[1].of(seed.new_at)) for seed in seeds]
    starts += [(pair, frozenset({role})) for pair, role in skills]
    for seed, concerned in starts:
        waiting = [(seed, _Reached(seed, ()))]
        seen = {seed}
        while waiting:
            pair, way = waiting.pop()
            known = reached.setdefault(pair, way)
            known.roles |= concerned
            for child in comparison.expand(pair).children:
                if child.pair not in seen and child.pair not in all_seeds:
                    seen.add(child.pair)
                    waiting.append((child.pair, _Reached(seed, (*way.path, child))))
    return reached


def _skill_pairs(old: Side, new: Side) -> Iterator[tuple[Pair, Role]]:
    if old.agent is None or new.agent is None:
        return
    for identity, skill in new.agent.skills.items():
        before = old.agent.skills.get(identity)
        for use, address in skill.schemas.items():
            known = before.schemas.get(use) if before else None
            nodes = (old.node(known), new.node(address)) if known else (None, None)
            if nodes[0] is not None and nodes[1] is not None:
                role = Role.WRITTEN if use == "output" else Role.READ
                ends = (each.at.at if each.at else ("", "") for each in nodes if each is not None)
                yield Pair(nodes[0], nodes[1], *ends), role


def _tables(comparison: Comparison, old: Side, new: Side) -> Iterator[Change]:
    if old.contract is None or new.contract is None:
        return

    def is_same(dialect: str, before: str, after: str) -> bool:
        spots = (side.definition(dialect, name) for side, name in ((old, before), (new, after)))
        left, right = spots
        return left is not None and right is not None and comparison.sameness.holds(left, right)

    yield from compare_tables(old.contract, new.contract, is_same)
    yield from compare_python(old.contract, new.contract)


class _Teller:
    """Makes findings of changes."""

    def __init__(self, comparison: Comparison, roles: tuple[Roles, Roles], wish: Wish) -> None:
        self._trees = comparison.trees
        self._roles = roles
        self._wish = wish
        self._witnesses = Witnesses(comparison)

    def finding(self, change: Change, reached: _Reached | None) -> Finding | None:
        """Tell of a change; of one that concerns nobody there is nothing to tell."""
        roles = frozenset(reached.roles) if reached else BOTH
        worst = level(change, roles, self._wish.profile)
        if worst is Level.NONE:
            return None
        home = owner(self._trees[1], change.new)
        users = _called(change) | self._roles[1].who(home) | self._roles[0].who(owner(self._trees[0], change.old))
        reads = Role.READ in roles and self._wish.profile in {"WIRE", "FULL", "BACKWARD"} and change.levels.read >= Level.WARNING
        writes = Role.WRITTEN in roles and self._wish.profile in {"WIRE", "FULL", "FORWARD"} and change.levels.write >= Level.WARNING
        looks = self._wish.witnesses and reached is not None and change.pair is not None
        return Finding(
            rule=change.rule,
            level=worst,
            text=change.text,
            old=self._trees[0].place(change.old),
            new=self._trees[1].place(change.new),
            definition=_name(home, reached),
            roles=roles,
            users=tuple(sorted(users)),
            fingerprint=fingerprint(change),
            witnesses=tuple(self._look(change, reached, reads=reads, writes=writes)) if looks and reached else (),
            breaks_reading=reads and change.levels.read is Level.ERROR,
            breaks_writing=writes and change.levels.write is Level.ERROR,
            was_looked_for=looks and ((reads and change.effect.narrows) or (writes and change.effect.widens)),
        )

    def _look(self, change: Change, reached: _Reached, *, reads: bool, writes: bool) -> Iterator[Witness]:
        for wanted, was_taken in ((reads and change.effect.narrows, True), (writes and change.effect.widens, False)):
            if wanted:
                found = self._witnesses.find(change, reached.path, reached.root, was_taken=was_taken)
                if found is not None:
                    yield found


def _called(change: Change) -> frozenset[str]:
    """Name the operation or skill that a change of a table or a card is about."""
    words = dict(change.words)
    name = words.get("name") or words.get("old", "")
    if change.rule.area == "operation" and " of " not in name:
        return frozenset({name.partition(" in ")[0]})
    is_skill = change.rule.id.startswith("skill-") or name.startswith("the skill ")
    return frozenset({f"skill {name.removeprefix('the skill ')}"}) if change.rule.area == "agent" and is_skill else frozenset()


def _name(home: At, reached: _Reached | None) -> str:
    file, pointer = home
    return pointer.rpartition("/")[2] or (reached.root.new.name if reached else "") or file


# The answer in words, above everything else: can the new version be deployed while clients of the old one live?

_MOST_NAMED = 6
_CALLS = frozenset({"operation", "agent", "proto", "state"})


def verdict(report: Report) -> str:
    """Say in a sentence or two what the findings mean for those who rely on the old version."""
    errors, warnings = report.at_least(Level.ERROR), [each for each in report.findings if each.level is Level.WARNING]
    wire = [each for each in errors if each.breaks_reading or each.breaks_writing]
    old = f"clients of {report.baseline}" if report.baseline else "clients of the old version"
    if wire:
        return f"Not safe to deploy while {old} live: {_reasons(wire)}.{_concerned(wire)}"
    if errors:
        return f"Safe on the wire while {old} live, but Python code that uses what is generated must change ({_count(len(errors), 'place')})."
    if warnings:
        return f"Probably safe to deploy while {old} live; {_count(len(warnings), 'change')} may be noticed: look at the warnings."
    if report.findings:
        return f"Safe to deploy while {old} live: everything that changed is an addition or makes no difference to them."
    return f"Safe to deploy while {old} live: nothing changed for them."


def counts(findings: Iterable[Finding]) -> str:
    """Count findings by their level."""
    found = Counter(finding.level for finding in findings)
    return ", ".join(_count(found[level], str(level)) for level in (Level.ERROR, Level.WARNING)) + f", {found[Level.INFO]} info"


def _reasons(wire: list[Finding]) -> str:
    calls = [each for each in wire if each.rule.area in _CALLS]
    documents = [each for each in wire if each.rule.area not in _CALLS]
    reading, writing = sum(each.breaks_reading for each in documents), sum(each.breaks_writing for each in documents)
    reasons: list[str] = []
    if calls:
        reasons.append(f"what they call or rely on is not what it was ({_count(len(calls), 'change')})")
    if reading:
        reasons.append(f"documents that they send would be refused ({_count(reading, 'change')})")
    if writing:
        reasons.append(f"they would get documents that they refuse ({_count(writing, 'change')})")
    return ", and ".join(reasons)


def _concerned(wire: list[Finding]) -> str:
    users = sorted({user for each in wire for user in each.users})
    if not users:
        return ""
    shown = ", ".join(users[:_MOST_NAMED])
    return f" Concerned: {shown}{f' and {len(users) - _MOST_NAMED} more' if len(users) > _MOST_NAMED else ''}."


def ways(finding: Finding) -> str:
    """Say in which ways a definition is used."""
    return " and ".join(role.value for role in (Role.READ, Role.WRITTEN) if role in finding.roles)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
