"""What the keywords of JSON Schema hold, over all drafts from 7 on: which values are schemas, and which say something about types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from a2a_gen.source.json_text import Json
from a2a_gen.source.positions import escaped

Schema: TypeAlias = Mapping[str, Json]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
HOLDERS = ("$defs", "definitions")
"""Where definitions stand that count only when something refers to them."""

_ONE = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"),
        *("unevaluatedItems", "unevaluatedProperties"),
    }
)
_LIST = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_BY_NAME = frozenset({"dependencies", "dependentSchemas", "patternProperties", "properties"})
_ABOUT_TYPES = frozenset(
    {
        *REFERENCES,
        *("additionalProperties", "allOf", "anyOf", "const", "dependencies", "dependentSchemas", "else", "enum", "items", "oneOf"),
        *("patternProperties", "prefixItems", "properties", "then", "type"),
    }
)


def parts(schema: Schema) -> Iterator[tuple[str, Json]]:
    """Yield each schema that stands directly in another, with the pointer from there; definitions are left out."""
    for keyword, value in schema.items():
        if keyword in _BY_NAME and isinstance(value, dict):
            yield from ((f"/{keyword}/{escaped(name)}", each) for name, each in value.items() if isinstance(each, dict | bool))
        elif keyword in _LIST and isinstance(value, list):
            yield from ((f"/{keyword}/{index}", each) for index, each in enumerate(value))
        elif keyword in _ONE and isinstance(value, dict | bool):
            yield f"/{keyword}", value


def reference(schema: Schema) -> str | None:
    """Find what a schema refers to."""
    for keyword in REFERENCES:
        if isinstance(text := schema.get(keyword), str):
            return text
    return None


def is_about_types(schema: Json) -> bool:
    """Whether a schema says of which type a value is, and not only what else must be true of it."""
    return (
        isinstance(schema, dict)
        and not _ABOUT_TYPES.isdisjoint(schema)
        and any(_says_a_type(key, schema[key]) for key in _ABOUT_TYPES & schema.keys())
    )


def _says_a_type(keyword: str, value: Json) -> bool:
    match keyword, value:
        case (("anyOf" | "oneOf" | "allOf"), list()):
            return any(map(is_about_types, value))
        case (("then" | "else"), _):
            return is_about_types(value)
        case _:
            return True


def members(schema: Schema, keyword: str) -> Mapping[str, Json]:
    """Read a member that is an object."""
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


def items(schema: Schema, keyword: str) -> list[Json]:
    """Read a member that is a list."""
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def text(schema: Schema | Json, keyword: str) -> str:
    """Read a member that is text."""
    value = schema.get(keyword) if isinstance(schema, Mapping) else None
    return value if isinstance(value, str) else ""
