"""What a comparison yields: changes at places, and the pairs of nodes below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from a2a_gen.diff import canonical
from a2a_gen.diff.rules.rule import Effect, Levels, Rule
from a2a_gen.diff.schema_node import At, Node, Spot, Tree, node
from a2a_gen.diff.value_set import Atom, kind_of
from a2a_gen.source.json_text import Json, escaped

Words: TypeAlias = Mapping[str, str]
Step: TypeAlias = tuple[str, str | int]
"""How one gets from a value to one inside it: ``("member", name)``, ``("any member", "")``, ``("item", index)`` or ``("name", "")``."""

NOWHERE: At = ("", "")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nodes to compare, and where each is used."""

    old: Node
    new: Node
    old_at: At = field(default=NOWHERE, compare=False)
    new_at: At = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Focus:
    """Which values show a change, and not another one at the same place: of an alternative, without or having a member, of some kinds."""

    atom: Atom | None = None
    without: tuple[str, str] = ("", "")
    having: tuple[str, str] = ("", "")
    value: str = ""
    kinds: frozenset[str] = frozenset()

    def shows(self, value: Json, taker: int) -> bool:
        """Tell whether a value that the old side (0) or the new one (1) takes can show the change."""
        if self.value and canonical.key(value) != self.value:
            return False
        wanted, unwanted = self.having[taker], self.without[taker]
        if unwanted or wanted:
            return isinstance(value, dict) and unwanted not in value and (not wanted or wanted in value)
        return not self.kinds or kind_of(value) in self.kinds


ANYTHING = Focus()


@dataclass(frozen=True, slots=True)
class Change:
    """One rule that applies at one place; ``levels`` where they differ from the rule's."""

    rule: Rule
    old: At
    new: At
    words: tuple[tuple[str, str], ...] = ()
    pair: Pair | None = field(default=None, compare=False)
    focus: Focus = field(default=ANYTHING, compare=False)
    adjusted: Levels | None = None

    @property
    def levels(self) -> Levels:
        """How bad it is, for each of the three."""
        return self.adjusted or self.rule.levels

    @property
    def effect(self) -> Effect:
        """What it does to the set of documents."""
        return self.rule.effect

    @property
    def text(self) -> str:
        """Tell it in words."""
        return self.rule.says.format(**dict(self.words))


@dataclass(frozen=True, slots=True)
class Child:
    """A pair below another: the step that leads there, and the alternatives of the outer pair through which it goes."""

    pair: Pair
    step: Step
    old: Atom
    new: Atom


Found: TypeAlias = Change | Child


@dataclass(frozen=True, slots=True)
class Scene:
    """Two alternatives of one kind, side by side, in their trees."""

    trees: tuple[Tree, Tree]
    pair: Pair
    old: Atom
    new: Atom
    same: Callable[[Spot, Spot], bool]

    def change(self, rule: Rule, *below: str, levels: Levels | None = None, focus: Focus = ANYTHING, **words: str) -> Change:
        """Say that a rule applies here, or at a keyword further down."""
        old, new = (place_of(atom.node, *below, default=at) for atom, at in self._ends())
        return Change(rule, old, new, tuple(sorted(words.items())), self.pair, focus, levels)

    def child(self, old: Node, new: Node, step: Step, *below: str) -> Child:
        """Name a pair further down."""
        ends = [place_of(atom.node, *below, default=at) for atom, at in self._ends()]
        return Child(Pair(old, new, *ends), step, self.old, self.new)

    def nodes(self, old: list[Spot], new: list[Spot]) -> tuple[Node, Node]:
        """Gather nodes of both trees."""
        return node(self.trees[0], old), node(self.trees[1], new)

    def _ends(self) -> Iterator[tuple[Atom, At]]:
        yield self.old, self.pair.old_at
        yield self.new, self.pair.new_at


def place_of(whole: Node, *below: str, default: At) -> At:
    """Find where a node says something; a schema that says it wins over one that does not, and the outermost wins over the rest."""
    best, depth = None, -1
    for spot in whole.spots:
        data, found = spot.data, 0
        for step in below:
            if not isinstance(data, dict) or step not in data:
                break
            data, found = data[step], found + 1
        if found > depth:
            best, depth = spot, found
    if best is None or depth <= 0:
        return (default[0], "".join([default[1], *(f"/{escaped(step)}" for step in below[:1])])) if below else default
    return best.file, "".join([best.pointer, *(f"/{escaped(step)}" for step in below)])
