"""Default of a member: the first one of its schemas that all of them accept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from a2a_gen.agent.schemas import files as schemas
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.files import SchemaRef
from a2a_gen.agent.types.shapes import AgentType, is_literal_default
from a2a_gen.agent.types.value_checks import ValueChecker
from a2a_gen.agent.types.views import ViewSource
from a2a_gen.source.json_text import Json

Warn = Callable[[ViewSource, str, str, str], None]
"""Reports a problem: where, rule, text, cure."""


class DefaultFinder:
    """Finds defaults, and warns once of each that is ignored."""

    def __init__(self, catalogue: SchemaCatalog, value_checker: ValueChecker, warn: Warn) -> None:
        self._catalogue = catalogue
        self._value_checker = value_checker
        self._warn = warn
        self._ignored: set[SchemaRef] = set()

    def find(self, shape: AgentType, sources: Sequence[ViewSource]) -> Json:
        """Return the first default of schemas, or of those that they refer to."""
        holder = next(self._list_holders(sources), None)
        default = holder.schema["default"] if holder and isinstance(holder.schema, dict) else None
        if holder is None or default is None or is_literal_default(shape, default):
            return default
        for source in (holder, *sources):
            if reason := self._value_checker.explain_default(default, source):
                self._report(default, holder, source, reason)
                return None
        return default

    def _report(self, default: Json, holder: ViewSource, source: ViewSource, reason: str) -> None:
        """Warn where the default is; a schema that others narrow is one place, however many there
        are.
        """
        if holder.place in self._ignored:
            return
        self._ignored.add(holder.place)
        text = f"the default {json.dumps(default)} is ignored: {reason}"
        if source.place != holder.place:
            text += f", because of {self._catalogue.library.place(source.place)}"
        self._warn(holder, "A2A-K12", text, "correct the default")

    def _list_holders(self, sources: Sequence[ViewSource]) -> Iterator[ViewSource]:
        """List the schemas with a default: those given, and those that they refer to."""
        waiting = [*sources]
        seen = set[SchemaRef]()
        while waiting:
            source = waiting.pop(0)
            if source.place in seen or not isinstance(source.schema, dict):
                continue
            seen.add(source.place)
            if "default" in source.schema:
                yield source
            parts = schemas.items(source.schema, "allOf")
            waiting += [source.part(f"/allOf/{index}", part) for index, part in enumerate(parts)]
            text = schemas.reference(source.schema)
            if text and (target := self._catalogue.follow(source.place, text)):
                waiting.append(ViewSource(self._catalogue.library.value(target), target))
