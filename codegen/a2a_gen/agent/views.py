"""What several schemas say together about one object.

A schema and everything that it is combined with (``allOf``, references beside other keywords, ``if``, ``oneOf`` beside members of its own) is taken
apart into views: one per schema that has members. What only sometimes applies is a view that is not *sure*: its members may be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from a2a_gen.agent import keywords
from a2a_gen.agent.catalogue import Catalogue
from a2a_gen.agent.keywords import Schema
from a2a_gen.agent.library import Target
from a2a_gen.problems import ContractError, Problem
from a2a_gen.source.json_text import Json


@dataclass(frozen=True, slots=True)
class Source:
    """A schema, and where it stands."""

    schema: Json
    place: Target

    def part(self, pointer: str, schema: Json) -> Source:
        """Step down to a schema within this one."""
        return Source(schema, Target(self.place.file, self.place.pointer + pointer))


@dataclass(frozen=True, slots=True)
class Branch:
    """One of the alternatives of a union, of which one applies: where the union stands, which one this is, and how many there are."""

    union: Target
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class View:
    """A schema among those that are combined; it applies always, in one branch of a union, or under some other condition."""

    schema: Schema
    place: Target
    is_sure: bool
    branch: Branch | None = None


def views(sources: Sequence[Source], catalogue: Catalogue) -> list[View]:
    """Take some schemas apart that all apply."""
    seen: set[Target] = set()
    steps = (view for source in sources for view in _views(source, catalogue, seen, (True, None)))
    try:
        found = list(islice(steps, _MOST + 1))
    except RecursionError:
        raise _too_many(sources[0], catalogue) from None
    if len(found) > _MOST:
        raise _too_many(sources[0], catalogue)
    return found


def _too_many(source: Source, catalogue: Catalogue) -> ContractError:
    cure = "say with fewer allOf, anyOf and oneOf what a value is"
    return ContractError([Problem(catalogue.library.place(source.place), "A2A-K08", "this combines more schemas than anybody could follow", cure)])


def _views(source: Source, catalogue: Catalogue, seen: set[Target], when: tuple[bool, Branch | None]) -> Iterator[View]:
    schema = source.schema
    if not isinstance(schema, dict):
        return
    yield View(schema, source.place, *when)
    text = keywords.reference(schema)
    target = catalogue.follow(source.place, text) if text is not None else None
    if target is not None and target not in seen:
        seen.add(target)
        yield from _views(Source(catalogue.library.value(target), target), catalogue, seen, when)
    for pointer, part in keywords.parts(schema):
        keyword, _, number = pointer[1:].partition("/")
        if keyword == "allOf":
            yield from _views(source.part(pointer, part), catalogue, seen, when)
        elif keyword in {"anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"}:
            is_union = when == _ALWAYS and keyword in {"anyOf", "oneOf"}
            union = Target(source.place.file, f"{source.place.pointer}/{keyword}")
            branch = Branch(union, int(number), len(keywords.items(schema, keyword))) if is_union else None
            # A schema that is seen here in one branch may also be the one that always applies.
            yield from _views(source.part(pointer, part), catalogue, set(seen), (False, branch))


_ALWAYS = (True, None)
_MOST = 5_000  # alternatives within alternatives double with each level
