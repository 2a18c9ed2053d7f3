"""The example documents of the contract, and how the generated package reads each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import jsonschema_rs
from pydantic import ValidationError, create_model

from a2a_contract.base import WireModel, check_requirements
from a2a_contract.binding import AnyBinding, Binding
from a2a_contract.field_paths import parse_location

SCHEMA = Path(__file__).parents[2] / "schema"
EXAMPLES = SCHEMA / "examples"
FORMS = ("v1_0", "v0_3", "v0_3_proto", "mesh")
ANSWERS_TOO = frozenset({"TaskPushNotificationConfig"})


@dataclass(frozen=True)
class Example:
    """One example document of a type of a dialect; its reason is its name."""

    dialect: str
    type: str
    reason: str
    text: str

    @property
    def content(self) -> object:
        """The document, as JSON."""
        return json.loads(self.text)

    def __str__(self) -> str:
        return f"{self.dialect}-{self.type}-{self.reason}"


def examples(kind: str) -> list[Example]:
    """Find the examples of one kind: valid, lenient, invalid."""
    return [
        Example(dialect, path.stem, reason, json.dumps(document))
        for dialect in FORMS
        for path in sorted((EXAMPLES / dialect).glob("*.json"))
        for reason, document in sorted(read_examples(path, kind).items())
    ]


def read_examples(path: Path, kind: str) -> dict[str, object]:
    """Read the documents of one kind of a type, by their reasons."""
    found: dict[str, object] = json.loads(path.read_text(encoding="utf-8")).get(kind, {})
    return found


@cache
def _box(dialect: str, name: str) -> type[WireModel]:
    """Make a model with one member of the type: unions and words have no model of their own, and
    places are counted from a model.
    """
    return create_model(f"Box{name}", __base__=WireModel, value=(kind_of(dialect, name), ...))


def kind_of(dialect: str, name: str) -> type[object]:
    """Find a type in the generated package."""
    kind: type[object] = getattr(import_module(f"a2a_contract.{dialect}"), name)
    return kind


def write(value: WireModel) -> object:
    """Write what was read, as JSON."""
    return json.loads(value.to_json())["value"]


def read_leniently(example: Example, document: object) -> WireModel:
    """Read a document with all that readers forgive."""
    return _box(example.dialect, example.type).model_validate_json(json.dumps({"value": document}))


def read_document(example: Example, document: object) -> WireModel:
    """Read a document as an agent does: a request strictly, everything else leniently."""
    box = read_leniently(example, document)
    value: object = getattr(box, "value")  # noqa: B009 - the member is not known to type checkers
    for binding in bindings(example):
        if isinstance(value, WireModel):
            check_requirements(value, binding.requirements)
    return box


def bindings(example: Example) -> Iterator[AnyBinding]:
    """Find the operations that are asked for with the example's type; a type that is also an answer
    is no request by itself.
    """
    kind = kind_of(example.dialect, example.type)
    for binding in vars(import_module(f"a2a_contract.bindings.{example.dialect}")).values():
        if (
            isinstance(binding, Binding)
            and binding.request is kind
            and example.type not in ANSWERS_TOO
        ):
            yield binding


def pointers(example: Example, error: ValidationError) -> list[str]:
    """Name the places of an error as JSON pointers."""
    box = _box(example.dialect, example.type)
    inside = error.title == box.__name__
    return [
        pointer(parse_location(box, each["loc"])[1:] if inside else each["loc"])
        for each in error.errors()
    ]


def pointer(place: Iterable[object]) -> str:
    """Write a place as a JSON pointer."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)


@cache
def validator(dialect: str, name: str) -> jsonschema_rs.Validator:
    """Make a plain JSON Schema validator of one type, from the schemas as they are written."""
    files = {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in (SCHEMA / dialect).glob("*.json")
    }
    home = next(file for file, schema in files.items() if name in schema["$defs"])
    registry = jsonschema_rs.Registry(
        [(f"json-schema:///{file}", schema) for file, schema in files.items()]
    )
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": f"json-schema:///{home}#/$defs/{name}",
    }
    return jsonschema_rs.validator_for(schema, registry=registry, validate_formats=True)
