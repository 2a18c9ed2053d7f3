"""Classes of breaks that no rule saw, and of equal schemas that rules took for breaks: the files in
`tests/containment`.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from a2a_gen.diff.report import CompareOptions, Report, compare
from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.sides import build_side
from a2a_gen.diff.usage import BOTH, Usage

FOLDER = Path(__file__).parents[2] / "containment"
CASES = {path.stem: json.loads(path.read_bytes()) for path in sorted(FOLDER.glob("*.json"))}
USAGES = {"read": Usage.READ, "written": Usage.WRITTEN}
BREAKS = [name for name, case in CASES.items() if case["role"] != "equal"]
EQUAL = [name for name, case in CASES.items() if case["role"] == "equal"]


def read_schema(name: str, version: str) -> bytes:
    """Read one version of a case."""
    return json.dumps(CASES[name][version]).encode()


def compare_case(name: str, *, is_reversed: bool = False, find_witnesses: bool = True) -> Report:
    """Compare the versions of a case."""
    versions = ("new", "old") if is_reversed else ("old", "new")
    old, new = (
        build_side({"schema.json": read_schema(name, version)}, label=version, is_plain=True)
        for version in versions
    )
    usage = USAGES.get(CASES[name]["role"])
    return compare(
        old, new, CompareOptions("WIRE", frozenset({usage}) if usage else BOTH, find_witnesses)
    )


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_an_error_with_its_witness(name: str) -> None:
    """The document of the case is refused by one version, and the report has an error with a
    confirmed witness.
    """
    accepts, refuses = ("old", "new") if CASES[name]["role"] == "read" else ("new", "old")
    document = CASES[name]["refused"]
    assert jsonschema_rs.validator_for(
        json.loads(read_schema(name, accepts)), validate_formats=True
    ).is_valid(document)
    refusing = jsonschema_rs.validator_for(
        json.loads(read_schema(name, refuses)), validate_formats=True
    )
    assert not refusing.is_valid(document)
    errors = compare_case(name).findings_at_least(ChangeLevel.ERROR)
    assert errors
    assert any(
        not refusing.is_valid(witness.document)
        for finding in errors
        for witness in finding.witnesses
    )


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_never_safe_without_a_search(name: str) -> None:
    """The containment oracle alone, without documents, never takes a break for safe."""
    assert compare_case(name, find_witnesses=False).findings_at_least(ChangeLevel.WARNING)


@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("name", EQUAL)
def test_equal_schemas_are_equal(
    name: str,
    is_reversed: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Two spellings of one set of documents yield nothing above an information."""
    assert compare_case(name, is_reversed=is_reversed).findings_at_least(ChangeLevel.WARNING) == ()


def test_an_empty_if_is_a_condition_however_it_is_written() -> None:
    """Its ``then`` always holds; where equality of that cannot be decided, the same condition is
    not taken for a new one.
    """
    then = {"unevaluatedItems": False, "not": {"contains": {"type": "string"}, "minContains": 2}}
    versions = (
        {"if": {}, "then": then},
        {"if": {"$ref": "#/$defs/any"}, "then": then, "$defs": {"any": {}}},
    )
    old, new = (
        build_side({"schema.json": json.dumps(each).encode()}, label="schema", is_plain=True)
        for each in versions
    )
    assert (
        compare(old, new, CompareOptions("WIRE", BOTH)).findings_at_least(ChangeLevel.ERROR) == ()
    )
