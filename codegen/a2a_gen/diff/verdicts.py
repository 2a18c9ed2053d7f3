"""Findings from changes, confirmed by documents and by the containment oracle.

A rule says which change it sees, where, and how to cure it; whether documents break is a fact:

    a witness is confirmed                     an error in its direction, unless the contract
                                               documents a tolerance
    containment is proven                      no effect in that direction; a finding without any
                                               effect is dropped
    neither                                    the level of the rule
    containment is disproven, no rule sees it  ``set-narrowed`` or ``set-widened``, at the deepest
                                               place that is disproven itself
    undecided, no rule sees it                 ``undecidable``, a warning
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from a2a_gen.diff.change import ChildPair, NodePair, SchemaChange
from a2a_gen.diff.compare import SchemaComparison
from a2a_gen.diff.directions import DIRECTIONS, READING, DocumentDirection
from a2a_gen.diff.documents.canonical_schemas import Containment
from a2a_gen.diff.documents.containment import (
    ContainmentOracle,
    ContainmentQuestion,
    get_ends,
)
from a2a_gen.diff.documents.proof import is_proven_by_rules
from a2a_gen.diff.documents.witness import Witness, WitnessFinder
from a2a_gen.diff.finding import (
    STRICT_PROFILES,
    Finding,
    compute_fingerprint,
    compute_level,
)
from a2a_gen.diff.rules.annotations import AFTER_SUNSET, ALIAS_REMOVED, BEFORE_SUNSET
from a2a_gen.diff.rules.applicators import (
    OPENED_OVERLAP,
    UNDECIDABLE,
    WHOLE_SCHEMA,
    is_about_unknown,
)
from a2a_gen.diff.rules.containment import NARROWED, WIDENED
from a2a_gen.diff.rules.enums import ENUM_CLOSED, ENUM_OPENED
from a2a_gen.diff.rules.properties import (
    ADDED_WITH_DEFAULT,
    REMOVED_OPTIONAL,
    RENAMED,
    RENAMED_ALIAS,
)
from a2a_gen.diff.rules.rule import ChangeLevel, ChangeLevels
from a2a_gen.diff.rules.texts import ENCODING_CHANGED
from a2a_gen.diff.rules.unions import TAG_CHANGED
from a2a_gen.diff.tree.reference_map import ReferenceMap
from a2a_gen.diff.tree.schema_node import Location, build_node
from a2a_gen.diff.usage import BOTH, Usage, UsageMap, find_enclosing_definition
from a2a_gen.source.json_text import unescape_key

# Changes of what strings, names and tags mean; the set of valid documents does not decide about
# them.
_MEANING_RULES = frozenset(
    {ALIAS_REMOVED, BEFORE_SUNSET, ENCODING_CHANGED, RENAMED, RENAMED_ALIAS, TAG_CHANGED}
)
_MEANING = "the documents stay valid, and mean something else"
_TOLERANT_RULES = frozenset({ADDED_WITH_DEFAULT, RENAMED_ALIAS, AFTER_SUNSET})


@dataclass(slots=True)
class ReachedPair:
    """A pair reached from definitions: the first of them, the path from it, and all of them."""

    root: NodePair
    path: tuple[ChildPair, ...]
    roots: list[NodePair] = field(default_factory=list[NodePair])
    usages: set[Usage] = field(default_factory=set[Usage])


@dataclass(frozen=True, slots=True)
class VerdictOptions:
    """Profile of the comparison, and whether witnesses are searched for."""

    profile: str
    find_witnesses: bool = True


class FindingBuilder:
    """Converts changes to findings, and adds those that no rule found."""

    def __init__(
        self,
        comparison: SchemaComparison,
        oracle: ContainmentOracle,
        maps: tuple[tuple[UsageMap, UsageMap], ReferenceMap],
        options: VerdictOptions,
    ) -> None:
        self._comparison = comparison
        self._trees = comparison.trees
        self._oracle = oracle
        self._usage_maps, self._references = maps
        self._options = options
        self._witness_finder = WitnessFinder(comparison)
        self._explained: dict[DocumentDirection, set[NodePair]] = {
            direction: set() for direction in DIRECTIONS
        }
        self._broken: dict[DocumentDirection, set[NodePair]] = {
            direction: set() for direction in DIRECTIONS
        }
        self._undecided: dict[DocumentDirection, set[NodePair]] = {
            direction: set() for direction in DIRECTIONS
        }

    def build(self, change: SchemaChange, reached: ReachedPair | None) -> Finding | None:
        """Build the finding of a change; ``None`` if the profile ignores it, or if the change is
        proven to have no effect.
        """
        usages = frozenset(reached.usages) if reached else BOTH
        if compute_level(change, usages, self._options.profile) is ChangeLevel.NONE:
            return None
        witnesses: list[Witness] = []
        if reached is not None and change.pair is not None:
            settled = self._settle(change, reached, usages, witnesses)
            if settled is None:
                return None
            change = settled
        return self._build_finding(change, reached, usages, witnesses)

    def _settle(
        self,
        change: SchemaChange,
        reached: ReachedPair,
        usages: frozenset[Usage],
        witnesses: list[Witness],
    ) -> SchemaChange | None:
        """Correct the levels of a change by facts; ``None`` if it has no effect."""
        if change.rule is REMOVED_OPTIONAL and self._is_described_elsewhere(change, reached):
            levels = replace(change.levels, read=ChangeLevel.INFO, write=ChangeLevel.INFO)
            return replace(change, level_override=levels)
        return self._settle_directions(change, reached, usages, witnesses)

    def _settle_directions(
        self,
        change: SchemaChange,
        reached: ReachedPair,
        usages: frozenset[Usage],
        witnesses: list[Witness],
    ) -> SchemaChange | None:
        levels = change.levels
        claimed = 0
        empty = 0
        for direction in DIRECTIONS:
            if not direction.has_effect(change):
                continue
            claimed += 1
            is_relevant = direction.usage in usages and self._options.profile in direction.profiles
            can_rise = direction.get_level(levels) is not ChangeLevel.ERROR and not _is_tolerated(
                change
            )
            witness = None
            if is_relevant:
                witness = self._find_witness(change, reached, direction, must_be_sent=can_rise)
            if witness is not None and can_rise:
                levels = direction.with_level(levels, ChangeLevel.ERROR)
            if witness is None and can_rise and is_relevant:
                witness = self._find_witness(change, reached, direction)
            if witness is not None:
                witnesses.append(witness)
            elif _is_about_documents(change) and self._is_proven_empty(change, reached, direction):
                empty += 1
                levels = direction.with_level(levels, ChangeLevel.INFO)
        if claimed and claimed == empty:
            return None
        self._note_effect(change, levels, reached)
        if levels == change.levels:
            return change
        return replace(change, level_override=levels)

    def _is_described_elsewhere(self, change: SchemaChange, reached: ReachedPair) -> bool:
        """Return true if a removed member had a schema, and the set of documents is proven to be
        the same: other keywords say the same.
        """
        file, pointer = change.old
        schema = self._trees[0].get_root(file).descend(*map(unescape_key, pointer.split("/")[1:]))
        is_free = schema is None or build_node(self._trees[0], [schema]).is_unconstrained
        return not is_free and all(
            self._is_proven_empty(change, reached, direction) for direction in DIRECTIONS
        )

    def _note_effect(
        self, change: SchemaChange, levels: ChangeLevels, reached: ReachedPair
    ) -> None:
        """Note the definitions that a change breaks, or may break."""
        for direction in DIRECTIONS:
            is_broken = direction.get_level(levels) is ChangeLevel.ERROR
            if direction.has_effect(change) and (is_broken or _is_tolerated(change)):
                self._explained[direction].update(reached.roots)
                self._broken[direction].update(reached.roots if is_broken else ())
            elif (
                change.rule is UNDECIDABLE
                and _is_about_documents(change)
                and direction.get_level(levels) is ChangeLevel.WARNING
            ):
                self._undecided[direction].update(reached.roots)

    def _find_witness(
        self,
        change: SchemaChange,
        reached: ReachedPair,
        direction: DocumentDirection,
        *,
        must_be_sent: bool = False,
    ) -> Witness | None:
        if not self._options.find_witnesses:
            return None
        is_newly_refused = direction is READING
        found = self._witness_finder.find(
            change,
            reached.path,
            reached.root,
            is_newly_refused=is_newly_refused,
            must_be_sent=must_be_sent,
        )
        if (
            found is None
            and must_be_sent
            and change.rule is UNDECIDABLE
            and change.pair == reached.root
        ):
            difference = self._oracle.find_difference(
                reached.root, ContainmentQuestion(direction.sender)
            )
            found = self._witness_finder.find_difference(
                reached.root, difference, is_newly_refused=is_newly_refused
            )
        return found

    def _is_proven_empty(
        self, change: SchemaChange, reached: ReachedPair, direction: DocumentDirection
    ) -> bool:
        question = ContainmentQuestion(direction.sender, is_strict=True)
        return all(self._is_contained(root, question) for root in reached.roots) or (
            change.pair is not None
            and not change.pair.is_partial
            and self._oracle.decide(change.pair, question) is Containment.YES
        )

    def _is_contained(self, seed: NodePair, question: ContainmentQuestion) -> bool:
        """Return true if the documents of a definition, or all documents that it is a part of, are
        contained.
        """
        if self._oracle.decide(seed, question) is Containment.YES:
            return True
        roots = self._references.find_roots(seed)
        return bool(roots) and all(
            self._oracle.decide(root, question) is Containment.YES for root in roots
        )

    def _build_finding(
        self,
        change: SchemaChange,
        reached: ReachedPair | None,
        usages: frozenset[Usage],
        witnesses: Sequence[Witness],
    ) -> Finding | None:
        level = self._compute_level(change, usages, reached)
        if level is ChangeLevel.NONE:
            return None
        old_definition, definition = (
            find_enclosing_definition(*each)
            for each in zip(self._trees, (change.old, change.new), strict=True)
        )
        users = (
            _find_called_users(change)
            | self._usage_maps[1].get_users(definition)
            | self._usage_maps[0].get_users(old_definition)
        )
        reads, writes = (
            each.usage in usages
            and self._options.profile in each.profiles
            and each.get_level(change.levels) >= ChangeLevel.WARNING
            for each in DIRECTIONS
        )
        has_search = (
            self._options.find_witnesses and reached is not None and change.pair is not None
        )
        # Its own text says that the effect cannot be decided; a witness has decided it.
        text = change.text
        if change.rule is UNDECIDABLE and witnesses:
            text = f"{dict(change.arguments)['name']} changed"
        missing = ""
        if has_search and reached is not None and level is ChangeLevel.ERROR and not witnesses:
            is_meaning = change.rule in _MEANING_RULES or not _is_about_documents(change)
            missing = _MEANING if is_meaning else self._witness_finder.explain_missing(reached.root)
        return Finding(
            rule=change.rule,
            level=level,
            text=text,
            old=self._trees[0].place_at(change.old),
            new=self._trees[1].place_at(change.new),
            definition=_get_definition_name(definition, reached),
            usages=usages,
            users=tuple(sorted(users)),
            fingerprint=compute_fingerprint(change),
            witnesses=tuple(witnesses),
            breaks_reading=reads and change.levels.read is ChangeLevel.ERROR,
            breaks_writing=writes and change.levels.write is ChangeLevel.ERROR,
            can_have_witness=has_search
            and ((reads and change.effect.is_narrowing) or (writes and change.effect.is_widening)),
            missing_witness=missing,
        )

    def _compute_level(
        self, change: SchemaChange, usages: frozenset[Usage], reached: ReachedPair | None
    ) -> ChangeLevel:
        """Return the level of a change; the profile, or what the comparison cannot follow, makes an
        undecided one fail.
        """
        level = compute_level(change, usages, self._options.profile)
        if (
            level is not ChangeLevel.WARNING
            or change.rule is not UNDECIDABLE
            or not _is_about_documents(change)
        ):
            return level
        is_opened = dict(change.arguments)["name"] == OPENED_OVERLAP
        is_strict = (
            self._options.profile in STRICT_PROFILES or is_opened or self._has_scopes(reached)
        )
        if is_strict:
            return ChangeLevel.ERROR
        return level

    def _has_scopes(self, reached: ReachedPair | None) -> bool:
        """Return true if a definition, or one that it refers to, has references that depend on
        scopes.
        """
        roots = reached.roots if reached else []
        seeds = set(roots).union(*map(self._references.find_below, roots))
        return any(
            seed.old_location[0] in self._trees[0].resources.scoped_files
            or seed.new_location[0] in self._trees[1].resources.scoped_files
            for seed in seeds
        )

    def find_unexplained(self, seeds: Mapping[NodePair, frozenset[Usage]]) -> Iterator[Finding]:
        """Find definitions that break although no rule says so."""
        for direction in DIRECTIONS:
            if self._options.profile not in direction.profiles:
                continue
            explained = self._explained[direction]
            question = ContainmentQuestion(direction.sender)
            self._oracle.assume(question, explained)
            for seed, usages in seeds.items():
                ends = get_ends(seed)
                if (
                    seed in explained
                    or direction.usage not in usages
                    or (ends and self._comparison.equality.is_same(*ends))
                ):
                    continue
                if self._is_contained(seed, question):
                    continue
                answer = self._oracle.decide(seed, question)
                if not self._is_proven_by_rules(seed, direction, answer, frozenset(seeds)):
                    finding = self._explain(seed, usages, direction, answer)
                    if finding is not None:
                        yield finding

    def _is_proven_by_rules(
        self,
        seed: NodePair,
        direction: DocumentDirection,
        answer: Containment,
        seeds: frozenset[NodePair],
    ) -> bool:
        return answer is Containment.UNKNOWN and is_proven_by_rules(
            self._comparison, seed, direction.has_effect, seeds
        )

    def _explain(
        self,
        seed: NodePair,
        usages: frozenset[Usage],
        direction: DocumentDirection,
        answer: Containment,
    ) -> Finding | None:
        """Build the finding of a definition that is not contained; ``None`` if the definitions that
        it refers to are the reason, or may be.
        """
        question = ContainmentQuestion(direction.sender)
        below = self._references.find_below(seed)
        ends = get_ends(seed)
        if answer is Containment.UNKNOWN and not self._explained[direction].isdisjoint(below):
            return None
        if (
            ends
            and not self._broken[direction].isdisjoint(below)
            and self._comparison.equality.has_same_text(*ends)
        ):
            return None
        difference = self._oracle.find_difference(seed, question)
        witness = self._witness_finder.find_difference(
            seed, difference, is_newly_refused=direction is READING
        )
        if answer is Containment.UNKNOWN and witness is None:
            if seed in self._undecided[direction]:
                return None
            change = SchemaChange(
                UNDECIDABLE, seed.old_location, seed.new_location, (("name", WHOLE_SCHEMA),), seed
            )
        else:
            place = self._locate(seed, question)
            change = SchemaChange(
                NARROWED if direction is READING else WIDENED,
                place.old_location,
                place.new_location,
                (),
                seed,
            )
        return self._build_finding(
            change, ReachedPair(seed, (), [seed]), usages, [witness] if witness else []
        )

    def _locate(self, seed: NodePair, question: ContainmentQuestion) -> NodePair:
        """Descend to the deepest pair that is disproven itself."""
        current = seed
        seen = {seed}
        while True:
            children = (
                child.pair
                for child in self._comparison.expand(current).children
                if child.pair not in seen
            )
            below = next(
                (
                    each
                    for each in children
                    if not each.is_partial and self._oracle.decide(each, question) is Containment.NO
                ),
                None,
            )
            if below is None:
                return current
            seen.add(below)
            current = below


def _is_tolerated(change: SchemaChange) -> bool:
    """Return true if the contract documents that readers are tolerant of a change."""
    return change.is_tolerated or change.rule in _TOLERANT_RULES


def _is_about_documents(change: SchemaChange) -> bool:
    """Return true if the set of valid documents decides about a change; not about meaning, nor
    about keywords that validators ignore.
    """
    is_meaning = change.rule in _MEANING_RULES or (
        change.rule in {ENUM_CLOSED, ENUM_OPENED} and change.level_override is not None
    )
    return not is_meaning and not is_about_unknown(change)


def _find_called_users(change: SchemaChange) -> frozenset[str]:
    """Return the operation or skill that a change of a table or card affects."""
    arguments = dict(change.arguments)
    name = arguments.get("name") or arguments.get("old", "")
    if change.rule.area == "operation" and " of " not in name:
        return frozenset({name.partition(" in ")[0]})
    is_skill = change.rule.id.startswith("skill-") or name.startswith("the skill ")
    if change.rule.area == "agent" and is_skill:
        return frozenset({f"skill {name.removeprefix('the skill ')}"})
    return frozenset()


def _get_definition_name(definition: Location, reached: ReachedPair | None) -> str:
    file, pointer = definition
    return pointer.rpartition("/")[2] or (reached.root.new.name if reached else "") or file
