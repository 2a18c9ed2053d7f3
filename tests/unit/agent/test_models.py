"""Types and modules that are made from a schema."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from a2a_gen.agent import models
from a2a_gen.agent.models import assign_modules
from a2a_gen.agent.schemas.catalog import SchemaCatalog
from a2a_gen.agent.schemas.files import Library, SchemaRef
from a2a_gen.agent.types.builder import TypeBuilder
from a2a_gen.source.json_text import Json

OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def members(folder: Path, schema: Json) -> dict[str, str]:
    """Make the types of a schema, and give the annotations of every class, and the types of every
    alias.
    """
    (folder / "made.json").write_text(json.dumps(schema))
    library = Library(folder)
    target = library.resolve("made.json", SchemaRef("made.json"))
    assert target is not None
    definitions = TypeBuilder(SchemaCatalog(library, {target: "Made"})).definitions
    found: dict[str, str] = {}
    for code in models.emit(definitions, assign_modules(definitions)).values():
        for node in ast.parse(code).body:
            match node:
                case ast.ClassDef(name=name, body=body, bases=[ast.Name(id=base)]):
                    found[name] = base
                    found |= {
                        f"{name}.{ast.unparse(each.target)}": ast.unparse(each.annotation)
                        for each in body
                        if isinstance(each, ast.AnnAssign)
                    }
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, value])):
                    found[name] = ast.unparse(value)
    return found


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": "string", "format": "date-time"}, "DateTimeText"),
        ({"type": "string", "format": "uuid"}, "UuidText"),
        ({"type": "string", "contentEncoding": "base64"}, "Base64Text"),
        ({"type": "string", "format": "email", "pattern": "@"}, "str"),
        ({"type": "number", "multipleOf": 0.1}, "Number"),
        ({"enum": ["x", "y"]}, "Literal['x', 'y']"),
        ({"enum": ["x", None]}, "Literal['x'] | None"),
        ({"enum": [1, 2]}, "int"),
        ({"const": "x"}, "Literal['x']"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        (
            {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
                "minItems": 2,
            },
            "tuple[str, int]",
        ),
        (
            {
                "type": "array",
                "prefixItems": [{"type": "string"}] * 10,
                "items": {"type": "integer"},
            },
            "list[str | int]",
        ),
        ({"type": "array", "prefixItems": [True, {"minimum": 1}]}, "list[Json]"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False, "minItems": 2},
            "list[str]",
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        (
            {
                "type": "object",
                "patternProperties": {"^a": {"type": "string"}},
                "additionalProperties": False,
            },
            "dict[str, str]",
        ),
        ({"type": "object"}, "dict[str, object]"),
        ({}, "Json"),
        (True, "Json"),
        ({"not": {"type": "string"}}, "Json"),
        ({"minLength": 3}, "Json"),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, "Json"),
        ({"oneOf": [{"type": "string"}, {"const": None}]}, "str | None"),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}]}, "str"),
        ({"allOf": [{"type": "string"}, {"const": "dog"}]}, "Literal['dog']"),
        ({"allOf": [{"enum": ["a", "b", "c"]}, {"enum": ["b", "c", "d"]}]}, "Literal['b', 'c']"),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "int"),
        (
            {"allOf": [{"type": ["string", "integer", "null"]}, {"type": ["integer", "null"]}]},
            "int | None",
        ),
        (
            {"allOf": [{"anyOf": [{"type": "string"}, {"type": "boolean"}]}, {"type": "boolean"}]},
            "bool",
        ),
        (
            {
                "anyOf": [{"type": "string"}, {"type": "integer"}],
                "oneOf": [{"const": "x"}, {"type": "array"}],
            },
            "Literal['x']",
        ),
        (
            {
                "allOf": [
                    {"type": "array", "items": {"type": "number"}},
                    {"items": {"type": "integer"}},
                ]
            },
            "list[int]",
        ),
        (
            {"type": "object", "allOf": [{"additionalProperties": {"type": "string"}}]},
            "dict[str, str]",
        ),
        ({"$ref": "#/$defs/Word", "enum": ["x"]}, "Literal['x']"),
        ({"allOf": [{"$ref": "#/$defs/Addr"}], "description": "Where it goes."}, "Addr"),
        ({"allOf": [{"$ref": "#/$defs/Addr"}, {"minProperties": 1}]}, "Addr"),
        (
            {"allOf": [{"type": ["object", "null"]}, {"properties": {"a": {"type": "string"}}}]},
            "MadeMember | None",
        ),
        ({"$ref": "a2a:v1_0#/$defs/Part"}, "Part"),
    ],
    ids=lambda value: "" if isinstance(value, str) else json.dumps(value),
)
def test_types_say_what_types_can_say(tmp_path: Path, schema: Json, written: str) -> None:
    """A member's type takes everything that its schema takes, and as little more as Python
    allows.
    """
    definitions: Json = {"Word": {"type": "string"}, "Addr": OBJECT}
    found = members(
        tmp_path,
        {
            "type": "object",
            "properties": {"member": schema},
            "required": ["member"],
            "$defs": definitions,
        },
    )
    assert found["Made.member"] == written


TEXT = {"type": "string"}
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (
            {"prefixItems": [TEXT, INTEGER], "items": False},
            "tuple[()] | tuple[str] | tuple[str, int]",
        ),
        (
            {"prefixItems": [TEXT, INTEGER], "items": False, "minItems": 1},
            "tuple[str] | tuple[str, int]",
        ),
        ({"prefixItems": [TEXT, INTEGER], "maxItems": 1}, "tuple[()] | tuple[str]"),
        (
            {"prefixItems": [TEXT], "minItems": 1},
            "Annotated[tuple[str, *tuple[Json, ...]], RestItems()]",
        ),
        (
            {"prefixItems": [TEXT], "items": INTEGER},
            "tuple[()] | Annotated[tuple[str, *tuple[int, ...]], RestItems()]",
        ),
        (
            {"items": [TEXT], "additionalItems": INTEGER, "minItems": 1},
            "Annotated[tuple[str, *tuple[int, ...]], RestItems()]",
        ),
        (
            {
                "allOf": [
                    {"prefixItems": [TEXT, True]},
                    {"items": {"type": ["string", "integer"]}, "minItems": 2},
                ]
            },
            None,
        ),
        (
            {
                "allOf": [
                    {"type": "array", "prefixItems": [TEXT]},
                    {"type": "array", "prefixItems": [True, INTEGER], "items": False},
                ]
            },
            "tuple[()] | tuple[str] | tuple[str, int]",
        ),
    ],
    ids=json.dumps,
)
def test_tuples_have_every_length(
    tmp_path: Path, schema: dict[str, Json], written: str | None
) -> None:
    """Items of an array with types of their own are a tuple, of every length that the schema
    accepts.
    """
    found = members(
        tmp_path,
        {
            "type": "object",
            "properties": {"member": {"type": "array", **schema}},
            "required": ["member"],
        },
    )
    assert found["Made.member"] == "MadeMemberTuple"
    assert found["MadeMemberTuple"] == (
        written
        or (
            "tuple[()] | tuple[str] | Annotated[tuple[str, str | int, *tuple[str | int, ...]], "
            "RestItems()]"
        )
    )


@pytest.mark.parametrize(
    ("rest", "member", "written"),
    [
        ({"allOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}]}, "b", "int"),
        (
            {"if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "integer"}}}},
            "b",
            "Json | None",
        ),
        (
            {
                "oneOf": [
                    {"properties": {"b": {"const": "x"}}},
                    {"properties": {"b": {"const": "y"}}},
                ]
            },
            "b",
            "Literal['x', 'y'] | None",
        ),
        (
            {"oneOf": [{"properties": {"b": {"const": "x"}}}, {"required": ["c"]}]},
            "b",
            "Json | None",
        ),
        (
            {
                "if": {"required": ["a"]},
                "then": {"properties": {"b": {"type": "integer"}}},
                "unevaluatedProperties": False,
            },
            "b",
            "int | None",
        ),
        ({"required": ["a", "c"]}, "c", "Json"),
    ],
    ids=["allOf", "then", "every branch", "one branch", "then, sealed", "required alone"],
)
def test_what_is_combined_is_one_class(
    tmp_path: Path, rest: dict[str, Json], member: str, written: str
) -> None:
    """Keywords that add members to an object add them to its class; conditional members are typed
    only where no other type is possible.
    """
    found = members(tmp_path, {**OBJECT, **rest})
    assert {name for name in found if "." not in name} == {"Made"}
    assert found[f"Made.{member}"] == written


def test_recursion_ends(tmp_path: Path) -> None:
    """A type may hold itself, also in the midst of what it is combined with."""
    schema = {
        **OBJECT,
        "properties": {
            "a": {"type": "string"},
            "next": {"allOf": [{"$ref": "#"}, {"properties": {"b": {"type": "string"}}}]},
        },
    }
    found = members(tmp_path, schema)
    assert found["Made.next"].startswith("MadeNext")
    assert found["MadeNext.next"].startswith(("MadeNext", "'MadeNext", "Optional['MadeNext"))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"$ref": "nowhere.json"}, "nowhere.json cannot be read"),
        ({"$ref": "#/$defs/Nothing"}, "does not resolve"),
        ({"$ref": "https://example.com/x.json"}, "is not part of this project"),
        ({"$ref": "#nothing"}, "has no anchor"),
        ({"$ref": "../../outside.json"}, "outside the project"),
        ({"$ref": "a2a:v9#/$defs/Part"}, "not a dialect of the protocol"),
    ],
    ids=["no file", "no definition", "elsewhere", "no anchor", "outside", "no dialect"],
)
def test_broken_references_are_problems(tmp_path: Path, schema: dict[str, Json], text: str) -> None:
    """Each problem has the place of the reference and its cause."""
    (tmp_path / "made.json").write_text(json.dumps(schema))
    library = Library(tmp_path)
    target = library.resolve("made.json", SchemaRef("made.json"))
    assert target is not None
    SchemaCatalog(library, {target: "Made"})
    (problem,) = library.problems
    assert text in problem.text
    assert problem.place.file == "made.json"
