"""Nothing that a contract says can become code, whatever it says."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest
from jinja2 import UndefinedError
from jinja2.exceptions import TemplateNotFound

from a2a_gen.emit import render
from a2a_gen.ir.model import Json

HOSTILE = {
    "quotes": "says 'it' and \"that\"",
    "three quotes": 'ends the string """ + evil() + """',
    "four quotes": '""""',
    "only quotes": '"',
    "quote at the end": 'so he said "no"',
    "newline": "first\nsecond",
    "carriage return": "first\rsecond",
    "paragraphs": "first\n\nsecond",
    "backslash": "C:\\new\\table\\",
    "backslash before a quote": '\\"""',
    "escape": "\\N{BULLET} \\x41 \\u0041 \\",
    "template": "{{ evil }} {% evil %} {# evil #}",
    "format": "{evil} %(evil)s %s",
    "noqa": "# noqa",
    "type": "# type: ignore",
    "not ASCII": "Grüße 你好 🎉",
    "control": "bell \x07, null \x00, form feed \x0c, escape \x1b[31m",
    "direction": "abc \u202e fed",
    "line separator": "a\u2028b\u2029c\u0085d",
    "half a pair": "\ud800 alone",
    "empty": "",
    "blank": " \n\t ",
    "long": "word " * 100,
    "long word": "w" * 400,
}
hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())


def comments(code: str) -> list[str]:
    """List the comments that Python sees in some code."""
    return [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    ]


def words(text: str | None) -> list[str]:
    """Split text at its white space, which docstrings may wrap."""
    return (text or "").split()


@hostile
@pytest.mark.parametrize("indent", [0, 4, 8])
def test_any_text_is_one_docstring(text: str, indent: int) -> None:
    """Whatever a description says is the docstring of its class and nothing else, without a comment
    that a tool could obey.
    """
    code = f"class A:\n    {render.docstring(text, indent)}\n"
    (statement,) = ast.parse(code).body
    assert isinstance(statement, ast.ClassDef)
    assert len(statement.body) == 1
    assert isinstance(statement.body[0], ast.Expr)
    assert comments(code) == []


@pytest.mark.parametrize(
    "name",
    [
        "quotes",
        "three quotes",
        "four quotes",
        "quote at the end",
        "backslash",
        "template",
        "noqa",
        "not ASCII",
        "long",
    ],
)
def test_a_docstring_equals_the_description(name: str) -> None:
    """Escapes are for Python; a reader of the docstring sees the description."""
    scope: dict[str, type] = {}
    # The test is about code that is executed.
    exec(f"class A:\n    {render.docstring(HOSTILE[name])}\n", scope)  # noqa: S102
    assert words(scope["A"].__doc__) == words(HOSTILE[name])


def test_a_docstring_keeps_its_paragraphs() -> None:
    """An empty line in a description is one in the docstring, without blanks at its end."""
    assert render.docstring("First.\n\nSecond.") == '"""First.\n\n    Second.\n    """'


@hostile
def test_any_text_is_one_literal(text: str) -> None:
    """A literal is a string again, the same."""
    assert ast.literal_eval(render.literal(text)) == text


VALUES: dict[str, Json] = {
    "null": None,
    "true": True,
    "integer": 10**30,
    "number": 1.5,
    "no items": (),
    "one item": ("a",),
    "items": ("a", 1, None),
    "object": {"a": ("b",), 'c"': {"d": False}},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
def test_any_json_is_a_literal(value: Json) -> None:
    """JSON values are written as Python ones; lists are tuples, because tables do not change."""
    assert ast.literal_eval(render.literal(value)) == value


@hostile
def test_any_text_is_one_comment(text: str) -> None:
    """A comment ends at its line, and no tool sees a directive in it."""
    (comment,) = comments(f"{render.comment(text)}\nx = 1\n")
    assert not comment.removeprefix("#").lstrip().startswith(("noqa", "type:", "fmt:"))
    assert "#" not in comment.removeprefix("#")


def test_a_directive_is_quoted() -> None:
    """Text that begins like a directive still says what it said."""
    assert render.comment("type: ignore") == "# “type: ignore”"


@pytest.mark.parametrize(
    "text",
    [text for text in HOSTILE.values() if not text.isidentifier()],
    ids=[name for name, text in HOSTILE.items() if not text.isidentifier()],
)
def test_a_template_prints_no_plain_text(text: str) -> None:
    """A template without the filter is an error of the generator; the text never becomes code."""
    with pytest.raises(TypeError, match="without a filter"):
        render.environment().from_string("{{ text }}").render(text=text)


@pytest.mark.parametrize("name", ["Task", "task_id", "v1_0", "models.Task", "..v1_0", "_private"])
def test_a_template_prints_names(name: str) -> None:
    """Names of Python need no filter."""
    assert render.environment().from_string("{{ name }}").render(name=name) == name


def test_a_template_knows_what_it_is_given() -> None:
    """A value that a template expects and does not get is an error."""
    with pytest.raises(UndefinedError):
        render.environment().from_string("{{ nothing | literal }}").render()


def test_a_file_begins_with_where_it_came_from() -> None:
    """The first line of a file names its sources and the command, on one line."""
    first, _, rest = (
        render.render("bindings_package.py.jinja", sources=("a.json", "b\n# noqa.json"))
        .decode()
        .partition("\n")
    )
    assert first == (
        "# @generated by a2a-gen from a.json, b  noqa.json; DO NOT EDIT. Regenerate with: "
        "a2a-gen build"
    )
    assert rest.startswith('"""')


def test_there_is_no_template_of_another_name() -> None:
    """Only the templates of the generator can be rendered."""
    with pytest.raises(TemplateNotFound):
        render.render("../render.py")
