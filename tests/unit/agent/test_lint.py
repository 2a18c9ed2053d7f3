"""Warnings about schemas that are valid but behave otherwise than they look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from a2a_gen.agent.schemas.checks import check
from a2a_gen.agent.schemas.files import Library, SchemaRef
from a2a_gen.problems import Level, Problem


def find_problems(folder: Path, schema: object) -> list[Problem]:
    """Read a schema, and check it."""
    (folder / "s.json").write_text(json.dumps(schema))
    library = Library(folder)
    library.resolve("s.json", SchemaRef("a2a.toml"))
    return list(check(library))


@pytest.mark.parametrize(
    "pattern",
    ["(?<!x)(a*)*b", "(?=a)b", "a(?!b)", "(?<=a)b", r"(a)\1", r"(?<n>a)\k<n>", r"\\(?=x)"],
)
@pytest.mark.parametrize("place", ["/pattern", "/$defs/Inner/pattern", "/properties/a/not/pattern"])
def test_patterns_with_lookaround_yield_warnings(tmp_path: Path, pattern: str, place: str) -> None:
    """Each warning names the place of the pattern; the schema is used all the same."""
    schema: object = pattern
    for step in reversed(place.split("/")[1:]):
        schema = {step: schema}
    assert isinstance(schema, dict)
    (problem,) = find_problems(tmp_path, {**schema, "type": "object"})
    assert (problem.rule, problem.level, problem.place.pointer) == ("A2A-K10", Level.WARNING, place)


def test_names_of_members_may_be_patterns(tmp_path: Path) -> None:
    """A slow pattern is found among names of members too: they are tried as often as values."""
    (problem,) = find_problems(tmp_path, {"type": "object", "patternProperties": {"^(?!a)/": {}}})
    assert problem.place.pointer == "/patternProperties/^(?!a)~1"


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", r"\(\?=x\)", "[(?=x)]", "(?:a|b)", "(?<name>a)", r"\d{2}", r"[\]](a)", r"\\d"],
)
def test_other_patterns_yield_no_warning(tmp_path: Path, pattern: str) -> None:
    """A text, a class or a group may resemble a lookaround."""
    assert find_problems(tmp_path, {"type": "string", "pattern": pattern}) == []


@pytest.mark.parametrize(
    ("schema", "pointer", "text", "cure", "level"),
    [
        (
            {"type": "string", "nullable": True},
            "/nullable",
            "OpenAPI 3.0",
            'write "type": ["string", "null"]',
            Level.ERROR,
        ),
        (
            {"properties": {"a": {"enum": [1], "nullable": True}}},
            "/properties/a/nullable",
            "OpenAPI 3.0",
            '{"type": "null"}',
            Level.ERROR,
        ),
        (
            {"type": "object", "requierd": ["a"]},
            "/requierd",
            "not a keyword",
            "did you mean required?",
            Level.WARNING,
        ),
        (
            {"$defs": {"A": {"additionalproperties": False}}},
            "/$defs/A/additionalproperties",
            "no effect",
            "additionalProperties",
            Level.WARNING,
        ),
        ({"tyep": "string"}, "/tyep", "no effect", "did you mean type?", Level.WARNING),
        (
            {"type": "integer", "minimun": 1},
            "/minimun",
            "no effect",
            "did you mean minimum?",
            Level.WARNING,
        ),
    ],
    ids=["nullable", "nullable enum", "requierd", "another case", "swapped", "replaced"],
)
def test_keywords_without_effect_are_reported(
    tmp_path: Path, schema: dict[str, object], pointer: str, text: str, cure: str, level: Level
) -> None:
    """A keyword of another format is refused, a misspelt one is warned of; both messages have the
    cure.
    """
    (problem,) = find_problems(tmp_path, schema)
    assert (problem.place.pointer, problem.level) == (pointer, level)
    assert text in problem.text
    assert cure in problem.cure


@pytest.mark.parametrize(
    "schema",
    [
        {"x-requierd": 1},
        {"properties": {"requierd": {}}},
        {"examples": [{"requierd": 1}]},
        {"vendorKeyword": 1},
        {"type": "string", "nullable": False},
    ],
    ids=["extension", "member", "example", "unlike any", "not nullable"],
)
def test_other_words_yield_no_warning(tmp_path: Path, schema: object) -> None:
    """Members, examples and keywords of vendors are not taken for misspelt ones."""
    assert find_problems(tmp_path, schema) == []


def test_a_schema_of_draft_4_is_refused(tmp_path: Path) -> None:
    """Its keywords mean something else in later drafts; the fix names them."""
    (problem,) = find_problems(
        tmp_path, {"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x.example/s"}
    )
    assert (problem.place.pointer, problem.rule, problem.level) == (
        "/$schema",
        "A2A-K06",
        Level.ERROR,
    )
    assert problem.cure.startswith("name draft-07; write $id for id")
