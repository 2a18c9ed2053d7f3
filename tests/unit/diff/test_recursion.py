"""Recursive definitions beside keywords that depend on what was evaluated: the canonical form of
some of them does not end.
"""

from __future__ import annotations

from unit.diff.sides import build_plain_side, diff, list_rule_ids

from a2a_gen.diff.rules.rule import ChangeLevel


def build_node(kind: str) -> dict[str, object]:
    """Build a definition that contains itself below a schema that closes it."""
    inner = {"allOf": [{"$ref": "#/$defs/Node"}], "const": 1.5, "unevaluatedProperties": False}
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {"next": inner, "value": {"type": kind}},
                "additionalProperties": False,
            },
            {"type": "string"},
        ]
    }


def test_a_recursive_schema_that_closes_itself_is_compared() -> None:
    """The comparison ends, and has the change that was made."""
    old, new = (build_plain_side(Node=build_node(kind)) for kind in ("integer", "number"))
    assert "type-widened" in list_rule_ids(diff(old, new))


def test_a_recursive_schema_that_is_written_differently_is_equal() -> None:
    """Two spellings of a recursive schema are equal, which is proven by induction."""
    node = {
        "type": "object",
        "properties": {
            "next": {"$ref": "#/$defs/Node"},
            "value": {"type": "integer", "exclusiveMinimum": 0},
        },
    }
    other = {
        "type": "object",
        "properties": {
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}]},
            "value": {"type": "integer", "minimum": 1},
        },
    }
    assert (
        diff(build_plain_side(Node=node), build_plain_side(Node=other)).findings_at_least(
            ChangeLevel.WARNING
        )
        == ()
    )
