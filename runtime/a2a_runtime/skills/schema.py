"""Typed schemas of skills: payloads of messages, and their field errors.

The payload of a message is the first part that can hold it; other parts are for people, or for the
handler, which sees the whole message:

    data part     the value
    text part     the text for a schema of texts; else the JSON in it, or the text if only that
                  matches, such as a typed word
    neither       rejected: files are no input of a typed skill

A wrapped payload is never read as something else: a text becomes a text part for a schema of texts,
and data for all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from a2a_contract.base import JSON_NULL
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.typed_schema import (
    FieldErrors,
    SchemaMismatchError,
    SchemaValidator,
    TypedSchema,
    parse_json,
)
from a2a_contract.v1_0 import Message, Part
from a2a_runtime.base.texts import join_text_parts

__all__ = [
    "FIELDS_KEY",
    "TEXT",
    "FieldErrors",
    "Payload",
    "SchemaMismatchError",
    "SchemaValidator",
    "TypedSchema",
    "attach_fields",
    "extract_payload",
    "read_fields",
    "strip_payload_path",
    "wrap_payload",
]

_MAX_MEMBERS = 10
"""Members that a message names."""

TEXT: TypedSchema[str] = TypedSchema(str, {"type": "string"})
"""The schema of plain text, for skills without a schema."""


class Payload(NamedTuple):
    """A value with its field path in the message."""

    value: object
    path: str


def wrap_payload(value: object, validator: SchemaValidator | None) -> Part:
    """Wrap a value in a part; without a schema, a text becomes a text part."""
    if isinstance(value, str) and (validator is None or validator.is_text):
        return Part(text=value)
    return Part(data=JSON_NULL if value is None else value)


def extract_payload(
    parts: Sequence[Part],
    validator: SchemaValidator,
    base_path: str = "message.parts",
    *,
    are_chunks: bool = False,
) -> Payload:
    """Extract the payload from the parts of a message, or from the chunks of an artifact.

    Raises ``SchemaMismatchError``.
    """
    for index, part in enumerate(parts):
        if part.data is not None:
            value = None if part.data is JSON_NULL else part.data
            return Payload(value, f"{base_path}[{index}].data")
    texts = [(index, part.text) for index, part in enumerate(parts) if part.text is not None]
    if not texts:
        problem = "There is no JSON: send a part with data, or JSON as text"
        if validator.is_text:
            problem = "There is no text"
        raise SchemaMismatchError(((base_path, problem),))
    if validator.is_text:
        return Payload(join_text_parts(parts, are_chunks=are_chunks), base_path)
    index, text = texts[0]
    return Payload(
        _parse_text(text, validator, f"{base_path}[{index}].text"), f"{base_path}[{index}].text"
    )


def _describe(validator: SchemaValidator) -> str:
    """Describe the values of a schema in a few words: the members of an object, those that may be
    left out in brackets.
    """
    members = validator.schema.get("properties")
    required = validator.schema.get("required")
    if not is_json_object(members) or not members:
        return "JSON that fits its schema"
    needed = required if is_json_array(required) else ()
    names = [_quote_name(name, is_needed=name in needed) for name in members]
    if len(names) > _MAX_MEMBERS:
        names = [*names[:_MAX_MEMBERS], "…"]
    return f"an object with {', '.join(names)}"


def _quote_name(name: str, *, is_needed: bool) -> str:
    return f'"{name}"' if is_needed else f'["{name}"]'


def _parse_text(text: str, validator: SchemaValidator, path: str) -> object:
    """Parse a text as JSON, or keep it if only the text matches."""
    try:
        value = parse_json(text)
    except ValueError:
        if validator.is_valid(text):
            return text
        raise SchemaMismatchError(
            ((path, f"This is no JSON; the skill takes {_describe(validator)}"),)
        ) from None
    if not validator.is_valid(value) and validator.is_valid(text):
        return text
    return value


FIELDS_KEY = "a2a-gen/fields"
"""Metadata key of a message: field errors of a rejected input."""

_PAYLOAD_PATH = re.compile(r"^message\.parts\[\d+\]\.(?:data|text)\.?")


def attach_fields(message: Message, fields: Iterable[tuple[str, str]]) -> Message:
    """Attach field errors to the last message of a rejected task."""
    listed = [{"field": path, "description": text} for path, text in fields]
    return message.model_copy(update={"metadata": {**(message.metadata or {}), FIELDS_KEY: listed}})


def read_fields(message: Message | None) -> tuple[tuple[str, str], ...]:
    """Read the field errors of a message; empty without any."""
    listed = (message.metadata or {}).get(FIELDS_KEY) if message else None
    if not is_json_array(listed):
        return ()
    found = [each for each in listed if is_json_object(each)]
    return tuple((str(each.get("field", "")), str(each.get("description", ""))) for each in found)


def strip_payload_path(fields: FieldErrors) -> tuple[tuple[str, str], ...]:
    """Make field paths relative to the input instead of the message."""
    return tuple((_PAYLOAD_PATH.sub("", path), text) for path, text in fields)
