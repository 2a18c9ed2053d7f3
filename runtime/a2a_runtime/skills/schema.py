"""Typed schemas: a JSON Schema with its Python type, payloads of messages, and field errors.

The payload of a message is the first part that can hold it; other parts are for people, or for the handler, which sees the whole message:

    data part     the value
    text part     the text for a schema of texts; else the JSON in it, or the text if only that matches, such as a typed word
    neither       rejected: files are no input of a typed skill

A wrapped payload is never read as something else: a text becomes a text part for a schema of texts, and data for all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import jsonschema_rs
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.field_paths import field_paths
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import Message, Part

T = TypeVar("T")

FieldErrors: TypeAlias = Sequence[tuple[str, str]]
"""Field errors: each a field path and a message."""

_MAX_FIELDS = 100
"""Limit of field errors: a value can have millions."""


class SchemaMismatchError(ValueError):
    """A value does not match its schema; ``fields`` has the field errors."""

    def __init__(self, fields: FieldErrors) -> None:
        super().__init__("; ".join(f"{path or 'value'}: {text}" for path, text in fields))
        self.fields = tuple(fields)

    def prefix_fields(self, path: str) -> FieldErrors:
        """Prefix the field paths with the path of the value."""
        return tuple((f"{path}{'' if not inner or inner.startswith('[') else '.'}{inner}", text) for inner, text in self.fields)


class SchemaValidator:
    """Validator of a schema."""

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        validator = jsonschema_rs.validator_for(schema, validate_formats=True, mask="the value", offline=True)
        self.is_valid: Callable[[object], bool] = validator.is_valid
        """Tell whether a value matches the schema."""
        self._iter_errors = validator.iter_errors

    @property
    def is_text(self) -> bool:
        """True for a schema of plain text."""
        return self.schema.get("type") == "string"

    def check(self, value: object) -> None:
        """Raise ``SchemaMismatchError`` if a value does not match."""
        if not self.is_valid(value):
            raise SchemaMismatchError(_collect_fields(self._iter_errors(value)))


class TypedSchema(Generic[T]):
    """A schema with its Python type, loaded on first use."""

    def __init__(self, python_type: Any, schema: Path | JsonObject) -> None:  # noqa: ANN401 - a class, a union, an alias: no checker has one type for them yet
        self._python_type, self._source = python_type, schema

    @cached_property
    def document(self) -> bytes:
        """The schema as it is served; it has no external references."""
        return self._source.read_bytes() if isinstance(self._source, Path) else json.dumps(self._source).encode()

    @cached_property
    def schema(self) -> JsonObject:
        """The schema."""
        schema: JsonObject = json.loads(self.document)
        return schema

    @cached_property
    def validator(self) -> SchemaValidator:
        """The validator of the schema."""
        return SchemaValidator(self.schema)

    @property
    def id(self) -> str:
        """The ``$id`` of the schema."""
        return str(self.schema.get("$id", ""))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the schema as it is served."""
        return sha256(self.document).hexdigest()

    @property
    def type(self) -> object:
        """The Python type of the values."""
        of: object = self._python_type
        return of

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._python_type)

    def parse(self, value: object) -> T:
        """Parse JSON into a value, or raise ``SchemaMismatchError``."""
        value = None if value is JSON_NULL else value
        self.validator.check(value)
        try:
            return self._adapter.validate_python(value, by_alias=True, by_name=False)
        except ValidationError as error:
            raise SchemaMismatchError(field_paths(error)) from error

    def serialize(self, value: T) -> object:
        """Serialize a value to JSON, or raise ``SchemaMismatchError``."""
        try:
            document: object = self._adapter.dump_python(value, mode="json", by_alias=True, exclude_none=True, warnings="error")
        except PydanticSerializationError as error:
            raise SchemaMismatchError((("", str(error).partition("\n")[0]),)) from error
        self.validator.check(document)
        return document


TEXT: TypedSchema[str] = TypedSchema(str, {"type": "string"})
"""The schema of plain text, for skills without a schema."""


def _collect_fields(errors: Iterable[jsonschema_rs.ValidationError]) -> FieldErrors:
    return tuple(dict.fromkeys((_build_field_path(error), error.message) for error in islice(errors, _MAX_FIELDS)))


def _build_field_path(error: jsonschema_rs.ValidationError) -> str:
    """Build the field path of an error; for a missing or unexpected member, that of the member."""
    steps: list[str | int] = list(error.instance_path)
    kind = error.kind
    match kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=name):
            steps.append(str(name))
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected=[name, *_]):
            steps.append(str(name))
        case _:
            pass
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


class Payload(NamedTuple):
    """A value with its field path in the message."""

    value: object
    path: str


def wrap_payload(value: object, validator: SchemaValidator | None) -> Part:
    """Wrap a value in a part; without a schema, a text becomes a text part."""
    if isinstance(value, str) and (validator is None or validator.is_text):
        return Part(text=value)
    return Part(data=JSON_NULL if value is None else value)


def extract_payload(parts: Sequence[Part], validator: SchemaValidator, base_path: str = "message.parts") -> Payload:
    """Extract the payload from parts, or raise ``SchemaMismatchError``."""
    for index, part in enumerate(parts):
        if part.data is not None:
            return Payload(None if part.data is JSON_NULL else part.data, f"{base_path}[{index}].data")
    texts = [(index, part.text) for index, part in enumerate(parts) if part.text is not None]
    if not texts:
        raise SchemaMismatchError(
            ((base_path, "There is no text" if validator.is_text else "There is no JSON: send a part with data, or JSON as text"),)
        )
    if validator.is_text:
        return Payload("\n".join(text for _, text in texts), base_path)
    index, text = texts[0]
    return Payload(_parse_text(text, validator, f"{base_path}[{index}].text"), f"{base_path}[{index}].text")


def _parse_text(text: str, validator: SchemaValidator, path: str) -> object:
    """Parse a text as JSON, or keep it if only the text matches."""
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except ValueError:
        if validator.is_valid(text):
            return text
        raise SchemaMismatchError(((path, "This is no JSON; the skill takes JSON that fits its schema"),)) from None
    return text if not validator.is_valid(value) and validator.is_valid(text) else value


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
    found = [each for each in listed if is_json_object(each)] if is_json_array(listed) else []
    return tuple((str(each.get("field", "")), str(each.get("description", ""))) for each in found)


def strip_payload_path(fields: FieldErrors) -> tuple[tuple[str, str], ...]:
    """Make field paths relative to the input instead of the message."""
    return tuple((_PAYLOAD_PATH.sub("", path), text) for path, text in fields)
