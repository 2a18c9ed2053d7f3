"""Core schemas of Pydantic: what validates a document, followed by the steps of the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

# Pydantic has dozens of forms, without a common type.
CoreSchema: TypeAlias = Mapping[str, Any]

NO_SCHEMA: Final[CoreSchema] = {}


def unwrap(schema: CoreSchema, definitions: dict[str, CoreSchema]) -> CoreSchema:
    """Unwrap the schemas around a schema that add no step; the definitions on the way are added to
    ``definitions``.
    """
    while True:
        match schema.get("type"):
            case "definitions":
                definitions.update({each["ref"]: each for each in schema["definitions"]})
                schema = schema["schema"]
            case "definition-ref":
                schema = definitions.get(schema["schema_ref"], NO_SCHEMA)
            case "json-or-python":
                schema = schema["json_schema"]
            case _ if isinstance(schema.get("schema"), dict):
                schema = schema["schema"]
            case _:
                return schema


def list_choices(union: CoreSchema) -> Iterator[Any]:
    """List the branches of a union; Pydantic may have a label beside each."""
    for choice in union["choices"]:
        yield choice[0] if isinstance(choice, tuple) else choice


def member_names(name: str, field: CoreSchema) -> tuple[str, ...]:
    """List the names of a member: those in JSON, then the one in Python."""
    alias = field.get("validation_alias")
    wire = (alias,) if isinstance(alias, str) else tuple(path[0] for path in alias or ())
    return (*wire, name)
