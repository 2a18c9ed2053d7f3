"""Paths of invalid fields in a request, in the usual notation: ``message.parts[0].text``.

Pydantic also names the branch of a union in the location of an error, which no document has. A
location is followed through the schema of the parsed model, because only the schema distinguishes a
branch from a member of the same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from pydantic import BaseModel, ValidationError

from .core_schemas import NO_SCHEMA, CoreSchema, member_names, unwrap

# --- from locations to document paths ---

Step: TypeAlias = int | str
FieldPath: TypeAlias = tuple[Step, ...]


def parse_location(of: type[BaseModel], loc: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a location without the names of branches."""
    return tuple(_follow(of.__pydantic_core_schema__, loc))


def _follow(schema: CoreSchema, loc: tuple[Step, ...]) -> Iterator[Step]:
    definitions: dict[str, CoreSchema] = {}
    for step in loc:
        schema = unwrap(schema, definitions)
        if schema.get("type") in ("tagged-union", "union"):
            schema = _branch(schema, step)
        else:
            yield step
            schema = _inside(schema, step)


def _branch(union: CoreSchema, step: Step) -> CoreSchema:
    choices: dict[Step, CoreSchema] = union["choices"] if union["type"] == "tagged-union" else {}
    return choices.get(step, NO_SCHEMA)


def _inside(schema: CoreSchema, step: Step) -> CoreSchema:
    found: CoreSchema = NO_SCHEMA
    match schema.get("type"):
        case "list":
            found = schema.get("items_schema", NO_SCHEMA)
        case "dict":
            found = schema.get("values_schema", NO_SCHEMA)
        case "model-fields":
            found = next(
                (
                    field["schema"]
                    for name, field in schema["fields"].items()
                    if step in member_names(name, field)
                ),
                NO_SCHEMA,
            )
        case _:
            pass
    return found


MAX_LISTED_FIELDS: Final = 100
"""Limit of listed invalid fields: a value can have millions."""
MAX_FIELD_ERRORS: Final = 1000
"""Limit of errors that are read from Pydantic at all: a body can hold millions, and an entry costs
more than the bytes that caused it.
"""


def field_paths(
    error: ValidationError, skip: int = 0, of: type[BaseModel] | None = None
) -> tuple[tuple[str, str], ...]:
    """List each invalid field once with its error; ``skip`` drops steps around the request, ``of``
    (its type) the names of branches.
    """
    if error.error_count() > MAX_FIELD_ERRORS:
        return (("", f"More than {MAX_FIELD_ERRORS} values are wrong"),)
    found = error.errors(include_url=False, include_context=False, include_input=False)
    listed: dict[tuple[str, str], None] = {}
    for each in found:
        steps: tuple[Step, ...] = each["loc"][skip:]
        if of is not None:
            steps = parse_location(of, steps)
        listed[render_path(steps), each["msg"]] = None
    return tuple(listed)


def render_path(steps: Sequence[Step]) -> str:
    """Write the steps of a path as one text."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")
