"""Large and hostile schemas: an answer in bounded time, or a clear message."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from unit.diff.sides import diff, ids, plain

from a2a_gen.diff.value_set import ComparisonTooLargeError

REF = "#/$defs/"


def linked(count: int, kind: str) -> dict[str, object]:
    """Make many definitions that refer to each other, the last to the first."""
    return {
        f"T{index}": {
            "type": "object",
            "properties": {"next": {"$ref": f"{REF}T{(index + 1) % count}"}, "value": {"type": kind if index % 10 == 0 else "string"}},
        }
        for index in range(count)
    }


def within(seconds: float, work: Callable[[], list[str]]) -> list[str]:
    """Do something, and fail if it takes too long even for a slow machine."""
    start = time.perf_counter()
    found = work()
    assert time.perf_counter() - start < seconds
    return found


def test_two_thousand_definitions() -> None:
    """Two thousand definitions that refer to each other in a circle are compared, each once."""
    found = within(15, lambda: ids(diff(plain(**linked(2000, "integer")), plain(**linked(2000, "number")))))
    assert found == ["type-widened"] * 200


@pytest.mark.parametrize("words", [("enum", "const"), ("const", "enum")], ids=["list-to-union", "union-to-list"])
def test_ten_thousand_values(words: tuple[str, str]) -> None:
    """Ten thousand values, as one list or as a union of constants, are the same; one that goes is one finding."""

    def made(word: str, count: int) -> object:
        values = [f"value-{index}" for index in range(count)]
        return {"type": "string", "enum": values} if word == "enum" else {"anyOf": [{"const": value} for value in values]}

    old, new = words
    assert within(15, lambda: ids(diff(plain(T=made(old, 10_000)), plain(T=made(new, 10_000))))) == []
    assert within(15, lambda: ids(diff(plain(T=made(old, 10_000)), plain(T=made(new, 9_999))))) == ["enum-value-removed"]


def test_ten_thousand_tagged_branches() -> None:
    """A union of ten thousand objects that are told apart by a tag is compared branch by branch."""

    def made(count: int) -> object:
        return {"oneOf": [{"type": "object", "required": ["kind"], "properties": {"kind": {"const": f"k{index}"}}} for index in range(count)]}

    assert within(30, lambda: ids(diff(plain(T=made(10_000)), plain(T=made(9_999))))) == ["union-branch-removed"]


def test_unions_within_unions_have_a_limit() -> None:
    """Unions that multiply end with a message that names the place, and not with the machine's memory."""
    many = {"allOf": [{"anyOf": [{"required": [f"{group}{index}"], "type": "object"} for index in range(20)]} for group in "abcdef"]}
    changed = {"allOf": [*many["allOf"][1:], {"anyOf": [{"type": "object", "maxProperties": 9}, {"type": "object", "minProperties": 2}]}]}
    with pytest.raises(ComparisonTooLargeError, match=r"schema\.json.*alternatives\n    fix: "):
        within(30, lambda: ids(diff(plain(T=many), plain(T=changed))))


def test_a_definition_that_is_only_itself() -> None:
    """Definitions that are made of nothing but themselves end too."""
    old = {"A": {"$ref": f"{REF}B"}, "B": {"$ref": f"{REF}A"}, "C": {"anyOf": [{"$ref": f"{REF}C"}, {"type": "string"}]}}
    assert ids(diff(plain(**old), plain(**{**old, "C": {"anyOf": [{"type": "string"}, {"$ref": f"{REF}C"}]}}))) == []
    assert ids(diff(plain(**old), plain(**{**old, "C": {"type": "integer"}}))) == ["type-changed"]


@pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a?)+$", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(?=.*a)(?!b)^[ab]{1,500}$", r"("])
def test_hostile_patterns(pattern: str) -> None:
    """Patterns that take for ever, or that are none, only cost a bounded search for a witness."""
    old, new = {"type": "string", "enum": ["a" * 150 + "!"]}, {"type": "string", "enum": ["a" * 150 + "!"], "pattern": pattern}
    within(10, lambda: ids(diff(plain(T=old), plain(T=new))))
    assert within(10, lambda: ids(diff(plain(T={"type": "string"}), plain(T={"type": "string", "pattern": pattern})))) == ["pattern-added"]


def test_deep_nesting() -> None:
    """Schemas within schemas within schemas, two hundred deep, are compared."""

    def deep(kind: str) -> object:
        schema: object = {"type": kind}
        for _ in range(200):
            schema = {"type": "object", "properties": {"inner": schema}, "required": ["inner"]}
        return schema

    assert within(10, lambda: ids(diff(plain(T=deep("integer")), plain(T=deep("number"))))) == ["type-widened"]
