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


def test_keys_that_are_written_twice_are_mistakes() -> None:
    """Each is told once with its line, however often aliases repeat its object; JSON refuses them too."""
    _, mistakes = parse("a: &a\n  b: 1\n  c: 2\n  b: 3\nd: [*a, *a]\na: 4\n")
    assert [(each.rule, each.line, each.text) for each in mistakes] == [
        ("A2A-S07", 6, 'the key "a" is written twice in one object'),
        ("A2A-S07", 4, 'the key "b" is written twice in one object'),
    ]


def test_merge_keys_are_no_members() -> None:
    """JSON has nothing like them, and a schema with a member called so would mean nothing."""
    _, (mistake,) = parse("a: &a {b: 1}\nc:\n  <<: *a\n")
    assert (mistake.line, mistake.text) == (3, "<< would put the members of one object into another")
    assert parse('"<<": 1') == ({"<<": 1}, ())
