"""Who is concerned: whether the agent reads a definition or writes it, and in which operations or skills.

Requests and a skill's input are read, as is what a store has kept; responses, events, cards and a skill's output are written. Whatever an operation's
type is made of has its role. A definition that nothing leads to may be used by anybody, in both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from a2a_gen.diff.schema_node import Location, SchemaLocation, SchemaTree
from a2a_gen.ir.model import Contract
from a2a_gen.source.references import iter_schemas


class Usage(Enum):
    """What the agent does with documents of a definition."""

    READ = "read"
    WRITTEN = "written"


BOTH = frozenset(Usage)


@dataclass(frozen=True, slots=True)
class UsageRoot:
    """A definition that somebody uses by name: who, and how."""

    location: Location
    usage: Usage
    user: str


@dataclass(frozen=True)
class UsageMap:
    """The roles and users of every definition of a tree."""

    usages: Mapping[Location, frozenset[Usage]] = field(default_factory=dict[Location, frozenset[Usage]])
    users: Mapping[Location, frozenset[str]] = field(default_factory=dict[Location, frozenset[str]])
    default: frozenset[Usage] = BOTH

    def get_usages(self, location: Location) -> frozenset[Usage]:
        """Give the roles of a definition."""
        return self.usages.get(location, self.default)

    def get_users(self, location: Location) -> frozenset[str]:
        """Name the operations and skills that use a definition."""
        return self.users.get(location, frozenset())


def trace_usage(tree: SchemaTree, roots: Iterable[UsageRoot]) -> UsageMap:
    """Follow references from the roots."""
    links = _build_links(tree)
    roles: dict[Location, set[Usage]] = {}
    users: dict[Location, set[str]] = {}
    for root in roots:
        waiting, seen = [root.location], {root.location}
        while waiting:
            at = waiting.pop()
            roles.setdefault(at, set()).add(root.usage)
            users.setdefault(at, set()).add(root.user)
            for other in links.get(at, ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
    return UsageMap({at: frozenset(each) for at, each in roles.items()}, {at: frozenset(each) for at, each in users.items()})


def find_operation_roots(tree: SchemaTree, contract: Contract) -> Iterator[UsageRoot]:
    """Find the types of operations: requests are read, results written; what is stored is read too."""
    by_name = {(at[0].rpartition("/")[0], spot.name): at for at, spot in tree.definitions.items()}
    for operation in contract.operations:
        for call in operation.calls:
            types = ((call.request, Usage.READ), (call.http_request, Usage.READ), (call.result, Usage.WRITTEN), (call.http_result, Usage.WRITTEN))
            for name, role in types:
                at = by_name.get((call.dialect, name or ""))
                if at is not None:
                    yield UsageRoot(at, role, operation.name)
    stored = _find_stored_type(tree, contract, by_name)
    if stored is not None:
        yield UsageRoot(stored, Usage.READ, "stored state")


def _find_stored_type(tree: SchemaTree, contract: Contract, by_name: Mapping[tuple[str, str], Location]) -> Location | None:
    """Find what is stored: the canonical response that has a state, and that all others with a state are made of."""
    links = _build_links(tree)
    state = by_name.get((contract.canonical, contract.lifecycle.type))
    responses = {by_name.get((contract.canonical, operation.response or "")) for operation in contract.operations}
    with_state = {at for at in responses if at is not None and state in _find_reachable(links, at)}
    return next((at for at in sorted(with_state) if all(at in _find_reachable(links, other) for other in with_state)), None)


def _find_reachable(links: Mapping[Location, frozenset[Location]], start: Location) -> set[Location]:
    waiting, seen = [start], {start}
    while waiting:
        for other in links.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def _build_links(tree: SchemaTree) -> Mapping[Location, frozenset[Location]]:
    """Find which definitions each definition refers to."""
    return {at: frozenset(_iter_targets(tree, spot)) for at, spot in tree.definitions.items()}


def _iter_targets(tree: SchemaTree, schema: SchemaLocation) -> Iterator[Location]:
    for inner in iter_schemas(schema.data):
        reference = inner.members.get("$ref")
        target = tree.resolve(SchemaLocation(schema.file, schema.pointer, inner.data), reference) if isinstance(reference, str) else None
        if target is not None:
            yield find_enclosing_definition(tree, target.location)


def find_enclosing_definition(tree: SchemaTree, location: Location) -> Location:
    """Find the definition that a place is in."""
    file, pointer = location
    while pointer and (file, pointer) not in tree.definitions:
        pointer = pointer.rpartition("/")[0]
    return file, pointer
