"""Corresponding members of a pair of records: rules first, then equal names; the remaining members
must be declared as lost.

A function reads members through a ``MemberSource``. A value knows that it may be ``None``; a target
knows that it must be present. One convention holds in both directions: where one side requires a
member and the other may omit it, the empty value of the first is the absence of the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, product

from a2a_gen.emit.render import literal
from a2a_gen.emit.translate.members import (
    Leaf,
    Match,
    Matcher,
    Path,
    PathStep,
    RecordMembers,
    TypePair,
    leaves,
    pairs_in,
)
from a2a_gen.emit.translate.rules import BRANCHES, RULE_KINDS, Direction, TranslationProblems
from a2a_gen.ir.model import (
    Alias,
    Constant,
    Enumeration,
    Field,
    Json,
    Primitive,
    Record,
    Ref,
    Translation,
    TranslationRule,
    TypeExpr,
)
from a2a_gen.problems import Place


@dataclass(frozen=True, slots=True)
class Link:
    """One correspondence: the kind of rule, the members on both sides, and the match of their types
    where that is the whole conversion.
    """

    kind: str
    theirs: tuple[Leaf, ...]
    ours: tuple[Leaf, ...]
    argument: Mapping[str, Json]
    match: Match | None = None

    @property
    def owned_members(self) -> tuple[Leaf, ...]:
        """Return the members of theirs that no other rule has to cover; the metadata beside a
        wrapped value also exist without it.
        """
        if self.kind == "wrap":
            return self.theirs[:1]
        return self.theirs

    def sets(self, direction: Direction) -> bool:
        """Check that the rule gives its target a value in this direction."""
        only = self.argument.get("direction")
        return direction in RULE_KINDS[self.kind].sets and only in (None, direction)

    def carries(self, direction: Direction) -> bool:
        """Check that the value of its source survives in this direction."""
        return direction in RULE_KINDS[self.kind].carries and self.sets(direction)

    def targets(self, direction: Direction) -> tuple[Leaf, ...]:
        """Return the members that get a value."""
        if direction is Direction.READ:
            return self.ours
        return self.theirs

    def sources(self, direction: Direction) -> tuple[Leaf, ...]:
        """Return the members that supply the value."""
        if direction is Direction.READ:
            return self.theirs
        return self.ours


@dataclass(frozen=True, slots=True)
class LinkedPair:
    """A pair of records with all correspondences."""

    pair: TypePair
    place: Place
    theirs: tuple[Leaf, ...]
    ours: tuple[Leaf, ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Linker:
    """Links the members of the records of two sides."""

    theirs: RecordMembers
    ours: RecordMembers
    matcher: Matcher
    report: TranslationProblems

    def link(self, pair: TypePair, translation: Translation | None) -> LinkedPair | None:
        """Link the members of a pair; ``None`` if either type is no record."""
        theirs = self.theirs.record(pair.theirs)
        ours = self.ours.record(pair.ours)
        if theirs is None or ours is None:
            return None
        rules = (
            [rule for rule in translation.rules if rule.kind not in BRANCHES] if translation else []
        )
        place = translation.place if translation else theirs.place
        opened_theirs, opened_ours = self._find_opened(theirs, ours, rules)
        their_leaves = leaves(self.theirs, theirs, opened_theirs)
        our_leaves = leaves(self.ours, ours, opened_ours)
        by_path = (
            {leaf.path: leaf for leaf in their_leaves},
            {leaf.path: leaf for leaf in our_leaves},
        )
        by_rule = (self._from_rule(pair, place, rule, *by_path) for rule in rules)
        links = [link for link in by_rule if link]
        links += self._from_names(pair, place, links, *by_path)
        return LinkedPair(pair, place, their_leaves, our_leaves, tuple(links))

    def _find_opened(
        self, theirs: Record, ours: Record, rules: Iterable[TranslationRule]
    ) -> tuple[frozenset[Path], frozenset[Path]]:
        """Return the records that rules reach into; a record opened on one side is also opened on
        the other side if it has the same name there.
        """
        their_paths = _parents(rule.theirs for rule in rules)
        our_paths = _parents(rule.ours for rule in rules)
        names = chain.from_iterable(rule.theirs for rule in rules)
        taken = {tuple(name.split(".")) for name in names}
        free = {path for path in their_paths | our_paths if path not in taken}
        both = {
            path
            for path in free
            if _reaches(self.theirs, theirs, path) and _reaches(self.ours, ours, path)
        }
        return frozenset(their_paths | both), frozenset(our_paths | both)

    def _from_rule(
        self,
        pair: TypePair,
        place: Place,
        rule: TranslationRule,
        theirs: Mapping[Path, Leaf],
        ours: Mapping[Path, Leaf],
    ) -> Link | None:
        if rule.kind not in RULE_KINDS:
            self.report.add(
                place,
                "A2A-T01",
                f"{pair}: unknown rule '{rule.kind}'",
                f"use one of {', '.join(RULE_KINDS)}",
            )
            return None
        wrapped = (("metadata",),) if rule.kind == "wrap" else ()
        their_paths = (*(tuple(name.split(".")) for name in rule.theirs), *wrapped)
        our_paths = (*(tuple(name.split(".")) for name in rule.ours), *wrapped)
        missing = [f"{pair.theirs}.{'.'.join(path)}" for path in their_paths if path not in theirs]
        missing += [f"{pair.ours}.{'.'.join(path)}" for path in our_paths if path not in ours]
        for member in missing:
            self.report.add(
                place,
                "A2A-T02",
                f"{pair}: unknown member {member}",
                "name a member of the schema, or delete the rule",
            )
        if missing:
            return None
        argument: Mapping[str, Json] = rule.argument if isinstance(rule.argument, Mapping) else {}
        link = Link(
            rule.kind,
            tuple(theirs[path] for path in their_paths),
            tuple(ours[path] for path in our_paths),
            argument,
        )
        if rule.kind == "rename":
            return self._match_types(pair, place, link)
        return link

    def _from_names(
        self,
        pair: TypePair,
        place: Place,
        links: Iterable[Link],
        theirs: Mapping[Path, Leaf],
        ours: Mapping[Path, Leaf],
    ) -> Iterable[Link]:
        """Link members of equal names that no rule carries."""
        links = tuple(links)
        for path, leaf in theirs.items():
            other = ours.get(path)
            is_set = any(leaf in link.owned_members for link in links)
            if (
                other is None
                or is_set
                or any(
                    other in link.ours and leaf not in link.theirs and link.sets(Direction.READ)
                    for link in links
                )
            ):
                continue
            if not isinstance(leaf.field.type, Constant):
                yield self._match_types(pair, place, Link("rename", (leaf,), (other,), {}))

    def _match_types(self, pair: TypePair, place: Place, link: Link) -> Link:
        matches = [
            self.matcher.match(leaf.field.type, other.field.type)
            for leaf, other in product(link.theirs, link.ours)
        ]
        if matches and None not in matches:
            return Link(link.kind, link.theirs, link.ours, link.argument, matches[0])
        members = f"{pair.theirs}.{link.theirs[0].name} and {pair.ours}.{link.ours[0].name}"
        text = f"{members} have types that do not correspond"
        self.report.add(
            place, "A2A-T03", text, "write a rule of kind 'derive', or change one of the types"
        )
        return link


def find_pairs(links: Iterable[Link]) -> set[TypePair]:
    """Find the pairs of named types that the members of links need."""
    return set(chain.from_iterable(pairs_in(link.match) for link in links))


def _parents(names: Iterable[tuple[str, ...]]) -> set[Path]:
    """List every record on the path to some members."""
    parents: set[Path] = set()
    for name in chain.from_iterable(names):
        path = tuple(name.split("."))
        parents |= {path[:length] for length in range(1, len(path))}
    return parents


def _reaches(side: RecordMembers, record: Record, path: Path) -> bool:
    records: tuple[Record, ...] = (record,)
    for name in path:
        field = records[0].field(name) if len(records) == 1 else None
        records = side.records(field.type) if field else ()
    return bool(records)


# --- cases: one per member of a group of which exactly one is present, or a single one ---


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the present member of ours, the link that carries it, and every link that has a
    value then.
    """

    key: Leaf | None
    link: Link | None
    links: tuple[Link, ...]

    def lacks(self, leaf: Leaf) -> bool:
        """Check that a member of either side is absent in this case."""
        present = (*self.link.theirs[:1], *((self.key,) if self.key else ())) if self.link else ()
        return any(leaf.excludes(other) for other in present)


