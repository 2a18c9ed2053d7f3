"""What a value must satisfy at one place of a contract: a conjunction of schemas, wherever these are written.

``$ref``, the keywords beside it and every branch of ``allOf`` become spots of one node. A spot that says nothing of its own is dropped, so that a
definition and a property that only refers to it are the same node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from a2a_gen.diff.keywords import STRUCTURE, is_annotation
from a2a_gen.diff.tree import Spot, Tree
from a2a_gen.source.json_text import Json


@dataclass(frozen=True, slots=True)
class Node:
    """A conjunction of schemas; ``used`` are the unions in them of which a branch has been taken already. ``at`` is where people see it."""

    spots: tuple[Spot, ...]
    used: frozenset[tuple[str, str]] = frozenset()
    at: Spot | None = field(default=None, compare=False)

    @property
    def is_impossible(self) -> bool:
        """Whether one of the schemas refuses everything."""
        return any(spot.data is False for spot in self.spots)

    @property
    def is_anything(self) -> bool:
        """Whether nothing is asked at all."""
        return not self.spots

    @property
    def name(self) -> str:
        """The name of the definition that this is, empty when it has none."""
        return self.spots[0].name if len(self.spots) == 1 else ""

    def values(self, keyword: str) -> Iterator[Json]:
        """Go through what the schemas say under one keyword."""
        for spot in self.spots:
            if keyword in spot.members:
                yield spot.members[keyword]


def node(tree: Tree, spots: Iterable[Spot], *, at: Spot | None = None, used: frozenset[tuple[str, str]] = frozenset()) -> Node:
    """Gather everything that must hold together."""
    waiting = list(spots)
    at = at or (waiting[0] if waiting else None)
    seen: dict[Spot, None] = {}
    while waiting:
        spot = waiting.pop()
        if spot in seen or spot.data is True:
            continue
        seen[spot] = None
        waiting.extend(_together(tree, spot))
    kept = sorted((spot for spot in seen if says_something(tree, spot)), key=lambda spot: spot.at)
    return Node(tuple(kept), used, at)


def says_something(tree: Tree, spot: Spot) -> bool:
    """Tell whether a schema asks anything itself, beside what it refers to."""
    reference = spot.members.get("$ref")
    if isinstance(reference, str) and tree.target(spot, reference) is None:
        return True
    return spot.data is False or any(not (word in STRUCTURE or is_annotation(word)) for word in spot.members)


def _together(tree: Tree, spot: Spot) -> Iterator[Spot]:
    reference = spot.members.get("$ref")
    target = tree.target(spot, reference) if isinstance(reference, str) else None
    if target is not None:
        yield target
    parts = spot.members.get("allOf")
    for index in range(len(parts) if isinstance(parts, list) else 0):
        part = spot.below("allOf", index)
        if part is not None:
            yield part
