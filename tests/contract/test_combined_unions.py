"""Unions that apply at once: a value has the members of one branch of each."""

from __future__ import annotations

import pytest
from contract.made_schemas import make

from a2a_contract.typed_schema import SchemaMismatchError


def _build_tagged(tag: str, word: str, **members: object) -> dict[str, object]:
    return {"type": "object", "properties": {tag: {"const": word}, **members}, "required": [tag]}


ANIMAL = {
    "oneOf": [
        _build_tagged("kind", "dog", barks={"type": "boolean"}),
        _build_tagged("kind", "cat", lives={"type": "integer"}),
        {"type": "null"},
    ]
}


SIZED = {
    "anyOf": [
        _build_tagged("size", "big", weight={"type": "number"}),
        _build_tagged("size", "small", born={"type": "string", "format": "date"}),
    ]
}


@pytest.mark.parametrize(
    "pet",
    [
        {"allOf": [ANIMAL, SIZED]},
        {"allOf": [{"$ref": "#/$defs/Animal"}, {"$ref": "#/$defs/Sized"}]},
        {**ANIMAL, **SIZED},
    ],
    ids=["in allOf", "by reference", "beside each other"],
)
def test_unions_that_all_apply_type_the_members_of_both(pet: dict[str, object]) -> None:
    """A value has the members of one branch of each union, all with their types; combinations that
    cannot be are no types.
    """
    form, warnings = make(
        {"type": "object", "properties": {"pet": pet}, "$defs": {"Animal": ANIMAL, "Sized": SIZED}}
    )
    for document in (
        {"kind": "dog", "barks": True, "size": "small", "born": "2024-01-02"},
        {"kind": "cat", "lives": 9, "size": "big", "weight": 1.5},
    ):
        value = form.parse({"pet": document})
        declared = {
            name: each for name, each in vars(vars(value)["pet"]).items() if name in document
        }
        assert list(declared) == list(document)
        assert str(declared.get("born", "2024-01-02")) == "2024-01-02"
        assert form.serialize(value) == {"pet": document}
    assert warnings == ()
    with pytest.raises(SchemaMismatchError):
        form.parse({"pet": {"kind": "dog", "size": "huge"}})


def test_validators_select_the_class_of_combined_branches() -> None:
    """No tag says which combination a value is of, only the schemas of both branches together."""
    bounds = {
        "high": ("a", {"minimum": 5}),
        "low": ("a", {"maximum": 4}),
        "long": ("b", {"minimum": 5}),
        "short": ("b", {"maximum": 4}),
    }
    numbers = [
        {
            "type": "object",
            "required": [name],
            "properties": {
                name: {"type": "number", **bound},
                member: {"type": "string", "format": "date"},
            },
        }
        for member, (name, bound) in bounds.items()
    ]
    form, _ = make(
        {
            "type": "object",
            "properties": {"x": {"allOf": [{"oneOf": numbers[:2]}, {"oneOf": numbers[2:]}]}},
        }
    )
    value = form.parse({"x": {"a": 1, "b": 9, "low": "2024-01-02", "long": "2024-01-03"}})
    dates = {name: str(each) for name, each in vars(vars(value)["x"]).items() if name in bounds}
    assert dates == {"low": "2024-01-02", "long": "2024-01-03"}


def test_unions_of_the_same_tag_are_combined_by_it() -> None:
    """A branch of one union is combined with those of the other that its tag allows."""
    more = {
        "oneOf": [
            _build_tagged("kind", "dog", owner={"type": "string"}),
            _build_tagged("kind", "cat", owner={"type": "integer"}),
        ]
    }
    form, _ = make({"type": "object", "properties": {"pet": {"allOf": [ANIMAL, more]}}})
    value = form.parse({"pet": {"kind": "cat", "lives": 9, "owner": 3}})
    assert vars(vars(value)["pet"]) == {"kind": "cat", "lives": 9, "owner": 3}


def test_too_many_combinations_are_a_warning() -> None:
    """The branches of one union are typed, and the build says so."""
    unions = [
        {"oneOf": [_build_tagged(f"tag{number}", f"w{index}") for index in range(5)]}
        for number in range(3)
    ]
    (warning,) = make({"type": "object", "properties": {"x": {"allOf": unions}}})[1]
    assert (warning.rule, "more than 64 combinations" in warning.text) == ("A2A-K11", True)
