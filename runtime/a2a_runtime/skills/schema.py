"""A schema and the Python type that was generated from it: how values are read and written that cross the boundary of a skill."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import jsonschema_rs
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from a2a_contract.base import JSON_NULL, JsonObject
from a2a_contract.field_paths import places
from a2a_contract.json_types import is_list, is_object
from a2a_contract.v1_0 import Message, Part

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


# The value that a message carries for a skill.
#
#     a data part          that value
#     a text part          for a schema of texts, the text itself; else the JSON in it, or the text where only that fits, as a word that people type
#     neither              refused: files are no input of a typed skill
#
# The first part that can be the value is; what else the message holds is for people, or for the handler, which sees the whole message. What we write
# ourselves is never read as something else: a text is a text part for a schema of texts, and a piece of data for all others.
#


class Carried(NamedTuple):
    """A value, and where in the message it stands."""

    value: object
    place: str


def carrier(value: object, law: Law | None) -> Part:
    """Make the part that carries a value; without a schema, a text is a text."""
    if isinstance(value, str) and (law is None or law.is_text):
        return Part(text=value)
    return Part(data=JSON_NULL if value is None else value)


def carried(parts: Sequence[Part], law: Law, around: str = "message.parts") -> Carried:
    """Find the value in the parts of a message, or raise ``WrongValueError``."""
    for index, part in enumerate(parts):
        if part.data is not None:
            return Carried(None if part.data is JSON_NULL else part.data, f"{around}[{index}].data")
    texts = [(index, part.text) for index, part in enumerate(parts) if part.text is not None]
    if not texts:
        raise WrongValueError(((around, "There is no text" if law.is_text else "There is no JSON: send a part with data, or JSON as text"),))
    if law.is_text:
        return Carried("\n".join(text for _, text in texts), around)
    index, text = texts[0]
    return Carried(_meant(text, law, f"{around}[{index}].text"), f"{around}[{index}].text")


def _meant(text: str, law: Law, place: str) -> object:
    """Read a text as JSON, or as itself where only that fits."""
    try:
        value: object = from_json(text, allow_inf_nan=False)
    except ValueError:
        if law.fits(text):
            return text
        raise WrongValueError(((place, "This is no JSON; the skill takes JSON that fits its schema"),)) from None
    return text if not law.fits(value) and law.fits(text) else value


# Input that fits its schema and is refused all the same, for what no schema can say; and places in it as callers know them.
#
# A handler refuses when there is a task already, so the places travel with the last message of the task, which is then rejected.
#

FIELDS = "a2a-gen/fields"
"""Member of a message's metadata: each wrong place, as errors of the protocol name it."""

_CARRIED = re.compile(r"^message\.parts\[\d+\]\.(?:data|text)\.?")


def refused(message: Message, fields: Iterable[tuple[str, str]]) -> Message:
    """Say in a message which places are wrong."""
    listed = [{"field": place, "description": text} for place, text in fields]
    return message.model_copy(update={"metadata": {**(message.metadata or {}), FIELDS: listed}})


def refused_fields(message: Message | None) -> tuple[tuple[str, str], ...]:
    """Read which places were wrong; none where a message says nothing of that."""
    listed = (message.metadata or {}).get(FIELDS) if message else None
    found = [each for each in listed if is_object(each)] if is_list(listed) else []
    return tuple((str(each.get("field", "")), str(each.get("description", ""))) for each in found)


def within(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Name places in the input, and no longer in the message that carried it; the input itself has no name."""
    return tuple((_CARRIED.sub("", place), text) for place, text in fields)
