"""Text of a contract never becomes code in its models."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import ModuleType

import pytest
from pydantic import ValidationError

Emitted = Callable[[Mapping[str, object]], dict[str, bytes]]
Made = Callable[[Mapping[str, object]], Callable[[str], ModuleType]]

PLACES = (
    "v1/message.json#/description",
    "v1/message.json#/$defs/Part/description",
    "v1/message.json#/$defs/Role/description",
    "v1/message.json#/$defs/Part/properties/text/description",
    "v0/task.json#/$defs/Item/description",
)


def words(text: str) -> list[str]:
    """Split text so that wrapping and indenting do not count."""
    return text.split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('ends with "', None, id="quote-at-the-end"),
        pytest.param('"begins', None, id="quote-at-the-beginning"),
        pytest.param('three """ quotes', None, id="three-quotes"),
        pytest.param('""""', None, id="four-quotes"),
        pytest.param("''' and '", None, id="single-quotes"),
        pytest.param("\\", None, id="backslash"),
        pytest.param("ends with \\", None, id="backslash-at-the-end"),
        pytest.param("\\N{BULLET} \\x41 \\u0041", None, id="escapes"),
        pytest.param("{{ 7 * 7 }} {% raw %} {# gone #}", None, id="template"),
        pytest.param('first\n\n    indented\n"""\nraise SystemExit(1)\n"""', None, id="code"),
        pytest.param("# noqa\n# type: ignore", None, id="directives"),
        pytest.param("bäh ☃ 😀", None, id="unicode"),
        pytest.param("%s {0} $x", None, id="formats"),
        pytest.param("a\u202eb", "a\\u202eb", id="direction"),
        pytest.param("nul \x00 bell \x07", "nul \\x00 bell \\x07", id="control-characters"),
        pytest.param("half \ud800", "half \\ud800", id="half-a-surrogate-pair"),
        pytest.param("cr \r\n lf", None, id="line-ends"),
    ],
)
def test_descriptions_stay_data(emit_models: Emitted, text: str, said: str | None) -> None:
    """Whatever a description holds is found in the docstrings, with invisible characters escaped,
    and nowhere else.
    """
    trees = [
        ast.parse(content.decode()) for content in emit_models(dict.fromkeys(PLACES, text)).values()
    ]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    docstrings = [
        node.value.value
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    found = [
        each for each in docstrings if isinstance(each, str) and words(each) == words(said or text)
    ]
    assert len(found) == len(PLACES)
    assert not [node for node in nodes if isinstance(node, ast.Raise)]


HOSTILE = 'a"b\'c\\d\n{{ 1 }} """ # x'


def test_values_stay_data(make_models: Made) -> None:
    """Words, constants, defaults, patterns and names on the wire come back as they are, whatever
    they hold.
    """
    modules = make_models(
        {
            "v1/message.json#/$defs/Role/enum": ["ROLE_USER", HOSTILE],
            "v1/message.json#/$defs/Part/properties/text/pattern": "^[\"'\\\\{}#]*$",
            "v0/task.json#/$defs/Task": {
                "description": "A task.",
                "type": "object",
                "properties": {
                    "kind": {"const": HOSTILE},
                    "name": {"type": "string"},
                    HOSTILE: {"type": "string"},
                },
                "required": ["kind", "name"],
                "x-a2a-read": {"kind": HOSTILE, "name": HOSTILE},
            },
        }
    )
    assert modules("v1").Role.AGENT == HOSTILE
    assert modules("v1").Part(text="\"'\\{}#").to_dict() == {"text": "\"'\\{}#"}
    with pytest.raises(ValidationError):
        modules("v1").Part(text="a")
    assert modules("v0").Task.model_validate({HOSTILE: "x"}).to_dict() == {
        "kind": HOSTILE,
        "name": HOSTILE,
        HOSTILE: "x",
    }
