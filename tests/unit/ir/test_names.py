"""Names in Python, against those that datamodel-code-generator makes."""

import ast
import json
from pathlib import Path

import pytest
from datamodel_code_generator import InputFileType, generate
from datamodel_code_generator.config import GenerateConfig
from datamodel_code_generator.enums import DataModelType

from a2a_gen.ir import names
from a2a_gen.ir.types import Constant, ListOf, MapOf, OneOf, Primitive, Ref, TypeExpr

TRICKY = """
from class schema json copy model_config list _meta $ref 1st oauth2MetadataUrl URLValue a-b x.y A
iconURL iconUrl2Go model_fields modelName dict validate match type None async construct fields
snake_case HTTPAuth mtlsSecurityScheme x2Y3z register parse_obj trailing_ field in @id
#hash in-put __x str int bool float bytes object self id mediaType lastUpdatedAfter x--y Ünïcode
""".split()  # noqa: SIM905 - a list would take sixty lines

SCHEMAS: dict[str, tuple[dict[str, object], TypeExpr]] = {
    "string": ({"type": "string"}, Primitive.STRING),
    "integer": ({"type": "integer"}, Primitive.INTEGER),
    "number": ({"type": "number"}, Primitive.NUMBER),
    "boolean": ({"type": "boolean"}, Primitive.BOOLEAN),
    "list": ({"type": "array", "items": {"type": "string"}}, ListOf(Primitive.STRING)),
    "map": (
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}},
        MapOf(ListOf(Primitive.BOOLEAN)),
    ),
    "several": ({"type": ["string", "integer"]}, OneOf((Primitive.STRING, Primitive.INTEGER))),
    "reference": ({"$ref": "#/$defs/Other"}, Ref("Other")),
    "constant": ({"const": "x"}, Constant("x")),
}


def generate_members(schema: dict[str, object], folder: Path) -> dict[str, list[str]]:
    """Generate a model, and list the names that each class gives to its members."""
    file = folder / "model.json"
    file.write_text(json.dumps(schema))
    config = GenerateConfig(
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        snake_case_field=True,
        capitalise_enum_members=True,
        use_subclass_enum=True,
        use_specialized_enum=True,
        use_standard_collections=True,
        use_union_operator=True,
        skip_root_model=True,
        formatters=[],
    )
    source = generate(file, config=config)
    assert isinstance(source, str)
    return {
        node.name: [member_of(each) for each in node.body]
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
    }


def member_of(statement: ast.stmt) -> str:
    """Find the name that a statement of a class sets."""
    assert isinstance(statement, ast.AnnAssign | ast.Assign)
    target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
    assert isinstance(target, ast.Name)
    return target.id


@pytest.mark.parametrize(("schema", "of"), SCHEMAS.values(), ids=SCHEMAS)
def test_field_names(schema: dict[str, object], of: TypeExpr, tmp_path: Path) -> None:
    """A member of any type has the name that datamodel-code-generator gives it."""
    other = {"type": "object", "properties": {"x": {"type": "string"}}}
    types = {
        f"T{index}": {"type": "object", "properties": {wire: schema}}
        for index, wire in enumerate(TRICKY)
    }
    made = generate_members({"$defs": {"Other": other, **types}}, tmp_path)
    assert {wire: made[f"T{index}"] for index, wire in enumerate(TRICKY)} == {
        wire: [names.field_name(wire, of)] for wire in TRICKY
    }


def test_member_names(tmp_path: Path) -> None:
    """A value of an enumeration has the name that datamodel-code-generator gives it."""
    words = [
        "input-required",
        "canceled",
        "1st",
        "None",
        "TRUE",
        "mro",
        "name",
        "value",
        "_z",
        "TASK_STATE_NEW",
        "apiKey",
        "http.auth",
    ]
    made = generate_members({"$defs": {"E": {"type": "string", "enum": words}}}, tmp_path)
    assert made["E"] == [names.member_name(word) for word in words]


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("v1_0/message.json", "message"),
        ("v0_3/calls_task.json", "calls_task"),
        ("x/Push-Config.json", "push_config"),
    ],
)
def test_module_name(file: str, module: str) -> None:
    """A module is named after its file."""
    assert names.module_name(file) == module


@pytest.mark.parametrize(
    ("name", "is_good"),
    [
        ("Task", True),
        ("OAuth2", True),
        ("None", False),
        ("_Task", False),
        ("2nd", False),
        ("A-B", False),
    ],
)
def test_is_class_name(*, name: str, is_good: bool) -> None:
    """A class can have a name that is a public Python identifier."""
    assert names.is_class_name(name) is is_good
