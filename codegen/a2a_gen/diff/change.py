"""What a comparison yields: changes at places, and the pairs of nodes below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from a2a_gen.diff import canonical
from a2a_gen.diff.rules.rule import ChangeLevels, ChangeRule, Effect
from a2a_gen.diff.schema_node import Location, SchemaLocation, SchemaNode, SchemaTree, build_node
from a2a_gen.diff.value_set import Alternative, get_kind
from a2a_gen.source.json_text import Json, escape_key

TextArguments: TypeAlias = Mapping[str, str]
Step: TypeAlias = tuple[str, str | int]
"""How one gets from a value to one inside it: ``("member", name)``, ``("any member", "")``, ``("item", index)`` or ``("name", "")``."""

NOWHERE: Location = ("", "")


@dataclass(frozen=True, slots=True)
class NodePair:
    """Two nodes to compare, and where each is used."""

    old: SchemaNode
    new: SchemaNode
    old_location: Location = field(default=NOWHERE, compare=False)
    new_location: Location = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Focus:
    """Which values show a change, and not another one at the same place: of an alternative, without or having a member, of some kinds."""

    alternative: Alternative | None = None
    missing_members: tuple[str, str] = ("", "")
    present_members: tuple[str, str] = ("", "")
    value: str = ""
    kinds: frozenset[str] = frozenset()

    def can_show(self, value: Json, accepting_side: int) -> bool:
        """Tell whether a value that the old side (0) or the new one (1) takes can show the change."""
        if self.value and canonical.to_key(value) != self.value:
            return False
        wanted, unwanted = self.present_members[accepting_side], self.missing_members[accepting_side]
        if unwanted or wanted:
            return isinstance(value, dict) and unwanted not in value and (not wanted or wanted in value)
        return not self.kinds or get_kind(value) in self.kinds


ANY_VALUE = Focus()


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One rule that applies at one place; ``levels`` where they differ from the rule's."""

    rule: ChangeRule
    old: Location
    new: Location
    arguments: tuple[tuple[str, str], ...] = ()
    pair: NodePair | None = field(default=None, compare=False)
    focus: Focus = field(default=ANY_VALUE, compare=False)
    level_override: ChangeLevels | None = None

    @property
    def levels(self) -> ChangeLevels:
        """How bad it is, for each of the three."""
        return self.level_override or self.rule.levels

    @property
    def effect(self) -> Effect:
        """What it does to the set of documents."""
        return self.rule.effect

    @property
    def text(self) -> str:
        """Tell it in words."""
        return self.rule.message.format(**dict(self.arguments))


@dataclass(frozen=True, slots=True)
class ChildPair:
    """A pair below another: the step that leads there, and the alternatives of the outer pair through which it goes."""

    pair: NodePair
    step: Step
    old: Alternative
    new: Alternative


ComparisonItem: TypeAlias = SchemaChange | ChildPair


@dataclass(frozen=True, slots=True)
class RuleContext:
    """Two alternatives of one kind, side by side, in their trees."""

    trees: tuple[SchemaTree, SchemaTree]
    pair: NodePair
    old: Alternative
    new: Alternative
    is_same: Callable[[SchemaLocation, SchemaLocation], bool]

    def build_change(
        self, rule: ChangeRule, *below: str, levels: ChangeLevels | None = None, focus: Focus = ANY_VALUE, **arguments: str
    ) -> SchemaChange:
        """Say that a rule applies here, or at a keyword further down."""
        old, new = (find_location(atom.node, *below, default=at) for atom, at in self._iter_ends())
        return SchemaChange(rule, old, new, tuple(sorted(arguments.items())), self.pair, focus, levels)

    def build_child(self, old: SchemaNode, new: SchemaNode, step: Step, *below: str) -> ChildPair:
        """Name a pair further down."""
        ends = [find_location(atom.node, *below, default=at) for atom, at in self._iter_ends()]
        return ChildPair(NodePair(old, new, *ends), step, self.old, self.new)

    def build_nodes(self, old: list[SchemaLocation], new: list[SchemaLocation]) -> tuple[SchemaNode, SchemaNode]:
        """Gather nodes of both trees."""
        return build_node(self.trees[0], old), build_node(self.trees[1], new)

    def _iter_ends(self) -> Iterator[tuple[Alternative, Location]]:
        yield self.old, self.pair.old_location
        yield self.new, self.pair.new_location


def find_location(node: SchemaNode, *below: str, default: Location) -> Location:
    """Find where a node says something; a schema that says it wins over one that does not, and the outermost wins over the rest."""
    best, depth = None, -1
    for spot in node.schemas:
        data, found = spot.data, 0
        for step in below:
            if not isinstance(data, dict) or step not in data:
                break
            data, found = data[step], found + 1
        if found > depth:
            best, depth = spot, found
    if best is None or depth <= 0:
        return (default[0], "".join([default[1], *(f"/{escape_key(step)}" for step in below[:1])])) if below else default
    return best.file, "".join([best.pointer, *(f"/{escape_key(step)}" for step in below)])
