"""Warnings about schemas that are valid but behave otherwise than they look."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from a2a_gen.agent.build import check
from a2a_gen.agent.schemas import Library, SchemaRef
from a2a_gen.problems import Level, Problem


def said(folder: Path, schema: object) -> list[Problem]:
    """Read a schema, and check it."""
    (folder / "s.json").write_text(json.dumps(schema))
    library = Library(folder)
    library.resolve("s.json", SchemaRef("a2a.toml"))
    return list(check(library))


@pytest.mark.parametrize("pattern", ["(?<!x)(a*)*b", "(?=a)b", "a(?!b)", "(?<=a)b", r"(a)\1", r"(?<n>a)\k<n>", r"\\(?=x)"])
@pytest.mark.parametrize("place", ["/pattern", "/$defs/Inner/pattern", "/properties/a/not/pattern"])
def test_patterns_with_lookaround_yield_warnings(tmp_path: Path, pattern: str, place: str) -> None:
    """Each warning names the place of the pattern; the schema is used all the same."""
    schema: object = pattern
    for step in reversed(place.split("/")[1:]):
        schema = {step: schema}
    assert isinstance(schema, dict)
    (problem,) = said(tmp_path, {**schema, "type": "object"})
    assert (problem.rule, problem.level, problem.place.pointer) == ("A2A-K10", Level.WARNING, place)


def test_names_of_members_may_be_patterns(tmp_path: Path) -> None:
    """They are tried as often."""
    (problem,) = said(tmp_path, {"type": "object", "patternProperties": {"^(?!a)/": {}}})
    assert problem.place.pointer == "/patternProperties/^(?!a)~1"


@pytest.mark.parametrize("pattern", ["^(a+)+$", r"\(\?=x\)", "[(?=x)]", "(?:a|b)", "(?<name>a)", r"\d{2}", r"[\]](a)", r"\\d"])
def test_other_patterns_yield_no_warning(tmp_path: Path, pattern: str) -> None:
    """A text, a class or a group may resemble a lookaround."""
    assert said(tmp_path, {"type": "string", "pattern": pattern}) == []
