"""Typed schemas: a JSON Schema with its Python type, readers and writers of its JSON, and field
errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import jsonschema_rs
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from .field_paths import MAX_FIELD_ERRORS, FieldPath, render_path
from .finite import TOO_LARGE, is_finite, list_non_finite
from .json_types import NO_MEMBERS, is_json_array, is_json_object
from .mismatches import list_mismatches
from .schema_nodes import SchemaDocuments, build_validator

T = TypeVar("T")

FieldErrors: TypeAlias = Sequence[tuple[str, str]]
"""Field errors: each a field path and a message."""


class SchemaMismatchError(ValueError):
    """A value does not match its schema; ``fields`` has the field errors."""

    def __init__(self, fields: FieldErrors) -> None:
        super().__init__("; ".join(f"{path or 'value'}: {text}" for path, text in fields))
        self.fields = tuple(fields)

    def prefix_fields(self, path: str) -> FieldErrors:
        """Prefix the field paths with the path of the value."""
        return tuple((_join_paths(path, inner), text) for inner, text in self.fields)


def _join_paths(path: str, inner: str) -> str:
    if not inner or inner.startswith("["):
        return f"{path}{inner}"
    return f"{path}.{inner}"


class SchemaValidator:
    """Validator of a schema, which may refer to other documents."""

    def __init__(
        self,
        schema: Mapping[str, object],
        registry: jsonschema_rs.Registry | None = None,
        documents: Mapping[str, Any] = NO_MEMBERS,
    ) -> None:
        self.schema = schema
        self._others = documents
        validator = build_validator(schema, registry)
        self.is_valid: Callable[[object], bool] = validator.is_valid
        """Tell whether a value matches the schema."""

    @property
    def is_text(self) -> bool:
        """True for a schema of plain text."""
        return self.schema.get("type") == "string"

    @cached_property
    def _documents(self) -> SchemaDocuments:
        return SchemaDocuments(self.schema, self._others)

    def check(self, value: object) -> None:
        """Raise ``SchemaMismatchError`` if a value does not match."""
        if not self.is_valid(value):
            raise SchemaMismatchError(
                [(render_path(steps), text) for steps, text in self.list_errors(value)]
            )

    def list_errors(self, value: object) -> list[tuple[FieldPath, str]]:
        """List the first errors of a value, each with its path; none if it matches."""
        if self.is_valid(value):
            return []
        return [
            *dict.fromkeys(
                (each.path, each.text) for each in list_mismatches(self._documents, value)
            )
        ]


class TypedSchema(Generic[T]):
    """A schema with its Python type, loaded on first use."""

    omits_none: ClassVar[bool] = True
    """True where values hold models of a protocol: an absent member of theirs is ``None``."""

    # `Any`, since no checker has one type yet for a class, a union and an alias.
    def __init__(
        self,
        python_type: Any,  # noqa: ANN401
        schema: Path | Mapping[str, object],
    ) -> None:
        self._python_type = python_type
        self._source = schema

    @cached_property
    def document(self) -> bytes:
        """The schema as it is served; it has no external references."""
        if isinstance(self._source, Path):
            return self._source.read_bytes()
        return json.dumps(self._source).encode()

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The schema."""
        schema: dict[str, Any] = json.loads(self.document)
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
        """Parse JSON values (dicts, lists, texts …) into a value, or raise
        ``SchemaMismatchError``.
        """
        self.validator.check(value)
        try:
            return self._adapter.validate_python(value, by_alias=True, by_name=False)
        except ValidationError as error:
            if (written := write_out_integers(value, error)) is not None:
                return self.parse(written)
            raise SchemaMismatchError(
                [(render_path(steps), text) for steps, text in list_type_errors(error, value)]
            ) from error

    def serialize(self, value: T) -> object:
        """Serialize a value to JSON values, or raise ``SchemaMismatchError``."""
        try:
            document: object = self._adapter.dump_python(
                value, mode="json", by_alias=True, exclude_none=self.omits_none, warnings="error"
            )
        except PydanticSerializationError as error:
            raise SchemaMismatchError(
                list_non_finite(value) or list_unexpected_values(error)
            ) from error
        if not is_finite((value,)):
            raise SchemaMismatchError(list_non_finite(value))
        self.validator.check(document)
        return document

    def read(self, text: bytes | str) -> T:
        """Read JSON text, or raise ``SchemaMismatchError``."""
        try:
            value = parse_json(text)
        except SchemaMismatchError:
            raise
        except ValueError as error:
            raise SchemaMismatchError((("", f"not JSON: {error}"),)) from error
        return self.parse(value)

    def write(self, value: T) -> bytes:
        """Write a value as JSON text, or raise ``SchemaMismatchError``."""
        return to_json(self.serialize(value))


