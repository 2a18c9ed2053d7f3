"""Places where a value does not match its schema, listed within a budget of work, whatever the
schema is.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import a2a_gen.support
from a2a_gen.support.mismatches import MAX_LOOKS, list_mismatches
from a2a_gen.support.schema_nodes import SchemaDocuments, SchemaPlace
from a2a_gen.support.typed_schema import SchemaValidator

SUPPORT = Path(a2a_gen.support.__file__).parent
OLD_DRAFT = {"$schema": "http://json-schema.org/draft-07/schema#"}


def build_filter(*words: str) -> dict[str, object]:
    """Build the schema of a filter: a text, or one of some operations on filters."""
    operations = [
        {
            "type": "object",
            "required": ["op", "args"],
            "properties": {
                "op": {"const": word},
                "args": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
            },
        }
        for word in words
    ]
    return {
        "$ref": "#/$defs/Filter",
        "$defs": {"Filter": {"oneOf": [{"type": "string"}, *operations]}},
    }


def nest(depth: int, value: object) -> object:
    """Nest a value in filters."""
    for _ in range(depth):
        value = {"op": "and", "args": [value]}
    return value


class CountedDocuments(SchemaDocuments):
    """Documents that count how often one of their schemas looks at a value."""

    looks = 0

    def leave_out_unknown(self, node: SchemaPlace) -> SchemaPlace:
        """Count a look."""
        self.looks += 1
        return super().leave_out_unknown(node)


def count_looks(schema: dict[str, object], value: object) -> int:
    """Count the looks until the mismatches are listed."""
    documents = CountedDocuments(schema, {})
    assert list_mismatches(documents, value)
    return documents.looks


@pytest.mark.parametrize(
    "words", [("and", "or"), ("and", "and"), ("and", "or", "not", "some", "all")], ids=" ".join
)
def test_each_level_of_a_recursive_union_costs_the_same(words: tuple[str, ...]) -> None:
    """Twice the depth is twice the work, not its square, with and without a tag that tells the
    branches apart.
    """
    schema = build_filter(*words)
    four, eight, sixteen = (count_looks(schema, nest(depth, 1)) for depth in (4, 8, 16))
    assert (sixteen - eight) == 2 * (eight - four)


def test_the_looks_are_limited() -> None:
    """A value with more wrong parts than there are looks has an answer too."""
    wide = {"op": "and", "args": [nest(30, "x") for _ in range(90)]}
    assert (
        count_looks(build_filter("and", "or", "not"), {"op": "or", "args": [wide, 1]}) <= MAX_LOOKS
    )


def test_errors_are_listed_of_values_without_parts_only() -> None:
    """A validator that lists errors of values with parts collects those of each branch within each
    branch, before the first one.
    """
    uses = {
        file.name: len(re.findall(r"\.iter_errors\(", file.read_text()))
        for file in SUPPORT.glob("*.py")
    }
    found = {name: count for name, count in uses.items() if count}
    assert found == {
        "mismatches.py": 1,
        "config_schema.py": 1,
    }  # the latter reads the files of the project itself


HOSTILE = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
from a2a_gen.support.typed_schema import SchemaValidator
from unit.support.test_mismatches import build_filter, nest

def bomb(keyword):
    levels = {f"D{i}": {keyword: [{"$ref": f"#/$defs/D{i + 1}"}] * 2} for i in range(14)}
    return {"$ref": "#/$defs/D0", "$defs": {**levels, "D14": {"type": "string"}}}

tree = build_filter("and", "or")
for schema, value in (
    (tree, nest(18, 1)),
    (tree, nest(60, 1)),
    (tree, {"op": "and", "args": [{"op": "or", "args": [1]}] * 20_000}),
    (tree, {"op": "and", "args": ["a"] * 20_000 + [1]}),
    (bomb("anyOf"), 1),
    (bomb("oneOf"), 1),
    ({"propertyNames": {"maxLength": 2}}, {f"name {i}": None for i in range(50_000)}),
    ({"items": {"type": "string"}}, [1] * 200_000),
):
    print(len(SchemaValidator(schema).list_errors(value)))
"""


def test_hostile_values_are_explained_within_limits() -> None:
    """Deep ones, wide ones, and schemas that double at each level: a process with limits of
    processor and memory answers all of them.
    """
    done = subprocess.run(
        [sys.executable, "-c", HOSTILE],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout.split()) == (
        0,
        "",
        ["1", "1", "100", "1", "1", "1", "100", "100"],
    )


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        (
            build_filter("and", "or"),
            {"op": "xor", "args": []},
            [(("op",), 'the value is none of "and", "or"')],
        ),
        (
            build_filter("and", "or"),
            nest(2, {"op": "or"}),
            [(("args", 0, "args", 0, "args"), '"args" is a required property')],
        ),
        (
            {"items": {"type": "integer"}},
            [*range(500), "x"],
            [((500,), 'the value is not of type "integer"')],
        ),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"b": 1, "c": 2},
            [(("b",), "Additional properties are not allowed ('b', 'c' were unexpected)")],
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "integer"}}}], "unevaluatedProperties": False},
            {"a": "x", "b": 1},
            [
                (("b",), "Unevaluated properties are not allowed ('b' was unexpected)"),
                (("a",), 'the value is not of type "integer"'),
            ],
        ),
        (
            {"prefixItems": [{}], "unevaluatedItems": False},
            [1, 2],
            [((), "Unevaluated items are not allowed (1 item)")],
        ),
        (
            {"propertyNames": {"maxLength": 2}},
            {"abc": 1},
            [((), 'the name "abc" is longer than 2 characters')],
        ),
        (
            {"not": {"required": ["a"]}},
            {"a": 1},
            [((), '{"required":["a"]} is not allowed for the value')],
        ),
        ({"minItems": 1, "uniqueItems": True, "contains": {"const": 3}}, [1, 1], None),
        ({"enum": [{"a": 1}, 2]}, {"a": 2}, [((), 'the value is not one of {"a":1} or 2')]),
        ({"type": "string", "enum": ["a"]}, [1], None),
        (
            {"$ref": "#item", "$defs": {"Item": {"$anchor": "item", "type": "string"}}},
            1,
            [((), "the value does not match its schema")],
        ),
        (
            {**OLD_DRAFT, "items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
            ["a", "b"],
            [((1,), 'the value is not of type "integer"')],
        ),
        (
            {**OLD_DRAFT, "dependencies": {"a": ["b"], "c": {"minProperties": 3}}},
            {"a": 1, "c": 1},
            None,
        ),
    ],
    ids=str,
)
def test_places_and_reasons(
    schema: dict[str, object], value: object, wanted: list[object] | None
) -> None:
    """Each mismatch has its place and says what is expected; where a validator alone knows, at
    least that.
    """
    found = SchemaValidator(schema).list_errors(value)
    assert found == wanted or (wanted is None and len(found) == 2)


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#"]
)
@pytest.mark.parametrize(
    "keywords", [{"contentMediaType": "application/json"}, {"contentEncoding": "base64"}], ids=str
)
def test_content_is_described_and_not_checked(draft: str, keywords: dict[str, object]) -> None:
    """A text that its schema calls JSON or base64 may be anything, in old drafts as in new ones."""
    for schema in (
        {"$schema": draft, **keywords},
        {"$schema": draft, "type": "string", **keywords},
    ):
        assert SchemaValidator(schema).is_valid("{")
