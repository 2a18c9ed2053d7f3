"""One side of a comparison with all that is known about it: files, the contract that they make, the agent that they describe."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from a2a_gen.diff.agent import Agent
from a2a_gen.diff.node import Node, node
from a2a_gen.diff.roles import Role, Roles, Root, operation_roots, spread
from a2a_gen.diff.tree import Spot, Tree
from a2a_gen.ir.build import assemble, family_files
from a2a_gen.ir.model import Contract
from a2a_gen.source.documents import Document
from a2a_gen.source.positions import unescaped

TABLES = frozenset({"dialects.json", "errors.json", "lifecycle.json", "operations.json"})


@dataclass(frozen=True, eq=False)
class Side:
    """What was read from one place; ``said`` is how people call it."""

    documents: Mapping[str, Document]
    said: str
    shown: str = ""
    is_plain: bool = False
    agent: Agent | None = None

    def says_the_same(self, other: Side) -> bool:
        """Whether both have the same files, to the character."""
        paths = self.documents.keys()
        return paths == other.documents.keys() and all(self.documents[path].text == other.documents[path].text for path in paths)

    @property
    def is_contract(self) -> bool:
        """Whether the files make a contract with operations, and are not just schemas."""
        return not self.is_plain and self.documents.keys() >= TABLES

    @cached_property
    def contract(self) -> Contract | None:
        """The contract as the generator understands it, as far as it does."""
        return assemble(self.documents)[0] if self.is_contract else None

    @cached_property
    def tree(self) -> Tree:
        """The files that hold schemas, to be compared."""
        if self.agent is not None and not self.agent.skills_have_schemas:
            return Tree({}, self.shown, self.documents)
        return Tree(family_files(self.documents) if self.is_contract else self.documents, self.shown, self.documents)

    def roles(self, otherwise: frozenset[Role]) -> Roles:
        """Say who uses which definition."""
        if self.contract is not None:
            return spread(self.tree, operation_roots(self.tree, self.contract))
        if self.agent is not None:
            return spread(self.tree, self._skill_roots(self.agent))
        return Roles(otherwise=otherwise)

    def _skill_roots(self, agent: Agent) -> list[Root]:
        spots = [(skill.id, use, self._spot(address)) for skill in agent.skills.values() for use, address in skill.schemas.items()]
        return [Root(spot.at, Role.WRITTEN if use == "output" else Role.READ, identity) for identity, use, spot in spots if spot]

    def definition(self, dialect: str, name: str) -> Spot | None:
        """Find a type of a dialect."""
        return next((spot for at, spot in self.tree.definitions.items() if spot.name == name and at[0].rpartition("/")[0] == dialect), None)

    def node(self, address: str | None) -> Node | None:
        """Find the schema that an address means, such as ``schemas/trip.json#/$defs/Trip``."""
        spot = self._spot(address) if address else None
        return node(self.tree, [spot], at=spot) if spot else None

    def _spot(self, address: str) -> Spot | None:
        file, _, pointer = address.partition("#")
        document = self.documents.get(posixpath.normpath(file))
        root = Spot(document.path, "", document.data) if document else None
        return root.below(*(unescaped(step) for step in pointer.split("/")[1:])) if root else None
