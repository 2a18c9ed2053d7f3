"""Comparison of two sides: definitions, the pairs below them, the tables and the agent; and the
usages of each change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from a2a_gen.diff.change import NOWHERE, NodePair, SchemaChange
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.documents.containment import ContainmentOracle, get_ends
from a2a_gen.diff.finding import Finding, merge_findings
from a2a_gen.diff.rules.agents import compare_agents, compare_versions
from a2a_gen.diff.rules.operations import compare_tables
from a2a_gen.diff.rules.python import compare_python
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import ContractSide
from a2a_gen.diff.tree import definitions
from a2a_gen.diff.tree.reference_map import ReferenceMap
from a2a_gen.diff.tree.schema_node import build_node
from a2a_gen.diff.usage import BOTH, Usage, UsageMap
from a2a_gen.diff.verdicts import FindingBuilder, ReachedPair, VerdictOptions
from a2a_gen.problems import pluralize


@dataclass(frozen=True)
class Report:
    """All findings, the highest level first."""

    findings: tuple[Finding, ...]
    compared_count: int
    baseline: str = ""

    def findings_at_least(self, level: ChangeLevel) -> tuple[Finding, ...]:
        """Select findings of a level or above."""
        return tuple(finding for finding in self.findings if finding.level >= level)


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """Options of a comparison: profile, usages of plain schemas, and optional steps."""

    profile: str = "FULL"
    usages: frozenset[Usage] = BOTH
    find_witnesses: bool = True
    include_docs: bool = False


def compare(old: ContractSide, new: ContractSide, options: CompareOptions) -> Report:
    """Compare two sides; sides with equal text are not expanded."""
    if old.has_same_text(new):
        return Report((), len(new.tree.definitions))
    comparison = SchemaComparison(old.tree, new.tree)
    paired = definitions.pair_definitions(comparison, include_docs=options.include_docs)
    usages = (old.build_usage_map(options.usages), new.build_usage_map(options.usages))
    skills = tuple(_pair_skills(old, new))
    oracle = ContainmentOracle(
        comparison.trees, comparison.equality, [*paired.pairs, *(pair for pair, _ in skills)]
    )
    seeds = _collect_seeds(paired.pairs, usages, skills)
    references = ReferenceMap(comparison.trees, seeds)
    for seed in seeds:
        if references.is_unused(seed):
            seeds[seed] = frozenset()
    changes: list[tuple[SchemaChange, ReachedPair | None]] = []
    for pair, each in _walk(comparison, seeds).items():
        changes += [(change, each) for change in comparison.expand(pair).changes]
    changes += [(change, None) for change in paired.changes]
    changes += [(change, None) for change in _compare_tables(comparison, old, new)]
    builder = FindingBuilder(
        comparison,
        oracle,
        (usages, references),
        VerdictOptions(options.profile, options.find_witnesses),
    )
    if old.agent and new.agent:
        agents = list(compare_agents(old.agent, new.agent))
        all_changes = [change for change, _ in changes] + agents
        changes += [
            (change, None)
            for change in (*agents, *compare_versions(old.agent, new.agent, all_changes))
        ]
    built = (builder.build(change, each) for change, each in changes)
    found = [finding for finding in built if finding is not None]
    found += builder.find_unexplained(seeds)
    return Report(sort_findings(merge_findings(found)), len(paired.pairs))


def _collect_seeds(
    pairs: Iterable[NodePair],
    usages: tuple[UsageMap, UsageMap],
    skills: Iterable[tuple[NodePair, Usage]],
) -> dict[NodePair, frozenset[Usage]]:
    """Collect the definitions of both sides with their usages."""
    seeds = {
        pair: usages[0].get_usages(pair.old_location) | usages[1].get_usages(pair.new_location)
        for pair in pairs
    }
    for pair, usage in skills:
        seeds[pair] = seeds.get(pair, frozenset()) | {usage}
    return seeds


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings: the highest level first, then by place."""
    return tuple(
        sorted(findings, key=lambda each: (-each.level, each.new, each.rule.code, each.text))
    )


def _walk(
    comparison: SchemaComparison, seeds: Mapping[NodePair, frozenset[Usage]]
) -> Mapping[NodePair, ReachedPair]:
    """Walk from every definition to the pairs below it, stopping at definitions that are compared
    themselves.
    """
    reached: dict[NodePair, ReachedPair] = {}
    for seed, usages in seeds.items():
        if _changes_only_below(comparison, seed, seeds):
            reached.setdefault(seed, ReachedPair(seed, ())).usages.update(usages)
            continue
        pending = [(seed, ReachedPair(seed, ()))]
        seen = {seed}
        while pending:
            pair, origin = pending.pop()
            known = reached.setdefault(pair, origin)
            known.usages.update(usages)
            known.roots.append(seed)
            for child in comparison.expand(pair).children:
                if child.pair not in seen and child.pair not in seeds:
                    seen.add(child.pair)
                    pending.append((child.pair, ReachedPair(seed, (*origin.path, child))))
    return reached


