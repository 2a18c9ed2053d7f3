"""A table of translations that would lose something in silence, or says something for nothing, is a
problem with a place and a cure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from unit.emit.tiny_dialect import NUMBER, TEXT, TEXTS, TIME, Schema, contract, record

from a2a_gen.emit import translations
from a2a_gen.problems import ContractError

UNION: Schema = {
    "description": "A union.",
    "oneOf": [{"$ref": "#/$defs/Left"}, {"$ref": "#/$defs/Right"}],
}
LEFT = record({"kind": {"const": "left"}, "a": TEXT}, required=["kind", "a"])
RIGHT = record({"kind": {"const": "right"}, "b": TEXT}, required=["kind", "b"])
EITHER = record(
    {"a": TEXT, "b": TEXT},
    oneOf=[{"required": ["a"]}, {"required": ["b"]}],
    **{"x-a2a-oneof": "content"},
)
HOLDER = record(
    {"left": {"$ref": "#/$defs/Left"}, "other": TEXT},
    oneOf=[{"required": ["left"]}, {"required": ["other"]}],
    **{"x-a2a-oneof": "content"},
)


@dataclass(frozen=True)
class Case:
    """Types of both sides, the table between them, and what is wrong with it."""

    theirs: Schema
    ours: Schema
    problem: str
    text: str
    row: Schema = field(default_factory=dict)
    lossy: tuple[tuple[str, str], ...] = ()


CASES = {
    "no such rule": Case(
        {"Thing": record({"a": TEXT})},
        {"Thing": record({"b": TEXT})},
        "A2A-T01",
        "unknown rule 'guess'",
        row={"members": {"a": {"rule": "guess", "ours": "b"}}},
    ),
    "a branch that the table forgets": Case(
        {"Thing": UNION, "Left": LEFT, "Right": RIGHT},
        {"Thing": EITHER},
        "A2A-T02",
        "Right is not in the table",
        row={"union": {"Left": ["a"]}},
    ),
    "types that have nothing in common": Case(
        {"Thing": record({"a": NUMBER})},
        {"Thing": record({"a": TEXT})},
        "A2A-T03",
        "Thing.a and Thing.a have types that do not correspond",
    ),
    "nothing to write": Case(
        {"Thing": record({"a": TEXT}, required=["a"])},
        {"Thing": record({})},
        "A2A-T04",
        "nothing is written to Thing.a, which must be there",
        lossy=(("a", "read"),),
    ),
    "nothing to read": Case(
        {"Thing": record({})},
        {"Thing": record({"a": TEXT}, required=["a"])},
        "A2A-T04",
        "nothing is read into Thing.a, which must be there",
        lossy=(("a", "write"),),
    ),
    "no time for one that must be there": Case(
        {"Thing": record({"a": TIME})},
        {"Thing": record({"a": TIME}, required=["a"])},
        "A2A-T04",
        "a is required by us and optional for them",
    ),
    "theirs is dropped": Case(
        {"Thing": record({"a": TEXT})}, {"Thing": record({})}, "A2A-T05", "reading loses Thing.a"
    ),
    "ours is dropped": Case(
        {"Thing": record({})}, {"Thing": record({"a": TEXT})}, "A2A-T05", "writing loses Thing.a"
    ),
    "all but one of a list are dropped": Case(
        {"Thing": record({"many": TEXTS}, required=["many"])},
        {"Thing": record({"one": TEXT}, required=["one"])},
        "A2A-T05",
        "reading loses Thing.many",
        row={"members": {"many": {"rule": "only", "ours": "one"}}},
    ),
    "one of two that may be there together is dropped": Case(
        {"Thing": record({"a": TEXT, "b": TEXT})},
        {"Thing": EITHER},
        "A2A-T05",
        "reading loses Thing.b",
    ),
    "a member of a union is dropped": Case(
        {"Thing": LEFT},
        {"Thing": HOLDER, "Left": record({"a": TEXT})},
        "A2A-T05",
        "writing loses Thing.other",
        row={"union": {"Thing": "left"}},
    ),
    "a loss that does not happen": Case(
        {"Thing": record({"a": TEXT})},
        {"Thing": record({"a": TEXT})},
        "A2A-T06",
        "Thing.a is not lost on read",
        lossy=(("a", "read"),),
    ),
    "a record for a text": Case(
        {"Thing": {"description": "A text.", "type": "string"}},
        {"Thing": record({})},
        "A2A-T08",
        "theirs.Thing and ours.Thing do not correspond",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_table_that_is_wrong_is_a_problem(case: Case, tmp_path: Path) -> None:
    """A table that is wrong is reported under a stable name, at its place, and says what to do."""
    lossy = [
        {"type": "Thing", "member": member, "direction": direction, "reason": "r"}
        for member, direction in case.lossy
    ]
    made = contract(
        tmp_path,
        case.theirs,
        case.ours,
        {"types": [{"theirs": "Thing", **case.row}] if case.row else [], "lossy": lossy},
    )
    with pytest.raises(ContractError) as raised:
        translations.emit(made)
    found = [
        problem
        for problem in raised.value.problems
        if problem.rule == case.problem and case.text in problem.text
    ]
    assert found, raised.value
    assert found[0].place.file
    assert found[0].cure


def test_a_row_that_nothing_needs_is_a_problem(tmp_path: Path) -> None:
    """A row of the table for types that no operation leads to is reported."""
    types = {"Thing": record({"a": TEXT}), "Other": record({"a": TEXT})}
    made = contract(tmp_path, types, types, {"types": [{"theirs": "Other"}]})
    assert [(problem.rule, problem.text) for problem in translations.check(made)] == [
        ("A2A-T07", "Other: no operation of Theirs uses this row")
    ]


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    """A table with several problems ends in one error that has them all."""
    made = contract(
        tmp_path, {"Thing": record({"a": TEXT, "b": TEXT})}, {"Thing": record({"c": TEXT})}, {}
    )
    with pytest.raises(ContractError) as raised:
        translations.emit(made)
    assert [problem.text for problem in raised.value.problems] == [
        "Thing: reading loses Thing.a",
        "Thing: reading loses Thing.b",
        "Thing: writing loses Thing.c",
    ]
