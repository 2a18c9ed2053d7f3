"""Usages of definitions: whether the agent reads or writes them, and in which operations or skills.

Requests, skill inputs and stored data are read; responses, events, cards and skill outputs are
written. A usage extends to every definition that the type refers to. A definition that nothing
refers to counts as both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from a2a_gen.diff.tree.schema_node import Location, SchemaLocation, SchemaTree
from a2a_gen.ir.model import Contract
from a2a_gen.source.references import iter_schemas


class Usage(Enum):
    """Direction in which the agent uses documents of a definition."""

    READ = "read"
    WRITTEN = "written"


BOTH = frozenset(Usage)


@dataclass(frozen=True, slots=True)
class UsageRoot:
    """A definition used directly by an operation or skill."""

    location: Location
    usage: Usage
    user: str


@dataclass(frozen=True)
class UsageMap:
    """The usages and users of every definition of a tree."""

    usages: Mapping[Location, frozenset[Usage]] = field(
        default_factory=dict[Location, frozenset[Usage]]
    )
    users: Mapping[Location, frozenset[str]] = field(default_factory=dict[Location, frozenset[str]])
    default: frozenset[Usage] = BOTH

    def get_usages(self, location: Location) -> frozenset[Usage]:
        """Return the usages of a definition."""
        return self.usages.get(location, self.default)

    def get_users(self, location: Location) -> frozenset[str]:
        """Return the operations and skills that use a definition."""
        return self.users.get(location, frozenset())


def trace_usage(tree: SchemaTree, roots: Iterable[UsageRoot]) -> UsageMap:
    """Follow references from the roots."""
    links = build_links(tree)
    usages: dict[Location, set[Usage]] = {}
    users: dict[Location, set[str]] = {}
    for root in roots:
        for location in find_reachable(links, root.location):
            usages.setdefault(location, set()).add(root.usage)
            users.setdefault(location, set()).add(root.user)
    return UsageMap(
        {location: frozenset(each) for location, each in usages.items()},
        {location: frozenset(each) for location, each in users.items()},
    )


def find_operation_roots(tree: SchemaTree, contract: Contract) -> Iterator[UsageRoot]:
    """Find the types of operations: requests are read, results written, stored types also read."""
    by_name = {
        (location[0].rpartition("/")[0], schema.name): location
        for location, schema in tree.definitions.items()
    }
    for operation in contract.operations:
        for call in operation.calls:
            types = (
                (call.request, Usage.READ),
                (call.http_request, Usage.READ),
                (call.result, Usage.WRITTEN),
                (call.http_result, Usage.WRITTEN),
            )
            for name, usage in types:
                location = by_name.get((call.dialect, name or ""))
                if location is not None:
                    yield UsageRoot(location, usage, operation.name)
    stored = _find_stored_type(tree, contract, by_name)
    if stored is not None:
        yield UsageRoot(stored, Usage.READ, "stored state")


def _find_stored_type(
    tree: SchemaTree, contract: Contract, by_name: Mapping[tuple[str, str], Location]
) -> Location | None:
    """Find the stored type: the canonical response that has a state, and that all other responses
    with a state contain.
    """
    links = build_links(tree)
    state = by_name.get((contract.canonical, contract.lifecycle.type))
    responses = {
        by_name.get((contract.canonical, operation.response or ""))
        for operation in contract.operations
    }
    with_state = {
        location
        for location in responses
        if location is not None and state in find_reachable(links, location)
    }
    contained = [find_reachable(links, other) for other in with_state]
    for location in sorted(with_state):
        if all(location in each for each in contained):
            return location
    return None


def find_reachable(links: Mapping[Location, frozenset[Location]], start: Location) -> set[Location]:
    """Find everything that a definition refers to, directly or not, and the definition itself."""
    pending = [start]
    seen = {start}
    while pending:
        for other in links.get(pending.pop(), ()):
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen


def build_links(tree: SchemaTree) -> Mapping[Location, frozenset[Location]]:
    """Map each definition to those that it refers to."""
    return {
        location: frozenset(_iter_targets(tree, schema))
        for location, schema in tree.definitions.items()
    }


def _iter_targets(tree: SchemaTree, schema: SchemaLocation) -> Iterator[Location]:
    for inner, reference in tree.iter_references(schema):
        target = tree.resolve(inner, reference)
        if (
            target is not None
            and find_enclosing_definition(tree, inner.location) == schema.location
        ):
            yield find_enclosing_definition(tree, target.location)
    yield from _iter_dynamic_targets(tree, schema)


def _iter_dynamic_targets(tree: SchemaTree, schema: SchemaLocation) -> Iterator[Location]:
    if schema.file not in tree.resources.scoped_files:
        return
    for each in iter_schemas(schema.data):
        inner = SchemaLocation(schema.file, f"{schema.pointer}{each.pointer}", each.data)
        for target in tree.find_dynamic_targets(inner):
            if find_enclosing_definition(tree, inner.location) == schema.location:
                yield find_enclosing_definition(tree, target.location)


def find_enclosing_definition(tree: SchemaTree, location: Location) -> Location:
    """Find the definition that contains a location."""
    file, pointer = location
    while pointer and (file, pointer) not in tree.definitions:
        pointer = pointer.rpartition("/")[0]
    return file, pointer