def _changes_only_below(
    comparison: SchemaComparison, seed: NodePair, seeds: Container[NodePair]
) -> bool:
    """Return true if a definition has equal text in both versions and changes only through
    definitions that are compared themselves.
    """
    ends = get_ends(seed)
    if ends is None or seed.old.schemas != (ends[0],) or seed.new.schemas != (ends[1],):
        return False
    references = comparison.equality.find_references(*ends)
    return references is not None and all(
        comparison.equality.is_same(old, new)
        or NodePair(build_node(comparison.trees[0], [old]), build_node(comparison.trees[1], [new]))
        in seeds
        for old, new in references
    )


def _pair_skills(old: ContractSide, new: ContractSide) -> Iterator[tuple[NodePair, Usage]]:
    if old.agent is None or new.agent is None:
        return
    for identity, skill in new.agent.skills.items():
        before = old.agent.skills.get(identity)
        for use, address in skill.schemas.items():
            base_address = before.schemas.get(use) if before else None
            old_node = old.find_node(base_address) if base_address else None
            new_node = new.find_node(address) if base_address else None
            if old_node is not None and new_node is not None:
                usage = Usage.WRITTEN if use == "output" else Usage.READ
                old_location = old_node.origin.location if old_node.origin else NOWHERE
                new_location = new_node.origin.location if new_node.origin else NOWHERE
                yield NodePair(old_node, new_node, old_location, new_location), usage


def _compare_tables(
    comparison: SchemaComparison, old: ContractSide, new: ContractSide
) -> Iterator[SchemaChange]:
    if old.contract is None or new.contract is None:
        return

    def is_same(dialect: str, before: str, after: str) -> bool:
        left = old.find_definition(dialect, before)
        right = new.find_definition(dialect, after)
        return left is not None and right is not None and comparison.equality.is_same(left, right)

    yield from compare_tables(old.contract, new.contract, is_same)
    yield from compare_python(old.contract, new.contract)


_MAX_LISTED_USERS = 6
_CALL_AREAS = frozenset({"operation", "agent", "proto", "state"})


def render_verdict(report: Report) -> str:
    """Summarize in one or two sentences if the revision can be deployed while old clients are in
    use.
    """
    errors = report.findings_at_least(ChangeLevel.ERROR)
    warnings = [each for each in report.findings if each.level is ChangeLevel.WARNING]
    wire = [each for each in errors if each.breaks_reading or each.breaks_writing]
    old = f"clients of {report.baseline}" if report.baseline else "clients of the old version"
    if wire:
        return (
            f"Not safe to deploy while {old} are in use: "
            f"{_render_reasons(wire)}.{_render_users(wire)}"
        )
    if errors:
        return (
            f"Safe on the wire while {old} are in use, but code that uses the generated Python "
            f"must change ({pluralize(len(errors), 'place')})."
        )
    if warnings:
        return (
            f"Probably safe to deploy while {old} are in use; review "
            f"{pluralize(len(warnings), 'warning')}."
        )
    if report.findings:
        return (
            f"Safe to deploy while {old} are in use: every change is an addition or has no "
            "effect on them."
        )
    return f"Safe to deploy while {old} are in use: no changes."


def render_counts(findings: Iterable[Finding]) -> str:
    """Count findings by level."""
    counts = Counter(finding.level for finding in findings)
    return (
        f"{pluralize(counts[ChangeLevel.ERROR], 'error')}, "
        f"{pluralize(counts[ChangeLevel.WARNING], 'warning')}, {counts[ChangeLevel.INFO]} info"
    )


def _render_reasons(wire: list[Finding]) -> str:
    calls = [each for each in wire if each.rule.area in _CALL_AREAS]
    documents = [each for each in wire if each.rule.area not in _CALL_AREAS]
    reading = sum(each.breaks_reading for each in documents)
    writing = sum(each.breaks_writing for each in documents)
    reasons: list[str] = []
    if calls:
        reasons.append(
            f"operations or features that they rely on changed ({pluralize(len(calls), 'change')})"
        )
    if reading:
        reasons.append(f"documents that they send are rejected ({pluralize(reading, 'change')})")
    if writing:
        reasons.append(f"they reject documents that they receive ({pluralize(writing, 'change')})")
    return ", and ".join(reasons)


def _render_users(wire: list[Finding]) -> str:
    users = sorted(set(chain.from_iterable(each.users for each in wire)))
    if not users:
        return ""
    listed = ", ".join(users[:_MAX_LISTED_USERS])
    if len(users) > _MAX_LISTED_USERS:
        listed += f" and {len(users) - _MAX_LISTED_USERS} more"
    return f" Affected: {listed}."


def render_usages(finding: Finding) -> str:
    """Describe the usages of a definition."""
    return " and ".join(usage.value for usage in Usage if usage in finding.usages)
