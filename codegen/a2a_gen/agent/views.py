"""What several schemas say together about one object.

A schema and everything that it is combined with (``allOf``, references beside other keywords, ``if``, ``oneOf`` beside members of its own) is taken
apart into views: one per schema that has members. What only sometimes applies is a view that is not *sure*: its members may be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from a2a_gen.agent import keywords
from a2a_gen.agent.catalogue import Catalogue
from a2a_gen.agent.keywords import Schema
from a2a_gen.agent.library import Target
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
class View:
    """A schema among those that are combined, and whether it always applies."""

    schema: Schema
    place: Target
    is_sure: bool


def views(sources: Sequence[Source], catalogue: Catalogue) -> list[View]:
    """Take some schemas apart that all apply."""
    seen: set[Target] = set()
    return [view for source in sources for view in _views(source, catalogue, seen, is_sure=True)]


def _views(source: Source, catalogue: Catalogue, seen: set[Target], *, is_sure: bool) -> Iterator[View]:
    schema = source.schema
    if not isinstance(schema, dict):
        return
    yield View(schema, source.place, is_sure)
    text = keywords.reference(schema)
    target = catalogue.follow(source.place, text) if text is not None else None
    if target is not None and target not in seen:
        seen.add(target)
        yield from _views(Source(catalogue.library.value(target), target), catalogue, seen, is_sure=is_sure)
    for pointer, part in keywords.parts(schema):
        keyword = pointer.split("/")[1]
        if keyword == "allOf":
            yield from _views(source.part(pointer, part), catalogue, seen, is_sure=is_sure)
        elif keyword in {"anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies"}:
            # A schema that is seen here in one branch may also be the one that always applies.
            yield from _views(source.part(pointer, part), catalogue, set(seen), is_sure=False)