# --- numbers ---

_MAY_OVERFLOW = re.compile(rb"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")


def parse_json(text: bytes | str) -> object:
    """Parse JSON text, or raise ``ValueError``; a number beyond every float, such as 1e400, is
    refused and never becomes infinity.
    """
    value: object = from_json(text, allow_inf_nan=False)
    if _MAY_OVERFLOW.search(text.encode() if isinstance(text, str) else text) and (
        found := list_non_finite(value, TOO_LARGE)
    ):
        raise SchemaMismatchError(found)
    return value


def write_out_integers(value: object, error: ValidationError) -> object:
    """Replace floats such as 1e20, which Pydantic takes for no integers, by equal integers;
    ``None`` if the error has other reasons.
    """
    large = {
        each["input"]
        for each in error.errors()
        if each["type"] == "int_parsing_size" and isinstance(each["input"], float)
    }
    if large:
        return _write_out(value, large)
    return None


def _write_out(value: object, floats: AbstractSet[float]) -> object:
    """Replace some floats by equal integers."""
    if isinstance(value, float):
        if value in floats:
            return int(value)
        return value
    if is_json_object(value):
        return {name: _write_out(each, floats) for name, each in value.items()}
    if is_json_array(value):
        return [_write_out(each, floats) for each in value]
    return value


# --- field errors ---

_EXPECTED: Mapping[str, str] = {
    "tuple_type": "array",
    "list_type": "array",
    "model_type": "object",
    "dict_type": "object",
}


def list_type_errors(error: ValidationError, document: object) -> list[tuple[FieldPath, str]]:
    """List where JSON that matches its schema does not fit its type, as where ``prefixItems``
    without a type accepts an object.

    Pydantic names the branch of a union as a step, which no document has, and each branch refuses
    for itself: only the innermost places count.
    """
    if error.error_count() > MAX_FIELD_ERRORS:
        return [((), f"more than {MAX_FIELD_ERRORS} values are not of their types")]
    found = {
        _follow_document(each["loc"], document): each
        for each in reversed(error.errors(include_url=False, include_context=False))
    }
    outer: set[FieldPath] = set()
    for steps in found:
        outer |= {steps[:length] for length in range(len(steps))}
    listed: list[tuple[FieldPath, str]] = []
    for steps, each in reversed(found.items()):
        text = each["msg"]
        if each["type"] in _EXPECTED:
            text = f'the value is not of type "{_EXPECTED[each["type"]]}"'
        if steps not in outer:
            listed.append((steps, text))
    return listed


_UNEXPECTED = re.compile(
    r"Expected `(?P<expected>[^`]+)`.*?\[(?:field_name='(?P<field>[^']*)')?"
    r".*input_type=(?P<type>[^\]]+)\]\)$",
    re.MULTILINE,
)


def list_unexpected_values(error: PydanticSerializationError) -> FieldErrors:
    """List the values that Pydantic did not expect when it wrote them, by their types alone; it
    names at most the innermost member.
    """
    found = [
        (each["field"] or "", f"the value is of type {each['type']}, not {each['expected']}")
        for each in _UNEXPECTED.finditer(str(error))
    ]
    return found or (("", str(error).partition("\n")[0]),)


def _follow_document(steps: FieldPath, document: object) -> FieldPath:
    """Return the steps that a document has."""
    found: list[str | int] = []
    for step in steps:
        if is_json_object(document) and step in document:
            document = document[str(step)]
        elif is_json_array(document) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            continue
        found.append(step)
    return tuple(found)
