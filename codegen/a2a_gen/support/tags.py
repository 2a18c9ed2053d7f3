"""Supplying the constants that tell objects apart, where whoever wrote a document has left them out.

Some writers take ``kind`` for granted. What an object is can mostly be seen from the members that it has; which members belong to what stands in the
schema of the model that reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from .kinds import is_list, is_object

Schema: TypeAlias = Mapping[str, Any]  # a core schema of Pydantic, whose dozens of forms have no common type


def supplied(schema: Schema, document: object) -> object:
    """Give a document with the constants that it lacks; one that fits nowhere stays as it is."""
    return _supplied(schema, document, {})


def _supplied(schema: Schema, document: object, definitions: dict[str, Schema]) -> object:
    schema = _bare(schema, definitions)
    match schema.get("type"):
        case "list" if is_list(document):
            return [_supplied(schema.get("items_schema", {}), item, definitions) for item in document]
        case "tagged-union" if is_object(document):
            branch = _branch(schema, document, definitions)
            return document if branch is None else _supplied(branch, document, definitions)
        case "model-fields" if is_object(document):
            return _members(schema, document, definitions)
        case _:
            return document


def _members(schema: Schema, document: dict[str, object], definitions: dict[str, Schema]) -> dict[str, object]:
    made = dict(document)
    for name, field in schema["fields"].items():
        wire = next((each for each in _names(name, field) if each in document), None)
        if wire is not None:
            made[wire] = _supplied(field["schema"], document[wire], definitions)
        elif (constant := _constant(field["schema"], definitions)) is not None:
            made[_names(name, field)[0]] = constant
    return made


def _branch(union: Schema, document: dict[str, object], definitions: dict[str, Schema]) -> Schema | None:
    """Choose what a document is: by its tag, or else the branch most of whose required members it has, if it has all of them."""
    tag = union["discriminator"]
    choices: dict[object, Schema] = union["choices"]
    if isinstance(tag, str) and tag in document:
        return choices.get(document[tag])
    fitting = [(required, choice) for choice in choices.values() if (required := _required(choice, definitions)) <= document.keys()]
    return max(fitting, key=lambda each: len(each[0]), default=(None, None))[1]


def _required(schema: Schema, definitions: dict[str, Schema]) -> frozenset[str]:
    return frozenset(_required_names(_bare(schema, definitions), definitions))


def _required_names(schema: Schema, definitions: dict[str, Schema]) -> Iterator[str]:
    for name, field in schema.get("fields", {}).items():
        if field["schema"]["type"] != "default" and _constant(field["schema"], definitions) is None:
            yield _names(name, field)[0]


def _constant(schema: Schema, definitions: dict[str, Schema]) -> object:
    schema = _bare(schema, definitions)
    return schema["expected"][0] if schema.get("type") == "literal" and len(schema["expected"]) == 1 else None


def _names(name: str, field: Schema) -> tuple[str, ...]:
    alias = field.get("validation_alias")
    wire = (alias,) if isinstance(alias, str) else tuple(path[0] for path in alias or ())
    return (*wire, name)


def _bare(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Take off everything around a schema that adds no step."""
    while True:
        match schema.get("type"):
            case "definitions":
                definitions.update({each["ref"]: each for each in schema["definitions"]})
                schema = schema["schema"]
            case "definition-ref":
                schema = definitions[schema["schema_ref"]]
            case "json-or-python":
                schema = schema["json_schema"]
            case _ if isinstance(schema.get("schema"), dict):
                schema = schema["schema"]
            case _:
                return schema
