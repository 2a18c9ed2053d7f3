"""Large and hostile schemas: a result in bounded time, or a clear message."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from unit.diff.sides import build_plain_side, diff, list_rule_ids

from a2a_gen.diff.tree.value_set import ComparisonTooLargeError

REF = "#/$defs/"


def build_linked_types(count: int, kind: str) -> dict[str, object]:
    """Build many definitions that refer to each other, the last to the first."""
    return {
        f"T{index}": {
            "type": "object",
            "properties": {
                "next": {"$ref": f"{REF}T{(index + 1) % count}"},
                "value": {"type": kind if index % 10 == 0 else "string"},
            },
        }
        for index in range(count)
    }


def run_within(seconds: float, work: Callable[[], list[str]]) -> list[str]:
    """Run a function, and fail if it takes this process too much CPU time, whatever else the
    machine does.
    """
    start = time.process_time()
    found = work()
    assert time.process_time() - start < seconds
    return found


def test_two_thousand_definitions() -> None:
    """Two thousand definitions in a reference cycle are compared, each once."""
    found = run_within(
        15,
        lambda: list_rule_ids(
            diff(
                build_plain_side(**build_linked_types(2000, "integer")),
                build_plain_side(**build_linked_types(2000, "number")),
            )
        ),
    )
    assert found == ["type-widened"] * 200


@pytest.mark.parametrize(
    "words", [("enum", "const"), ("const", "enum")], ids=["list-to-union", "union-to-list"]
)
def test_ten_thousand_values(words: tuple[str, str]) -> None:
    """Ten thousand values are equal as a list and as a union of constants; a removed one is one
    finding.
    """

    def build_schema(word: str, count: int) -> object:
        values = [f"value-{index}" for index in range(count)]
        if word == "enum":
            return {"type": "string", "enum": values}
        return {"anyOf": [{"const": value} for value in values]}

    old, new = words
    assert (
        run_within(
            15,
            lambda: list_rule_ids(
                diff(
                    build_plain_side(T=build_schema(old, 10_000)),
                    build_plain_side(T=build_schema(new, 10_000)),
                )
            ),
        )
        == []
    )
    assert run_within(
        15,
        lambda: list_rule_ids(
            diff(
                build_plain_side(T=build_schema(old, 10_000)),
                build_plain_side(T=build_schema(new, 9_999)),
            )
        ),
    ) == ["enum-value-removed"]


def test_ten_thousand_tagged_branches() -> None:
    """A union of ten thousand tagged objects is compared branch by branch."""

    def build_schema(count: int) -> object:
        return {
            "oneOf": [
                {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {"kind": {"const": f"k{index}"}},
                }
                for index in range(count)
            ]
        }

    assert run_within(
        30,
        lambda: list_rule_ids(
            diff(build_plain_side(T=build_schema(10_000)), build_plain_side(T=build_schema(9_999)))
        ),
    ) == ["union-branch-removed"]


def test_nested_unions_have_a_limit() -> None:
    """Multiplying unions end with a message that names the place, before memory runs out."""
    many = {
        "allOf": [
            {"anyOf": [{"required": [f"{group}{index}"], "type": "object"} for index in range(20)]}
            for group in "abcdef"
        ]
    }
    changed = {
        "allOf": [
            *many["allOf"][1:],
            {
                "anyOf": [
                    {"type": "object", "maxProperties": 9},
                    {"type": "object", "minProperties": 2},
                ]
            },
        ]
    }
    with pytest.raises(ComparisonTooLargeError, match=r"schema\.json.*alternatives\n    fix: "):
        run_within(
            30, lambda: list_rule_ids(diff(build_plain_side(T=many), build_plain_side(T=changed)))
        )


def test_a_definition_that_is_only_itself() -> None:
    """Definitions that consist only of themselves terminate."""
    old = {
        "A": {"$ref": f"{REF}B"},
        "B": {"$ref": f"{REF}A"},
        "C": {"anyOf": [{"$ref": f"{REF}C"}, {"type": "string"}]},
    }
    assert (
        list_rule_ids(
            diff(
                build_plain_side(**old),
                build_plain_side(
                    **{**old, "C": {"anyOf": [{"type": "string"}, {"$ref": f"{REF}C"}]}}
                ),
            )
        )
        == []
    )
    assert list_rule_ids(
        diff(build_plain_side(**old), build_plain_side(**{**old, "C": {"type": "integer"}}))
    ) == ["type-changed"]


@pytest.mark.parametrize(
    "pattern",
    [r"^(a+)+$", r"^(a|a?)+$", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(?=.*a)(?!b)^[ab]{1,500}$", r"("],
)
def test_hostile_patterns(pattern: str) -> None:
    """Slow and invalid patterns cost only a bounded search for a witness."""
    old = {"type": "string", "enum": ["a" * 150 + "!"]}
    new = {"type": "string", "enum": ["a" * 150 + "!"], "pattern": pattern}
    run_within(10, lambda: list_rule_ids(diff(build_plain_side(T=old), build_plain_side(T=new))))
    assert run_within(
        10,
        lambda: list_rule_ids(
            diff(
                build_plain_side(T={"type": "string"}),
                build_plain_side(T={"type": "string", "pattern": pattern}),
            )
        ),
    ) == ["pattern-added"]


def test_deep_nesting() -> None:
    """Schemas nested two hundred levels deep are compared."""

    def deep(kind: str) -> object:
        schema: object = {"type": kind}
        for _ in range(200):
            schema = {"type": "object", "properties": {"inner": schema}, "required": ["inner"]}
        return schema

    assert run_within(
        10,
        lambda: list_rule_ids(
            diff(build_plain_side(T=deep("integer")), build_plain_side(T=deep("number")))
        ),
    ) == ["type-widened"]
