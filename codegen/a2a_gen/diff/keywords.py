"""What the keywords of JSON Schema are to a comparison: which say nothing about values, which are understood, which can only be told apart."""

from __future__ import annotations

from types import MappingProxyType

KINDS = ("null", "boolean", "number", "string", "array", "object")

# Say nothing about values. Whatever begins with "x-" does not either, but for those that rules know.
ANNOTATIONS = frozenset(
    {
        "$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "contentMediaType", "contentSchema", "default",
        "definitions", "deprecated", "description", "discriminator", "example", "examples", "externalDocs", "id", "readOnly", "title",
        "writeOnly", "xml",
    }
)  # fmt: skip

# Are only ways to put other schemas together, and are gone in a node.
STRUCTURE = frozenset({"$ref", "allOf"})

UNIONS = ("anyOf", "oneOf")

UNDERSTOOD = frozenset(
    {
        "additionalItems", "additionalProperties", "anyOf", "const", "contentEncoding", "enum", "exclusiveMaximum", "exclusiveMinimum",
        "format", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
        "multipleOf", "nullable", "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames", "required",
        "type", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip

# Constrain values in ways that are only compared as a whole: with the kinds of value that they are about.
OPAQUE = MappingProxyType(
    {
        "$dynamicRef": KINDS,
        "$recursiveRef": KINDS,
        "contains": ("array",),
        "dependencies": ("object",),
        "dependentRequired": ("object",),
        "dependentSchemas": ("object",),
        "if": KINDS,
        "maxContains": ("array",),
        "minContains": ("array",),
        "not": KINDS,
        "unevaluatedItems": ("array",),
    }
)

# Belong to ``if``, and mean nothing without it.
WITH_IF = ("if", "then", "else")


def is_annotation(keyword: str) -> bool:
    """Tell whether a keyword says nothing about values."""
    return keyword in ANNOTATIONS or keyword.startswith("x-")