def cases(linked: LinkedPair, direction: Direction) -> tuple[Case, ...]:
    """List the cases of a pair in one direction."""
    keys = [leaf for leaf in linked.ours if leaf.last.is_chosen and len(leaf.steps) == 1]
    active = tuple(link for link in linked.links if link.sets(direction))
    if not keys:
        return (Case(None, None, active),)
    found: list[Case] = []
    for key in keys:
        link = next((link for link in active if key in link.ours), None)
        if link:
            case = Case(key, link, ())
            found.append(
                Case(
                    key,
                    link,
                    tuple(
                        each
                        for each in active
                        if not any(map(case.lacks, (*each.theirs, *each.ours)))
                    ),
                )
            )
    return tuple(found)


# --- access to the members of the source ---


@dataclass(frozen=True, slots=True)
class ReadValue:
    """An expression that may be ``None``; one with another form where the value is known to be
    there, and for the question whether it is.
    """

    text: str
    nullable: bool = False
    present_text: str = ""
    condition: str = ""

    @property
    def present(self) -> str:
        """The expression where the value is there."""
        return self.present_text or self.text

    @property
    def presence(self) -> str:
        """The condition under which the value is there."""
        return self.condition or f"{self.text} is not None"


@dataclass(frozen=True, slots=True)
class OpenedHolder:
    """A record inside the source that has a local name in the function."""

    name: str
    value: str
    nullable: bool


