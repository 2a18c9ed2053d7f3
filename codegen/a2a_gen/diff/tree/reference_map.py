"""References between the definitions of two trees, and the documents that they belong to.

In a file whose root is a schema, the definitions are parts of it: they matter as far as the root,
or another file, refers to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from a2a_gen.diff.change import NodePair
from a2a_gen.diff.tree.schema_node import Location, SchemaTree
from a2a_gen.diff.usage import build_links, find_reachable


class ReferenceMap:
    """The definitions that each one refers to on either side, and the roots that refer to it."""

    def __init__(self, trees: tuple[SchemaTree, SchemaTree], seeds: Iterable[NodePair]) -> None:
        self._trees = trees
        self._seeds = tuple(seeds)
        self._by_location: tuple[dict[Location, NodePair], dict[Location, NodePair]] = (
            {seed.old_location: seed for seed in self._seeds},
            {seed.new_location: seed for seed in self._seeds},
        )
        self._below: dict[NodePair, frozenset[NodePair]] = {}

    def find_below(self, seed: NodePair) -> frozenset[NodePair]:
        """Find the definitions to which one refers, directly or not."""
        if seed not in self._below:
            found: set[NodePair | None] = set()
            for side, location in enumerate((seed.old_location, seed.new_location)):
                found |= set(
                    map(self._by_location[side].get, find_reachable(self._links[side], location))
                )
            self._below[seed] = frozenset(each for each in found if each) - {seed}
        return self._below[seed]

    def find_roots(self, seed: NodePair) -> frozenset[NodePair]:
        """Find the roots that refer to a part; none for a definition that is a document of its
        own.
        """
        return self._roots_by_part.get(seed, frozenset())

    def is_unused(self, seed: NodePair) -> bool:
        """Return true if a definition is a part of a document that does not refer to it."""
        return self._is_part(seed) and not self.find_roots(seed)

    @cached_property
    def _links(
        self,
    ) -> tuple[dict[Location, frozenset[Location]], dict[Location, frozenset[Location]]]:
        return dict(build_links(self._trees[0])), dict(build_links(self._trees[1]))

    @cached_property
    def _roots_by_part(self) -> dict[NodePair, frozenset[NodePair]]:
        found: dict[NodePair, set[NodePair]] = {}
        if any(map(self._is_part, self._seeds)):
            for root in self._seeds:
                for part in self.find_below(root) if not self._is_part(root) else ():
                    if self._is_part(part):
                        found.setdefault(part, set()).add(root)
        return {part: frozenset(roots) for part, roots in found.items()}

    def _is_part(self, seed: NodePair) -> bool:
        ends = zip(self._trees, (seed.old_location, seed.new_location), strict=True)
        for tree, (file, pointer) in ends:
            is_elsewhere = bool(tree.entry) and file != tree.entry
            is_below_root = bool(pointer) and (file, "") in tree.definitions
            if not is_elsewhere and not is_below_root:
                return False
        return True
