"""Walking through JSON Schemas: which of the values in a file are schemas, and which are data.

A rule that looked at every object in a file would take an example or a default for a schema, and a property called ``not`` for a keyword.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from a2a_gen.source.json_text import Json
from a2a_gen.source.positions import escaped

PROTOCOL = "a2a:"
"""How a reference to a type of the protocol begins, as in ``a2a:v1_0#/$defs/Part``."""

_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties")
_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_BY_NAME = ("$defs", "dependentSchemas", "patternProperties", "properties")


@dataclass(frozen=True, slots=True)
class Schema:
    """One schema inside a file: where it is, what it says, and under which keyword of its parent it stands."""

    pointer: str
    data: Json
    keyword: str = ""

    @property
    def members(self) -> dict[str, Json]:
        """The keywords of the schema; a boolean schema has none."""
        return self.data if isinstance(self.data, dict) else {}


def schemas(root: Json) -> Iterator[Schema]:
    """Yield a schema and every schema within it, from the outside in and in the order of the text."""
    waiting = [Schema("", root)]
    while waiting:
        schema = waiting.pop()
        yield schema
        waiting.extend(reversed(list(_within(schema))))


def _within(schema: Schema) -> Iterator[Schema]:
    for keyword, value in schema.members.items():
        pointer = f"{schema.pointer}/{escaped(keyword)}"
        if keyword in _ONE and isinstance(value, dict | bool):
            yield Schema(pointer, value, keyword)
        elif keyword in _LIST and isinstance(value, list):
            yield from (Schema(f"{pointer}/{index}", each, keyword) for index, each in enumerate(value))
        elif keyword in _BY_NAME and isinstance(value, dict):
            yield from (Schema(f"{pointer}/{escaped(name)}", each, keyword) for name, each in value.items())
