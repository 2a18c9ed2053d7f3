"""Who is concerned: whether the agent reads a definition or writes it, and in which operations or skills.

Requests and a skill's input are read, as is what a store has kept; responses, events, cards and a skill's output are written. Whatever an operation's
type is made of has its role. A definition that nothing leads to may be used by anybody, in both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from a2a_gen.diff.schema_node import At, Spot, Tree
from a2a_gen.ir.model import Contract
from a2a_gen.source.references import schemas


class Role(Enum):
    """What the agent does with documents of a definition."""

    READ = "read"
    WRITTEN = "written"


BOTH = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Root:
    """A definition that somebody uses by name: who, and how."""

    at: At
    role: Role
    user: str


@dataclass(frozen=True)
class Roles:
    """The roles and users of every definition of a tree."""

    roles: Mapping[At, frozenset[Role]] = field(default_factory=dict[At, frozenset[Role]])
    users: Mapping[At, frozenset[str]] = field(default_factory=dict[At, frozenset[str]])
    otherwise: frozenset[Role] = BOTH

    def of(self, at: At) -> frozenset[Role]:
        """Give the roles of a definition."""
        return self.roles.get(at, self.otherwise)

    def who(self, at: At) -> frozenset[str]:
        """Name the operations and skills that use a definition."""
        return self.users.get(at, frozenset())


def spread(tree: Tree, roots: Iterable[Root]) -> Roles:
    """Follow references from the roots."""
    links = _links(tree)
    roles: dict[At, set[Role]] = {}
    users: dict[At, set[str]] = {}
    for root in roots:
        waiting, seen = [root.at], {root.at}
        while waiting:
            at = waiting.pop()
            roles.setdefault(at, set()).add(root.role)
            users.setdefault(at, set()).add(root.user)
            for other in links.get(at, ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
    return Roles({at: frozenset(each) for at, each in roles.items()}, {at: frozenset(each) for at, each in users.items()})


def operation_roots(tree: Tree, contract: Contract) -> Iterator[Root]:
    """Find the types of operations: requests are read, results written; what is stored is read too."""
    by_name = {(at[0].rpartition("/")[0], spot.name): at for at, spot in tree.definitions.items()}
    for operation in contract.operations:
        for call in operation.calls:
            types = ((call.request, Role.READ), (call.http_request, Role.READ), (call.result, Role.WRITTEN), (call.http_result, Role.WRITTEN))
            for name, role in types:
                at = by_name.get((call.dialect, name or ""))
                if at is not None:
                    yield Root(at, role, operation.name)
    stored = _stored(tree, contract, by_name)
    if stored is not None:
        yield Root(stored, Role.READ, "stored state")


def _stored(tree: Tree, contract: Contract, by_name: Mapping[tuple[str, str], At]) -> At | None:
    """Find what is stored: the canonical response that has a state, and that all others with a state are made of."""
    links = _links(tree)
    state = by_name.get((contract.canonical, contract.lifecycle.type))
    responses = {by_name.get((contract.canonical, operation.response or "")) for operation in contract.operations}
    with_state = {at for at in responses if at is not None and state in _reached(links, at)}
    return next((at for at in sorted(with_state) if all(at in _reached(links, other) for other in with_state)), None)


def _reached(links: Mapping[At, frozenset[At]], start: At) -> set[At]:
    waiting, seen = [start], {start}
    while waiting:
        for other in links.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _links(tree: Tree) -> Mapping[At, frozenset[At]]:
    """Find which definitions each definition refers to."""
    return {at: frozenset(_targets(tree, spot)) for at, spot in tree.definitions.items()}


def _targets(tree: Tree, spot: Spot) -> Iterator[At]:
    for inner in schemas(spot.data):
        reference = inner.members.get("$ref")
        target = tree.target(Spot(spot.file, spot.pointer, inner.data), reference) if isinstance(reference, str) else None
        if target is not None:
            yield owner(tree, target.at)


def owner(tree: Tree, at: At) -> At:
    """Find the definition that a place is in."""
    file, pointer = at
    while pointer and (file, pointer) not in tree.definitions:
        pointer = pointer.rpartition("/")[0]
    return file, pointer
