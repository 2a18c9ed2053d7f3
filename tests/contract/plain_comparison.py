"""Comparison of packages of plain schemas with the bare datamodel-codegen, on the same schemas and
documents: a table of `docs/models.md`.

Run as a script it writes the table into the page. A tool does a row right if it reads and writes
back all of `accepted` and refuses all of `refused`. The bare tool runs with the switches below,
with and without strict types and unknown members, and its best result counts.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from contract.plain_packages import import_package
from datamodel_code_generator import GenerateConfig, InputFileType, PythonVersion, generate
from datamodel_code_generator.enums import DataModelType, StrictTypes, TargetPydanticVersion
from datamodel_code_generator.parser import LiteralType
from pydantic import TypeAdapter

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
BEGIN = "<!-- comparison: made by tests/contract/plain_comparison.py -->\n"
END = "<!-- /comparison -->"

Document = Any


@dataclass(frozen=True)
class Topic:
    """A row: a schema, documents that it accepts, and documents that it does not."""

    name: str
    schema: dict[str, Any]
    accepted: tuple[Document, ...]
    refused: tuple[Document, ...] = ()
    holds: Callable[[Any], bool] = field(default=lambda _: True)
    """What must be true of the value of the first document."""


def _object(**properties: object) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_TEXT = {"type": "string"}
_INTEGER = {"type": "integer"}
_BASE = {
    "type": "object",
    "properties": {"kind": _TEXT, "size": {"type": "number"}},
    "required": ["kind"],
}
_PETS = {
    **_object(pet={"oneOf": [{"$ref": "#/$defs/Dog"}, {"$ref": "#/$defs/Cat"}]}),
    "$defs": {
        "Base": _BASE,
        "Dog": {
            "allOf": [
                {"$ref": "#/$defs/Base"},
                {"properties": {"kind": {"const": "dog"}, "size": _INTEGER}},
            ]
        },
        "Cat": {"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"kind": {"const": "cat"}}}]},
    },
}
_NAMES = (
    "class",
    "fooBar",
    "foo_bar",
    "foo-bar",
    "$id",
    "",
    "model_config",
    "copy",
    "1st",
    "l",
    "schema",
    "field_",
    "__init__",
)
_HOSTILE = "a\"\"\"b\\\n'''{{ x }} %s \u202e"

TOPICS = (
    Topic(
        "integers of any length, and nothing else",
        _object(n=_INTEGER),
        ({"n": 10**30}, {"n": 1.0}),
        ({"n": "5"}, {"n": True}, {"n": 1.5}),
    ),
    Topic(
        "numbers keep all digits",
        _object(x={"type": "number"}),
        ({"x": 10**30}, {"x": 0.1}),
        ({"x": "1"}, {"x": True}),
    ),
    Topic(
        "null and absent differ",
        _object(a={"type": ["string", "null"]}, b=_TEXT),
        ({"a": None}, {}),
        ({"b": None},),
    ),
    Topic(
        "names on the wire",
        _object(**dict.fromkeys(_NAMES, _INTEGER)),
        ({name: index for index, name in enumerate(_NAMES)}, {}),
    ),
    Topic("unknown members are kept", _object(a=_TEXT), ({"a": "x", "b": [1, None]},)),
    Topic(
        "closed objects",
        {**_object(a=_TEXT), "additionalProperties": False},
        ({"a": "x"},),
        ({"a": "x", "b": 1},),
    ),
    Topic(
        "closed by unevaluatedProperties",
        {
            "type": "object",
            "allOf": [_object(a=_TEXT)],
            "properties": {"b": _TEXT},
            "unevaluatedProperties": False,
        },
        ({"a": "x", "b": "y"},),
        ({"a": "x", "c": 1},),
    ),
    Topic(
        "tags narrowed by allOf",
        _PETS,
        ({"pet": {"kind": "dog", "size": 2}}, {"pet": {"kind": "cat", "size": 2.5}}),
        ({"pet": {"kind": "dog", "size": 2.5}}, {"pet": {"kind": "cow"}}),
        lambda value: type(value.pet).__name__ == "Dog",
    ),
    Topic(
        "branches that only their values tell apart",
        _object(
            v={
                "anyOf": [
                    _object(a={**_INTEGER, "maximum": 5}),
                    {**_object(b=_INTEGER), "required": ["b"]},
                ]
            }
        ),
        ({"v": {"a": 5}}, {"v": {"a": 9, "b": 1}}),
        ({"v": {"a": 9}},),
    ),
    Topic(
        "exactly one of oneOf",
        _object(v={"oneOf": [{**_INTEGER, "minimum": 3}, {**_INTEGER, "maximum": 5}]}),
        ({"v": 1}, {"v": 9}),
        ({"v": 4},),
    ),
    Topic(
        "if, then and else",
        {
            **_object(kind=_TEXT, n=_INTEGER),
            "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
            "then": {"required": ["n"]},
        },
        ({"kind": "a", "n": 1}, {"kind": "b"}),
        ({"kind": "a"},),
    ),
    Topic(
        "not, dependentRequired",
        {
            **_object(a=_INTEGER, b=_INTEGER),
            "dependentRequired": {"a": ["b"]},
            "not": {"properties": {"b": {"const": 0}}, "required": ["b"]},
        },
        ({"a": 1, "b": 2}, {"b": 1}, {}),
        ({"a": 1}, {"b": 0}),
    ),
    Topic(
        "maps by pattern of their keys",
        {
            "type": "object",
            "patternProperties": {"^n_": _INTEGER},
            "propertyNames": {"maxLength": 5},
            "additionalProperties": _TEXT,
            "minProperties": 1,
        },
        ({"n_a": 1, "b": "x"},),
        ({"n_a": "x"}, {"b": 1}, {}, {"toolong": "x"}),
    ),
    Topic(
        "tuples",
        _object(t={"type": "array", "prefixItems": [_TEXT, _INTEGER], "items": False}),
        ({"t": ["x", 1]}, {"t": ["x"]}, {"t": []}),
        ({"t": [1, "x"]}, {"t": ["x", 1, 2]}),
    ),
    Topic(
        "contains and uniqueItems, in order",
        _object(
            t={"type": "array", "items": _INTEGER, "contains": {"minimum": 5}, "uniqueItems": True}
        ),
        ({"t": [9, 1, 7]},),
        ({"t": [1]}, {"t": [9, 9]}, {"t": []}),
    ),
    Topic(
        "dates, times, durations, identifiers as written",
        _object(
            at={**_TEXT, "format": "date-time"},
            on={**_TEXT, "format": "date"},
            by={**_TEXT, "format": "time"},
            lasts={**_TEXT, "format": "duration"},
            id={**_TEXT, "format": "uuid"},
        ),
        (
            {"lasts": "P1Y2M"},
            {
                "at": "2024-05-01T10:00:00.1200+02:00",
                "by": "10:00:00.50Z",
                "id": "0F8FAD5B-D9CB-469F-A165-70867728950E",
            },
            {"at": "2016-12-31T23:59:60Z", "on": "2024-02-29", "lasts": "PT36H"},
        ),
        (
            {"at": "2024-05-01"},
            {"on": "2023-02-29"},
            {"at": 0},
            {"on": "2024-05-01T00:00:00Z"},
            {"lasts": 3},
        ),
    ),
    Topic(
        "defaults of lists and objects",
        _object(
            tags={"type": "array", "items": _TEXT, "default": ["a"]},
            place={**_object(x=_INTEGER), "default": {"x": 3}},
        ),
        ({}, {"tags": []}),
        holds=lambda value: value.tags == ["a"] and value.place.x == 3,
    ),
    Topic(
        "constants of any kind",
        _object(a={"const": {"x": [1]}}, b={"enum": [1, "1", None]}),
        ({"a": {"x": [1]}, "b": None}, {"b": 1.0}),
        ({"a": {}}, {"b": True}),
    ),
    Topic(
        "multiples of fractions",
        _object(x={"type": "number", "multipleOf": 0.1}),
        ({"x": 0.3}, {"x": 4}),
        ({"x": 0.35},),
    ),
    Topic(
        "length and patterns as in ECMA 262",
        _object(s={**_TEXT, "maxLength": 1}, d={**_TEXT, "pattern": "^\\d+$"}),
        ({"s": "👍", "d": "12"},),
        ({"s": "ab"}, {"d": "٣"}, {"d": "1\n"}),
    ),
    Topic(
        "recursion",
        {**_object(n=_INTEGER, next={"$ref": "#"}), "required": ["n"]},
        ({"n": 1, "next": {"n": 2, "next": {"n": 3}}},),
        ({"n": 1, "next": {}},),
    ),
    Topic(
        "anchors",
        {**_object(a={"$ref": "#item"}), "$defs": {"Item": {"$anchor": "item", **_INTEGER}}},
        ({"a": 1},),
        ({"a": "x"},),
    ),
    Topic(
        "hostile strings",
        {
            **_object(
                a={**_TEXT, "description": _HOSTILE, "default": _HOSTILE},
                b={"enum": [_HOSTILE, "x"]},
            ),
            "description": _HOSTILE,
        },
        ({"a": _HOSTILE, "b": _HOSTILE},),
        ({"b": "y"},),
    ),
)

Read = Callable[[bytes], object]
Write = Callable[[Any], bytes]


def judge(topic: Topic, read: Read, write: Write) -> str:
    """Say what is wrong first; empty if all is right."""
    for index, document in enumerate(topic.accepted):
        text = json.dumps(document, ensure_ascii=False)
        try:
            value = read(text.encode())
            written = json.loads(write(value))
        except Exception:  # noqa: BLE001 - generated code of others may raise anything
            return f"refuses `{text}`"
        if json.dumps(written, sort_keys=True) != json.dumps(
            document, sort_keys=True
        ) and not _is_equal_number(written, document):
            return f"writes `{text}` as `{json.dumps(written, ensure_ascii=False)}`"
        if index == 0 and not _holds(topic, value):
            return f"reads `{text}` as another value"
    for document in topic.refused:
        text = json.dumps(document, ensure_ascii=False)
        try:
            read(text.encode())
        except ValueError:
            continue
        return f"accepts `{text}`"
    return ""


def _holds(topic: Topic, value: object) -> bool:
    try:
        return topic.holds(value)
    except AttributeError:
        return False


def _is_equal_number(written: Document, document: Document) -> bool:
    """JSON knows one number 1: an integer may be written as 1 or as 1.0."""
    return bool(written == document) and all(
        type(each) is not bool for each in (*written.values(), *document.values())
    )


# --- both tools ---


def run_ours(topic: Topic) -> Iterator[str]:
    """Judge the typed schema, and the model by itself."""
    with (
        TemporaryDirectory() as folder,
        import_package(Path(folder), {"model.json": topic.schema}) as name,
    ):
        form = import_module(f"{name}.schemas").MODEL
        yield judge(topic, form.read, form.write)
        model = import_module(name).Model
        if isinstance(model, type):
            yield judge(
                topic, model.model_validate_json, lambda value: value.model_dump_json().encode()
            )


def run_bare(topic: Topic) -> Iterator[str]:
    """Judge the models of the bare tool, once with each combination of the switches that help in
    one place and hurt in another.
    """
    for is_strict, keeps_unknown in product((False, True), repeat=2):
        with TemporaryDirectory() as folder:
            file = Path(folder, "model.json")
            file.write_text(json.dumps(topic.schema), encoding="utf-8")
            module = ModuleType(f"bare_{is_strict}_{keeps_unknown}")
            sys.modules[module.__name__] = module
            try:
                with warnings.catch_warnings(
                    action="ignore"
                ):  # deprecated options of Pydantic are no fault of the models
                    exec(  # noqa: S102 - what was just generated
                        str(
                            generate(
                                file,
                                config=bare_config(
                                    is_strict=is_strict, keeps_unknown=keeps_unknown
                                ),
                            )
                        ),
                        vars(module),
                    )
                    adapter: TypeAdapter[Any] = TypeAdapter(module.Model)
            except Exception as error:  # noqa: BLE001 - as above
                yield f"no module: {type(error).__name__}"
                continue
            finally:
                del sys.modules[module.__name__]
            yield judge(
                topic,
                adapter.validate_json,
                lambda value, adapter=adapter: adapter.dump_json(
                    value, by_alias=True, exclude_unset=True
                ),
            )


def bare_config(*, is_strict: bool, keeps_unknown: bool) -> GenerateConfig:
    """Return the switches with which the bare tool does best."""
    return GenerateConfig(
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        target_pydantic_version=TargetPydanticVersion.V2_12,
        class_name="Model",
        intersect_allof_keywords=True,
        generate_schema_validators=True,
        check_pattern_maps_strictly=True,
        read_unevaluated_properties=True,
        read_const_beside_enum=True,
        use_tuple_for_fixed_items=True,
        use_tuple_for_closed_arrays=True,
        use_default_kwarg=True,
        enum_field_as_literal=LiteralType.All,
        use_one_literal_as_default=True,
        extra_fields="allow" if keeps_unknown else None,
        field_constraints=True,
        use_annotated=True,
        strict_nullable=True,
        use_missing_sentinel=True,
        use_standard_collections=True,
        use_union_operator=True,
        strict_types=[*StrictTypes] if is_strict else [],
        disable_timestamp=True,
        formatters=[],
    )


def results() -> list[tuple[str, str, str]]:
    """List the topics with what each tool does wrong."""
    return [
        (topic.name, next(filter(None, run_ours(topic)), ""), _best(run_bare(topic)))
        for topic in TOPICS
    ]


def _best(outcomes: Iterator[str]) -> str:
    return min(outcomes, key=bool)


def table(rows: list[tuple[str, str, str]]) -> str:
    """Render the table."""
    lines = [f"| {name} | {ours or 'yes'} | {bare or 'yes'} |" for name, ours, bare in rows]
    return "\n".join(
        [
            "| | `a2a-gen build` | `datamodel-codegen` |",
            "|---|---|---|",
            *(line.replace("\\\\n", " ") for line in lines),
            "",
        ]
    )


def main() -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before = text.partition(BEGIN)[0]
    after = text.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}{table(results())}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
