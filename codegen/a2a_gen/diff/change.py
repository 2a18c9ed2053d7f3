"""Changes, pairs of nodes, and the context in which a rule runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from a2a_gen.diff.rules.rule import ChangeLevels, ChangeRule, Effect
from a2a_gen.diff.tree import canonical
from a2a_gen.diff.tree.schema_node import (
    Location,
    SchemaLocation,
    SchemaNode,
    SchemaTree,
    build_node,
)
from a2a_gen.diff.tree.value_set import Alternative, get_kind
from a2a_gen.source.json_text import Json, escape_key

TextArguments: TypeAlias = Mapping[str, str]
Step: TypeAlias = tuple[str, str | int]
"""The step from a value to one inside it: ``("member", name)``, ``("any member", "")``, ``("item",
index)`` or ``("name", "")``.
"""

NOWHERE: Location = ("", "")


@dataclass(frozen=True, slots=True)
class NodePair:
    """Two nodes to compare, with the locations that use them."""

    old: SchemaNode
    new: SchemaNode
    old_location: Location = field(default=NOWHERE, compare=False)
    new_location: Location = field(default=NOWHERE, compare=False)

    @property
    def is_partial(self) -> bool:
        """True if branches of a union were chosen, so that the schemas alone do not describe the
        nodes.
        """
        return bool(self.old.expanded_unions or self.new.expanded_unions)


@dataclass(frozen=True, slots=True)
class Focus:
    """Values that show a change: of one alternative, with or without a member, or of some kinds."""

    alternative: Alternative | None = None
    missing_members: tuple[str, str] = ("", "")
    present_members: tuple[str, str] = ("", "")
    value: str = ""
    kinds: frozenset[str] = frozenset()

    def can_show(self, value: Json, accepting_side: int) -> bool:
        """Return true if a value can show the change; ``accepting_side`` is 0 for the base and 1
        for the revision.
        """
        if self.value and canonical.to_key(value) != self.value:
            return False
        present = self.present_members[accepting_side]
        missing = self.missing_members[accepting_side]
        if missing or present:
            return (
                isinstance(value, dict)
                and missing not in value
                and (not present or present in value)
            )
        return not self.kinds or get_kind(value) in self.kinds


ANY_VALUE = Focus()


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One rule applied at one location."""

    rule: ChangeRule
    old: Location
    new: Location
    arguments: tuple[tuple[str, str], ...] = ()
    pair: NodePair | None = field(default=None, compare=False)
    focus: Focus = field(default=ANY_VALUE, compare=False)
    level_override: ChangeLevels | None = None

    @property
    def levels(self) -> ChangeLevels:
        """The levels of the rule unless overridden."""
        return self.level_override or self.rule.levels

    @property
    def is_tolerated(self) -> bool:
        """True if the contract documents a tolerance that lowers the level of the rule."""
        usual = self.rule.levels
        return self.level_override is not None and (
            self.level_override.read < usual.read or self.level_override.write < usual.write
        )

    @property
    def effect(self) -> Effect:
        """The effect on the set of valid documents."""
        return self.rule.effect

    @property
    def text(self) -> str:
        """The message of the rule with its arguments."""
        return self.rule.message.format(**dict(self.arguments))


@dataclass(frozen=True, slots=True)
class ChildPair:
    """A pair below another one: the step that leads to it, and the alternatives of the outer pair
    that it belongs to.
    """

    pair: NodePair
    step: Step
    old: Alternative
    new: Alternative


ComparisonItem: TypeAlias = SchemaChange | ChildPair


@dataclass(frozen=True, slots=True)
class RuleContext:
    """Two alternatives of one kind in their schema trees, as a rule sees them."""

    trees: tuple[SchemaTree, SchemaTree]
    pair: NodePair
    old: Alternative
    new: Alternative
    is_same: Callable[[SchemaLocation, SchemaLocation], bool]

    @property
    def nodes(self) -> tuple[SchemaNode, SchemaNode]:
        """The nodes of the base and of the revision."""
        return self.old.node, self.new.node

    @property
    def sides(self) -> tuple[tuple[SchemaTree, SchemaNode], tuple[SchemaTree, SchemaNode]]:
        """The tree and node of the base and of the revision."""
        return (self.trees[0], self.old.node), (self.trees[1], self.new.node)

    def build_change(
        self,
        rule: ChangeRule,
        *below: str,
        levels: ChangeLevels | None = None,
        focus: Focus = ANY_VALUE,
        **arguments: str,
    ) -> SchemaChange:
        """Create a change at these alternatives, or at a keyword below them."""
        old, new = (
            find_location(alternative.node, *below, default=location)
            for alternative, location in self._iter_ends()
        )
        return SchemaChange(
            rule, old, new, tuple(sorted(arguments.items())), self.pair, focus, levels
        )

    def build_child(self, old: SchemaNode, new: SchemaNode, step: Step, *below: str) -> ChildPair:
        """Create a pair below these alternatives."""
        ends = [
            find_location(alternative.node, *below, default=location)
            for alternative, location in self._iter_ends()
        ]
        return ChildPair(NodePair(old, new, *ends), step, self.old, self.new)

    def build_nodes(
        self, old: list[SchemaLocation], new: list[SchemaLocation]
    ) -> tuple[SchemaNode, SchemaNode]:
        """Build one node in each tree."""
        return build_node(self.trees[0], old), build_node(self.trees[1], new)

    def _iter_ends(self) -> Iterator[tuple[Alternative, Location]]:
        yield self.old, self.pair.old_location
        yield self.new, self.pair.new_location


def find_location(node: SchemaNode, *below: str, default: Location) -> Location:
    """Find the schema of a node that has the given keywords; an outer schema wins over an inner
    one.
    """
    best = None
    best_depth = -1
    for schema in node.schemas:
        data = schema.data
        depth = 0
        for step in below:
            if not isinstance(data, dict) or step not in data:
                break
            data = data[step]
            depth = depth + 1
        if depth > best_depth:
            best = schema
            best_depth = depth
    if best is None or best_depth <= 0:
        if below:
            return (
                default[0],
                "".join([default[1], *(f"/{escape_key(step)}" for step in below[:1])]),
            )
        return default
    return best.file, "".join([best.pointer, *(f"/{escape_key(step)}" for step in below)])
