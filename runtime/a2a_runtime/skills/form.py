"""A schema and the Python type that was generated from it: how values are read and written that cross the boundary of a skill."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import jsonschema_rs
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.places import places

T = TypeVar("T")

Fields: TypeAlias = Sequence[tuple[str, str]]
"""Each wrong place, and what is wrong there."""

_MOST = 100
"""How many wrong places are looked for: a value can have millions."""


class WrongValueError(ValueError):
    """A value does not fit its schema; ``fields`` says where, and why."""

    def __init__(self, fields: Fields) -> None:
        super().__init__("; ".join(f"{place or 'value'}: {text}" for place, text in fields))
        self.fields = tuple(fields)

    def at(self, place: str) -> Fields:
        """Name the places from outside: those in a value that itself stands at a place."""
        return tuple((f"{place}{'' if not inner or inner.startswith('[') else '.'}{inner}", text) for inner, text in self.fields)


class Law:
    """What a schema allows."""

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        validator = jsonschema_rs.validator_for(schema, validate_formats=True, mask="the value", offline=True)
        self.fits: Callable[[object], bool] = validator.is_valid
        """Whether a value is as the schema wants it."""
        self._errors = validator.iter_errors

    @property
    def is_text(self) -> bool:
        """Whether plain text is what the schema asks for."""
        return self.schema.get("type") == "string"

    def check(self, value: object) -> None:
        """Raise ``WrongValueError`` when a value does not fit."""
        if not self.fits(value):
            raise WrongValueError(_fields(self._errors(value)))


class Form(Generic[T]):
    """A schema with its type; made cheaply, and complete when it is first used."""

    def __init__(self, of: Any, schema: Path | JsonObject) -> None:  # noqa: ANN401 - a class, a union, an alias: no checker has one type for them yet
        self._of, self._source = of, schema

    @cached_property
    def document(self) -> bytes:
        """The schema as it is served: it refers to nothing outside itself."""
        return self._source.read_bytes() if isinstance(self._source, Path) else json.dumps(self._source).encode()

    @cached_property
    def schema(self) -> JsonObject:
        """The schema."""
        schema: JsonObject = json.loads(self.document)
        return schema

    @cached_property
    def law(self) -> Law:
        """The schema, ready to validate."""
        return Law(self.schema)

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
        of: object = self._of
        return of

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._of)

    def read(self, value: object) -> T:
        """Make a value of JSON that fits the schema, or raise ``WrongValueError``."""
        value = None if value is JSON_NULL else value
        self.law.check(value)
        try:
            return self._adapter.validate_python(value, by_alias=True, by_name=False)
        except ValidationError as error:
            raise WrongValueError(places(error)) from error

    def write(self, value: T) -> object:
        """Make JSON of a value that fits the schema, or raise ``WrongValueError``."""
        try:
            written: object = self._adapter.dump_python(value, mode="json", by_alias=True, exclude_none=True, warnings="error")
        except PydanticSerializationError as error:
            raise WrongValueError((("", str(error).partition("\n")[0]),)) from error
        self.law.check(written)
        return written


TEXT: Form[str] = Form(str, {"type": "string"})
"""The form of skills that have no schema: they take, or give, text."""


def _fields(errors: Iterable[jsonschema_rs.ValidationError]) -> Fields:
    found: dict[tuple[str, str], None] = {}
    for error in errors:
        found[_place(error), error.message] = None
        if len(found) == _MOST:
            break
    return tuple(found)


def _place(error: jsonschema_rs.ValidationError) -> str:
    """Say where an error belongs; that of a missing member, or of one too many, to the member."""
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
