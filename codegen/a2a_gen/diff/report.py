"""Comparing two sides as a whole: definitions by name, the pairs below them, the tables, the agent; and whom each change concerns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from a2a_gen.diff import definitions
from a2a_gen.diff.change import ChildPair, NodePair, SchemaChange
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.finding import Finding, compute_fingerprint, compute_level
from a2a_gen.diff.rules.agents import compare_agents, compare_versions
from a2a_gen.diff.rules.operations import compare_tables
from a2a_gen.diff.rules.python import compare_python
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.schema_node import Location
from a2a_gen.diff.sides import ContractSide
from a2a_gen.diff.usage import BOTH, Usage, UsageMap, find_enclosing_definition
from a2a_gen.diff.witness import Witness, WitnessFinder


@dataclass(frozen=True)
class Report:
    """Everything that was found, the worst first."""

    findings: tuple[Finding, ...]
    compared_count: int
    baseline: str = ""

    def findings_at_least(self, level: ChangeLevel) -> tuple[Finding, ...]:
        """Pick what is as bad as a level, or worse."""
        return tuple(finding for finding in self.findings if finding.level >= level)


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """What a comparison is made for: who counts, in which role plain schemas are, and what else to tell."""

    profile: str = "FULL"
    usages: frozenset[Usage] = BOTH
    find_witnesses: bool = True
    include_docs: bool = False


@dataclass(slots=True)
class _ReachedPair:
    """A pair that was reached: from which definition, on which path, and for whom."""

    root: NodePair
    path: tuple[ChildPair, ...]
    usages: set[Usage] = field(default_factory=set)


def compare(old: ContractSide, new: ContractSide, options: CompareOptions) -> Report:
    """Compare two sides; those of the same texts are not looked into."""
    if old.has_same_text(new):
        return Report((), len(new.tree.definitions))
    comparison = SchemaComparison(old.tree, new.tree)
    found = definitions.pair_definitions(comparison, include_docs=options.include_docs)
    roles = (old.build_usage_map(options.usages), new.build_usage_map(options.usages))
    skills = tuple(_pair_skills(old, new))
    reached = _walk(comparison, found.pairs, roles, skills)
    changes: list[tuple[SchemaChange, _ReachedPair | None]] = [
        (change, each) for pair, each in reached.items() for change in comparison.expand(pair).changes
    ]
    changes += [(change, None) for change in found.changes]
    changes += [(change, None) for change in _compare_tables(comparison, old, new)]
    told = _FindingBuilder(comparison, roles, options)
    if old.agent and new.agent:
        agents = list(compare_agents(old.agent, new.agent))
        broken = [change for change, _ in changes] + agents
        changes += [(change, None) for change in (*agents, *compare_versions(old.agent, new.agent, broken))]
    findings = {finding.fingerprint: finding for change, each in changes if (finding := told.build(change, each)) is not None}
    ordered = sorted(findings.values(), key=lambda each: (-each.level, each.new, each.rule.code, each.text))
    return Report(tuple(ordered), len(found.pairs))


def _walk(
    comparison: SchemaComparison, seeds: Sequence[NodePair], usages: tuple[UsageMap, UsageMap], skills: Iterable[tuple[NodePair, Usage]]
) -> Mapping[NodePair, _ReachedPair]:
    """Go from every definition to what is below it, up to the next definition that is compared itself."""
    all_seeds = set(seeds)
    reached: dict[NodePair, _ReachedPair] = {}
    starts = [(seed, usages[0].get_usages(seed.old_location) | usages[1].get_usages(seed.new_location)) for seed in seeds]
    starts += [(pair, frozenset({role})) for pair, role in skills]
    for seed, concerned in starts:
        waiting = [(seed, _ReachedPair(seed, ()))]
        seen = {seed}
        while waiting:
            pair, way = waiting.pop()
            known = reached.setdefault(pair, way)
            known.usages |= concerned
            for child in comparison.expand(pair).children:
                if child.pair not in seen and child.pair not in all_seeds:
                    seen.add(child.pair)
                    waiting.append((child.pair, _ReachedPair(seed, (*way.path, child))))
    return reached


def _pair_skills(old: ContractSide, new: ContractSide) -> Iterator[tuple[NodePair, Usage]]:
    if old.agent is None or new.agent is None:
        return
    for identity, skill in new.agent.skills.items():
        before = old.agent.skills.get(identity)
        for use, address in skill.schemas.items():
            known = before.schemas.get(use) if before else None
            nodes = (old.find_node(known), new.find_node(address)) if known else (None, None)
            if nodes[0] is not None and nodes[1] is not None:
                role = Usage.WRITTEN if use == "output" else Usage.READ
                ends = (each.origin.location if each.origin else ("", "") for each in nodes if each is not None)
                yield NodePair(nodes[0], nodes[1], *ends), role


def _compare_tables(comparison: SchemaComparison, old: ContractSide, new: ContractSide) -> Iterator[SchemaChange]:
    if old.contract is None or new.contract is None:
        return

    def is_same(dialect: str, before: str, after: str) -> bool:
        spots = (side.find_definition(dialect, name) for side, name in ((old, before), (new, after)))
        left, right = spots
        return left is not None and right is not None and comparison.equality.is_same(left, right)

    yield from compare_tables(old.contract, new.contract, is_same)
    yield from compare_python(old.contract, new.contract)


class _FindingBuilder:
    """Makes findings of changes."""

    def __init__(self, comparison: SchemaComparison, usages: tuple[UsageMap, UsageMap], options: CompareOptions) -> None:
        self._trees = comparison.trees
        self._usage_maps = usages
        self._options = options
        self._witness_finder = WitnessFinder(comparison)

    def build(self, change: SchemaChange, reached: _ReachedPair | None) -> Finding | None:
        """Tell of a change; of one that concerns nobody there is nothing to tell."""
        roles = frozenset(reached.usages) if reached else BOTH
        worst = compute_level(change, roles, self._options.profile)
        if worst is ChangeLevel.NONE:
            return None
        home = find_enclosing_definition(self._trees[1], change.new)
        users = (
            _find_called_users(change)
            | self._usage_maps[1].get_users(home)
            | self._usage_maps[0].get_users(find_enclosing_definition(self._trees[0], change.old))
        )
        reads = Usage.READ in roles and self._options.profile in {"WIRE", "FULL", "BACKWARD"} and change.levels.read >= ChangeLevel.WARNING
        writes = Usage.WRITTEN in roles and self._options.profile in {"WIRE", "FULL", "FORWARD"} and change.levels.write >= ChangeLevel.WARNING
        looks = self._options.find_witnesses and reached is not None and change.pair is not None
        return Finding(
            rule=change.rule,
            level=worst,
            text=change.text,
            old=self._trees[0].place_at(change.old),
            new=self._trees[1].place_at(change.new),
            definition=_get_definition_name(home, reached),
            usages=roles,
            users=tuple(sorted(users)),
            fingerprint=compute_fingerprint(change),
            witnesses=tuple(self._find_witnesses(change, reached, reads=reads, writes=writes)) if looks and reached else (),
            breaks_reading=reads and change.levels.read is ChangeLevel.ERROR,
            breaks_writing=writes and change.levels.write is ChangeLevel.ERROR,
            can_have_witness=looks and ((reads and change.effect.is_narrowing) or (writes and change.effect.is_widening)),
        )

    def _find_witnesses(self, change: SchemaChange, reached: _ReachedPair, *, reads: bool, writes: bool) -> Iterator[Witness]:
        for wanted, was_taken in ((reads and change.effect.is_narrowing, True), (writes and change.effect.is_widening, False)):
            if wanted:
                found = self._witness_finder.find(change, reached.path, reached.root, is_newly_refused=was_taken)
                if found is not None:
                    yield found


def _find_called_users(change: SchemaChange) -> frozenset[str]:
    """Name the operation or skill that a change of a table or a card is about."""
    words = dict(change.arguments)
    name = words.get("name") or words.get("old", "")
    if change.rule.area == "operation" and " of " not in name:
        return frozenset({name.partition(" in ")[0]})
    is_skill = change.rule.id.startswith("skill-") or name.startswith("the skill ")
    return frozenset({f"skill {name.removeprefix('the skill ')}"}) if change.rule.area == "agent" and is_skill else frozenset()


def _get_definition_name(home: Location, reached: _ReachedPair | None) -> str:
    file, pointer = home
    return pointer.rpartition("/")[2] or (reached.root.new.name if reached else "") or file


# The answer in words, above everything else: can the new version be deployed while clients of the old one live?

_MAX_NAMED_USERS = 6
_CALL_AREAS = frozenset({"operation", "agent", "proto", "state"})


def render_verdict(report: Report) -> str:
    """Say in a sentence or two what the findings mean for those who rely on the old version."""
    errors, warnings = report.findings_at_least(ChangeLevel.ERROR), [each for each in report.findings if each.level is ChangeLevel.WARNING]
    wire = [each for each in errors if each.breaks_reading or each.breaks_writing]
    old = f"clients of {report.baseline}" if report.baseline else "clients of the old version"
    if wire:
        return f"Not safe to deploy while {old} live: {_render_reasons(wire)}.{_render_users(wire)}"
    if errors:
        return f"Safe on the wire while {old} live, but Python code that uses what is generated must change ({_pluralize(len(errors), 'place')})."
    if warnings:
        return f"Probably safe to deploy while {old} live; {_pluralize(len(warnings), 'change')} may be noticed: look at the warnings."
    if report.findings:
        return f"Safe to deploy while {old} live: everything that changed is an addition or makes no difference to them."
    return f"Safe to deploy while {old} live: nothing changed for them."


def render_counts(findings: Iterable[Finding]) -> str:
    """Count findings by their level."""
    found = Counter(finding.level for finding in findings)
    return ", ".join(_pluralize(found[level], str(level)) for level in (ChangeLevel.ERROR, ChangeLevel.WARNING)) + f", {found[ChangeLevel.INFO]} info"


def _render_reasons(wire: list[Finding]) -> str:
    calls = [each for each in wire if each.rule.area in _CALL_AREAS]
    documents = [each for each in wire if each.rule.area not in _CALL_AREAS]
    reading, writing = sum(each.breaks_reading for each in documents), sum(each.breaks_writing for each in documents)
    reasons: list[str] = []
    if calls:
        reasons.append(f"what they call or rely on is not what it was ({_pluralize(len(calls), 'change')})")
    if reading:
        reasons.append(f"documents that they send would be refused ({_pluralize(reading, 'change')})")
    if writing:
        reasons.append(f"they would get documents that they refuse ({_pluralize(writing, 'change')})")
    return ", and ".join(reasons)


def _render_users(wire: list[Finding]) -> str:
    users = sorted({user for each in wire for user in each.users})
    if not users:
        return ""
    shown = ", ".join(users[:_MAX_NAMED_USERS])
    return f" Concerned: {shown}{f' and {len(users) - _MAX_NAMED_USERS} more' if len(users) > _MAX_NAMED_USERS else ''}."


def render_usages(finding: Finding) -> str:
    """Say in which ways a definition is used."""
    return " and ".join(role.value for role in (Usage.READ, Usage.WRITTEN) if role in finding.usages)


def _pluralize(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
