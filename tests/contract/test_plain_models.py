"""Packages of plain schemas: their models are the schemas, they need nothing of a2a-gen, and a
build, a check and a comparison work on them.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from contract import plain_comparison
from contract.plain_comparison import TOPICS, Topic, judge, run_ours
from contract.plain_packages import emit, import_package
from pydantic import TypeAdapter, ValidationError

from a2a_gen import pipeline
from a2a_gen.plain.build import problems
from a2a_gen.problems import ContractError
from a2a_gen.source.project import find_project

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
NODE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "inner": {"type": "array", "items": {"$ref": "#"}},
        "size": {"type": "integer"},
    },
}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_models_are_their_schemas(topic: Topic) -> None:
    """The typed schema and the model alone accept, keep and refuse what the schema does."""
    assert set(run_ours(topic)) == {""}


def test_the_page_says_what_was_measured() -> None:
    """The table of the page is that of both tools today; run tests/contract/plain_comparison.py to
    update it.
    """
    printed = PAGE.partition(plain_comparison.BEGIN)[2].partition(plain_comparison.END)[0]
    assert printed == plain_comparison.table(plain_comparison.results())


def test_a_judge_sees_every_kind_of_difference() -> None:
    """The comparison cannot be passed by a tool that accepts, refuses or changes anything."""
    topic = Topic("", {}, ({"a": 1},), ({"a": 2},))
    assert judge(topic, lambda text: text, lambda value: value) == 'accepts `{"a": 2}`'
    assert (
        judge(topic, lambda text: text, lambda _: b'{"a": true}')
        == 'writes `{"a": 1}` as `{"a": true}`'
    )
    assert judge(topic, lambda text: text, lambda _: b"{}") == 'writes `{"a": 1}` as `{}`'
    assert judge(topic, int, lambda _: b"{}") == 'refuses `{"a": 1}`'


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    """Its schema and its settings give the package that its Python uses, in a process that has
    nothing of a2a-gen, with the results that it shows.
    """
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    toml, python = ([text for kind, text in blocks if kind == each] for each in ("toml", "py"))
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.json").write_text(
        next(text for kind, text in blocks if kind == "json"), encoding="utf-8"
    )
    (tmp_path / "a2a-gen.toml").write_text("\n".join(toml), encoding="utf-8")
    project = find_project(tmp_path)
    assert (project.kind, project.compat.baselines, project.compat.profile) == (
        "models",
        ("origin/main",),
        "BACKWARD",
    )
    assert pipeline.build(project).warnings == ()
    assert not pipeline.compute_drift(project)[0]

    lines = [line for text in python for line in text.splitlines()]
    refused = [line.partition("  # ")[0] for line in lines if "# ValidationError" in line]
    results = [line.partition("  # ")[2].strip() for line in lines if "print(" in line]
    program = "\n".join(
        [
            "import sys",
            "sys.path.insert(0, sys.argv[1])",
            *(
                f"try:\n {line}\nexcept ValueError: pass\nelse: raise SystemExit(1)"
                if line.partition("  # ")[0] in refused
                else line
                for line in lines
            ),
        ]
    )
    program += (
        "\nprint([name for name in sys.modules if name.startswith('a2a_') or name in "
        "('litestar', 'asyncpg', 'httpx')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout.splitlines()) == (0, "", [*results, "[]"])
    assert len(refused) == 2


def test_schemas_of_files_folders_and_drafts_meet_in_one_package(tmp_path: Path) -> None:
    """References lead from JSON to YAML and between folders; names that meet are told apart, and an
    older draft keeps its meaning.
    """
    files = {
        "order.json": {
            "type": "object",
            "properties": {"item": {"$ref": "parts/item.yaml"}, "unit": {"$ref": "unit.json"}},
            "$defs": {"Item": {"type": "integer"}},
        },
        "parts/item.yaml": "type: object\nrequired: [id]\nproperties: {id: {type: string}}\n",
        "unit.json": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "array",
            "items": [{"type": "string"}, {"type": "integer"}],
        },
        "examples/order.json": "no JSON",
    }
    with import_package(tmp_path, files) as name:
        schemas = import_module(f"{name}.schemas")
        order = schemas.ORDER.read(b'{"item": {"id": "a"}, "unit": ["m", 2, "more"]}')
        assert type(order.item).__name__ == "Item"
        assert schemas.ORDER.write(order) == b'{"item":{"id":"a"},"unit":["m",2,"more"]}'
        assert not schemas.UNIT.validator.is_valid(["m", "m"])
        assert schemas.ORDER_ITEM.parse(3) == 3
        assert set(schemas.ORDER.schema["$defs"]) == {"Item", "Order", "Unit"}


@pytest.mark.parametrize(
    "reference",
    [
        "https://e.org/a/inner#name",
        "inner#name",
        "/a/inner#/$defs/Y",
        "https://e.org/a/inner#/$defs/Y",
    ],
)
def test_references_begin_at_the_address_around_them(reference: str, tmp_path: Path) -> None:
    """A schema in another one may be named in full, or relative to the $id around the reference."""
    inner = {"$id": "inner", "$defs": {"Y": {"$anchor": "name", "type": "string"}}}
    schema = {
        "$id": "https://e.org/a/root",
        "title": "Root",
        "type": "object",
        "properties": {"a": {"$ref": reference}},
        "$defs": {"Inner": inner},
    }
    with import_package(tmp_path, {"root.json": schema}) as name:
        schemas = import_module(f"{name}.schemas")
        assert schemas.ROOT.read(b'{"a": "x"}').a == "x"
        assert not schemas.ROOT.validator.is_valid({"a": 1})


def test_nested_models_are_checked_once_and_by_themselves(tmp_path: Path) -> None:
    """A model is checked where it stands alone, in another model, and in a model of others."""
    with import_package(tmp_path, {"node.json": NODE}) as name:
        node = import_module(name).Node
        with pytest.raises(ValidationError) as refused:
            node(name="a", inner=[node(name="b", size=1), {"name": ""}])
        assert [each["loc"] for each in refused.value.errors()] == [("inner", 1, "name")]
        with pytest.raises(ValidationError) as refused:
            TypeAdapter(list[node]).validate_json(b'[{"name": "a"}, {"name": "", "size": 1.5}]')
        assert [each["loc"] for each in refused.value.errors()] == [(1, "name"), (1, "size")]
        deep = node(name="a")
        for _ in range(50):
            deep = node(name="a", inner=[deep])
        assert deep.inner[0].inner[0].name == "a"


def test_numbers_beyond_floats_are_refused_and_large_integers_are_read(tmp_path: Path) -> None:
    """The models do what their typed schemas do: JSON text is read exactly or refused with its
    place, and nothing becomes null.
    """
    with import_package(tmp_path, {"node.json": NODE}) as name:
        node = import_module(name).Node
        schema = import_module(f"{name}.schemas").NODE
        for read in (node.model_validate_json, schema.read):
            assert (
                read('{"name": "a", "inner": [{"name": "b", "size": 1e20}]}').inner[0].size
                == 10**20
            )
        with pytest.raises(ValidationError) as refused:
            node.model_validate_json(
                '{"name": "a", "inner": [{"name": "b", "more": [1e400]}], "free": -1e400}'
            )
        assert {each["loc"]: each["msg"] for each in refused.value.errors()} == dict.fromkeys(
            [("inner", 0, "more", 0), ("free",)], "the number is too large"
        )
        with pytest.raises(ValidationError) as refused:
            node(name="a", inner=[{"name": "b", "more": [math.inf]}])
        assert [each["loc"] for each in refused.value.errors()] == [("inner", 0, "more", 0)]
        assert "infinity and NaN are no JSON" in str(refused.value)
        late = node(name="a", inner=[node(name="b")])
        late.inner[0].more = math.nan
        with pytest.raises(ValueError, match=r"Node\.more: infinity and NaN are no JSON; "):
            late.model_dump_json()
        with pytest.raises(ValueError, match=r"^inner\[0\]\.more: infinity and NaN are no JSON; "):
            schema.write(late)


@pytest.mark.parametrize(
    ("member", "value", "place", "kind"),
    [
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, {"x": 1}, "t", "array"),
        (
            {"anyOf": [{"prefixItems": [{"type": "string"}], "items": False}, {"type": "null"}]},
            5,
            "t",
            "array",
        ),
        (
            {"type": "array", "items": {"properties": {"a": {"items": {"type": "string"}}}}},
            [{}, {"a": 5}],
            "t[1].a",
            "array",
        ),
        (
            {"prefixItems": [{"type": "string"}, {"properties": {"a": {}}}]},
            ["x", 5],
            "t[1]",
            "object",
        ),
    ],
    ids=[
        "a tuple of every length",
        "a tuple in a union",
        "items of a member",
        "an item of a tuple",
    ],
)
def test_a_value_that_only_its_type_refuses_has_an_error_with_what_should_be_there(
    member: dict[str, object], value: object, place: str, kind: str, tmp_path: Path
) -> None:
    """A schema without a type accepts every kind of value, its Python type one; the error has no
    names of branches, which no document has.
    """
    with import_package(
        tmp_path, {"root.json": {"title": "Root", "type": "object", "properties": {"t": member}}}
    ) as name:
        with pytest.raises(
            ValueError, match=f'^{re.escape(place)}: the value is not of type "{kind}"$'
        ):
            import_module(f"{name}.schemas").ROOT.parse({"t": value})
        with pytest.raises(ValidationError) as refused:
            import_module(name).Root.model_validate_json(json.dumps({"t": value}))
        places = [
            "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in each["loc"])
            for each in refused.value.errors()
        ]
        assert places == [f".{place}"]


CARD = {"if": {"properties": {"kind": {"const": "card"}}}, "then": {"required": ["pan"]}}
PAY = {
    "type": "object",
    "properties": {"kind": {"enum": ["card", "bank"]}, "pan": {"type": "string"}},
}


@pytest.mark.parametrize(
    "parts",
    [
        [{**PAY, "required": ["kind"]}, CARD],
        [PAY, {"required": ["pan"]}],
        [PAY, {"anyOf": [{"required": ["pan"]}, {"required": ["iban"]}]}],
        [PAY, {"not": {"required": ["kind"]}}],
        [PAY, {"minProperties": 2}],
        [{"$ref": "#/$defs/Base"}, PAY, {"propertyNames": {"const": "pan"}}],
    ],
    ids=lambda parts: " ".join(parts[-1]),
)
def test_all_parts_of_an_allof_count(parts: list[object], tmp_path: Path) -> None:
    """The schema, the model and its validator have all of them, also those without members; the
    same holds in a member.
    """
    pay = {"title": "Pay", "allOf": parts, "$defs": {"Base": {"type": "object"}}}
    holder = {"title": "Holder", "type": "object", "properties": {"pay": {"allOf": parts[-2:]}}}
    with import_package(tmp_path, {"pay.json": pay, "holder.json": holder}) as name:
        models = import_module(name)
        schemas = import_module(f"{name}.schemas")
        assert not schemas.PAY.validator.is_valid({"kind": "card"})
        for refused in (
            lambda: schemas.PAY.read(b'{"kind": "card"}'),
            lambda: models.Pay(kind="card"),
            lambda: models.HolderPay(kind="card"),
            lambda: models.Holder.model_validate_json(b'{"pay": {"kind": "card"}}'),
        ):
            with pytest.raises(ValueError, match=r"pan|kind|propert|not allowed|not valid"):
                refused()


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("integer", ('"5"', "true", "1.5", "[]", "[[1]]")),
        ("number", ('"5"', "true", "[]")),
        ("boolean", ('"yes"', "1", "0.0", "[]")),
    ],
)
def test_json_is_never_converted_in_a_union_with_a_branch_without_a_type(
    kind: str, texts: tuple[str, ...], tmp_path: Path
) -> None:
    """The branch accepts whatever is no object; what the types have no place for is refused with a
    sentence, alone and as a member.
    """
    union = {"anyOf": [{"type": kind}, {"properties": {"b": {"type": "string"}}}]}
    files = {
        "either.json": {"title": "Either", **union},
        "holder.json": {"title": "Holder", "type": "object", "properties": {"x": union}},
    }
    with import_package(tmp_path, files) as name:
        schemas = import_module(f"{name}.schemas")
        for text in texts:
            with pytest.raises(ValueError, match=r"^value: "):
                schemas.EITHER.read(text)
            with pytest.raises(ValueError, match=r"^x"):
                schemas.HOLDER.read(f'{{"x": {text}}}')
        for text in ('{"b":"x"}', "true" if kind == "boolean" else "7"):
            assert schemas.EITHER.write(schemas.EITHER.read(text)).decode() == text


@pytest.mark.parametrize(
    "rules",
    [
        {"properties": {"a": {"type": "string"}}},
        {"items": {"type": "string"}},
        {"$ref": "#/$defs/Rules"},
        {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"type": "null"}]},
        {
            "allOf": [{"$ref": "#/$defs/Rules"}, {"not": {"type": "string"}}],
            "if": {"type": "object"},
            "then": {"required": ["a"]},
        },
    ],
    ids=str,
)
def test_a_null_stays_where_the_schema_accepts_it(rules: dict[str, object], tmp_path: Path) -> None:
    """A member without a type may be null, which is not the same as absent."""
    schema = {
        "title": "Root",
        "type": "object",
        "properties": {"rules": rules},
        "$defs": {"Rules": {"properties": {"a": {"type": "string"}}}},
    }
    with import_package(tmp_path, {"root.json": schema}) as name:
        root = import_module(f"{name}.schemas").ROOT
        for text in (b'{"rules":null}', b"{}"):
            assert root.write(root.read(text)) == text


def test_equal_schemas_give_equal_bytes(tmp_path: Path) -> None:
    """Neither the folder nor the order of files and members decides the output."""
    files = {"b.json": NODE, "a.yaml": "$defs: {Y: {type: string}, X: {$ref: 'b.json'}}"}
    first = emit(tmp_path / "one", "shop", files)
    second = emit(tmp_path / "two", "shop", {**dict(reversed(files.items()))})
    assert first == second


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "the folder has no schemas"),
        (
            {"a.json": {"$schema": "http://json-schema.org/draft-04/schema#"}},
            "'http://json-schema.org/draft-04/schema#' is not a supported draft",
        ),
        ({"a.json": {"type": "objet"}}, "not a valid JSON Schema"),
        ({"a.json": {"$ref": "b.json"}}, "b.json cannot be read"),
        ({"a.json": {"openapi": "3.1.0", "paths": {}}}, "an OpenAPI document"),
        ({"a.yaml": "a: [1"}, "YAML"),
    ],
    ids=["none", "an old draft", "no schema", "a dangling reference", "OpenAPI", "broken YAML"],
)
def test_what_cannot_be_built_is_refused_by_name(
    tmp_path: Path, files: dict[str, object], text: str
) -> None:
    """Nothing is generated of schemas that would be read wrongly."""
    (tmp_path / "schemas").mkdir()
    with pytest.raises(ContractError) as refused:
        emit(tmp_path, "shop", files)
    assert text in str(refused.value)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """It exists, so it is not to be created."""
    (tmp_path / "schemas").write_text("{}")
    (tmp_path / "a2a-gen.toml").write_text('schema = "schemas"\npackage = "shop"\n')
    assert [(each.text, each.cure) for each in problems(find_project(tmp_path))] == [
        ("a file", "name its folder in `schema` in the project configuration")
    ]
