"""YAML as far as it is JSON, and no further than anybody could follow."""

from __future__ import annotations

import pytest

from a2a_gen.source.yaml_text import parse

BOMB = "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "aliases repeat more than"),
        ("a: &a [*a]", "leads back into itself"),
        ("[" * 3000 + "]" * 3000, "nested too deeply"),
        ("[" * 150 + "]" * 150, "nested too deeply"),
        ('a: "\\ud800"', "half a character"),
    ],
    ids=["aliases of aliases", "a circle", "no end", "too deep", "half a character"],
)
def test_what_has_no_end_is_a_mistake(text: str, said: str) -> None:
    """A small text that would become a large value is told with its line, and is not read to its end."""
    _, (mistake,) = parse(text)
    assert said in mistake.text


def test_aliases_are_read() -> None:
    """What aliases repeat stands at each place."""
    assert parse("a: &a {b: 1}\nc: [*a, *a]") == ({"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}, ())