@dataclass(slots=True)
class MemberSource:
    """The side that is translated: prints the access to its members, those of a model or those of
    its JSON.
    """

    side: RecordMembers
    root: str
    is_json: bool = False
    opened: dict[tuple[str, ...], OpenedHolder] = field(default_factory=dict)

    def open(self, leaves: Iterable[Leaf]) -> None:
        """Assign the records on the path to some members to local names."""
        for leaf in leaves:
            for length in range(1, len(leaf.steps)):
                path = leaf.path[:length]
                if path not in self.opened:
                    self.opened[path] = self._open(path, leaf.steps[:length])

    def _open(self, path: tuple[str, ...], steps: tuple[PathStep, ...]) -> OpenedHolder:
        step = steps[-1]
        text = self._read(self._holder(path), step)
        records = self.side.records(step.field.type)
        nullable = step.is_nullable
        if (
            nullable
            and not step.is_chosen
            and len(records) == 1
            and self.side.is_empty_valid(records[0])
        ):
            return OpenedHolder(
                step.field.python,
                f"{text} or {'base.NO_MEMBERS' if self.is_json else self.side.empty(records[0])}",
                nullable=False,
            )
        return OpenedHolder(step.field.python, text, nullable)

    def _read(self, holder: str, step: PathStep) -> str:
        """Print a member that may be absent; members with a default are part of the JSON of a
        model, but not of that of an earlier contract.
        """
        if not self.is_json or (not step.is_nullable and not step.field.has_read_default):
            return self._read_present(holder, step)
        default = "" if step.is_nullable else f", {_default(step.field)}"
        return f"{holder}.get({literal(step.field.wire)}{default})"

    def _read_present(self, holder: str, step: PathStep) -> str:
        if self.is_json:
            return f"{holder}[{literal(step.field.wire)}]"
        return f"{holder}.{step.field.python}"

    def _holder(self, path: tuple[str, ...]) -> str:
        if len(path) > 1:
            return self.opened[path[:-1]].name
        return self.root

    def text(self, leaf: Leaf) -> str:
        """Print a member, assuming that the records on its path are present."""
        return self._read(self._holder(leaf.path), leaf.last)

    def present(self, leaf: Leaf) -> str:
        """Print a member that is there."""
        return self._read_present(self._holder(leaf.path), leaf.last)

    def _print_presence(self, leaf: Leaf) -> str:
        """Print the condition under which a member is there. In JSON a null is a value."""
        if self.is_json:
            return f"{literal(leaf.field.wire)} in {self._holder(leaf.path)}"
        return f"{self.text(leaf)} is not None"

    def value(self, leaf: Leaf, known: frozenset[str]) -> ReadValue:
        """Print a member where some expressions are known not to be ``None``."""
        text = self.text(leaf)
        nullable = leaf.last.is_nullable and text not in known
        way = self.opened.get(leaf.path[:-1])
        if way and way.nullable and way.name not in known:
            return ReadValue(f"(None if {way.name} is None else {text})", nullable=True)
        if nullable:
            return ReadValue(
                text,
                nullable=True,
                present_text=self.present(leaf),
                condition=self._print_presence(leaf),
            )
        return ReadValue(self.present(leaf) if leaf.last.is_nullable else text)

    def conditions(self, leaf: Leaf) -> tuple[str, ...]:
        """List the conditions under which a member is present."""
        found: list[str] = []
        way = self.opened.get(leaf.path[:-1])
        if way and leaf.last.option:
            found.append(f"isinstance({way.name}, {self.side.dialect}.{leaf.last.option})")
        elif way and way.nullable:
            found.append(f"{way.name} is not None")
        if leaf.last.is_nullable:
            found.append(self._print_presence(leaf))
        return tuple(found)

    def known(self, leaf: Leaf) -> frozenset[str]:
        """List the expressions that are not ``None`` when a member is present."""
        way = self.opened.get(leaf.path[:-1])
        return frozenset({self.text(leaf)} | ({way.name} if way else set()))


def _default(member: Field) -> str:
    default = member.read_default
    if default is None or isinstance(default, str | int | float):
        return literal(default)
    if isinstance(default, tuple | list):
        return "[]"
    return "{}"


def fills_empty(expression: TypeExpr, side: RecordMembers) -> bool:
    """Check that the type has an empty value that means absence: text, lists and maps do; numbers,
    booleans, enumerations and records do not.
    """
    match expression:
        case Ref(name):
            definition = side.contract.type(side.dialect, name)
            return isinstance(definition, Alias) and fills_empty(definition.type, side)
        case Primitive():
            return expression is Primitive.STRING
        case _:
            return True


def enumeration(expression: TypeExpr, side: RecordMembers) -> Enumeration | None:
    """Return the enumeration of a member."""
    definition = (
        side.contract.type(side.dialect, expression.name) if isinstance(expression, Ref) else None
    )
    if isinstance(definition, Enumeration):
        return definition
    return None
