"""YAML restricted to JSON values, with bounded aliases."""

from __future__ import annotations

import pytest

from a2a_gen.source.yaml_text import parse

BOMB = "\n".join(
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)),
    ]
)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (BOMB, "aliases repeat more than"),
        ("a: &a [*a]", "refers to itself"),
        ("[" * 3000 + "]" * 3000, "nested too deeply"),
        ("[" * 150 + "]" * 150, "nested too deeply"),
        ('a: "\\ud800"', "lone surrogate"),
    ],
    ids=["aliases of aliases", "a cycle", "unclosed", "too deep", "lone surrogate"],
)
def test_unbounded_values_are_problems(text: str, output: str) -> None:
    """A small text that expands to a large value is reported with its line, and not expanded."""
    _, (mistake,) = parse(text)
    assert output in mistake.text


def test_aliases_are_read() -> None:
    """An aliased value appears at each place."""
    assert parse("a: &a {b: 1}\nc: [*a, *a]") == ({"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}, ())


def test_duplicate_keys_are_problems() -> None:
    """Each duplicate key is reported once with its line, however often aliases repeat its
    object.
    """
    _, mistakes = parse("a: &a\n  b: 1\n  c: 2\n  b: 3\nd: [*a, *a]\na: 4\n")
    assert [(each.rule, each.line, each.text) for each in mistakes] == [
        ("A2A-S07", 6, 'duplicate key "a"'),
        ("A2A-S07", 4, 'duplicate key "b"'),
    ]


def test_merge_keys_are_refused() -> None:
    """JSON has no merge keys, and a member named << would have no meaning."""
    _, (mistake,) = parse("a: &a {b: 1}\nc:\n  <<: *a\n")
    assert (mistake.line, mistake.text) == (3, "the merge key << is not supported")
    assert parse('"<<": 1') == ({"<<": 1}, ())
