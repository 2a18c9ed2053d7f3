"""References that depend on an address inside a file, or on the path of a validation: a break
behind them is an error.
"""

from __future__ import annotations

import pytest
from unit.diff.sides import build_plain_side, build_side_of_files, diff

from a2a_gen.diff.rules.rule import ChangeLevel
from a2a_gen.diff.rules.texts import ENCODING_CHANGED
from a2a_gen.diff.sides import ContractSide

PART = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
TEXT = {"type": "string"}


def embed_schema(items: object, reference: str, address: str, **members: object) -> ContractSide:
    """Build a side of one file with a schema inside that has an address."""
    part = {
        "$id": address,
        "type": "array",
        "items": items,
        "$defs": {"any": {"$dynamicAnchor": "item", **PART}},
    }
    root = {
        "$id": "https://e.example/root.json",
        "properties": {"p": {"$ref": reference}},
        "$defs": {"Part": part},
        **members,
    }
    return build_side_of_files({"root.json": root})


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("https://e.example/part.json", "https://e.example/part.json"),
        ("part.json", "https://e.example/part.json"),
        ("part.json", "part.json"),
        ("#/$defs/Part", "part.json"),
        ("sub/part.json#", "sub/part.json"),
    ],
)
@pytest.mark.parametrize(
    "before",
    [PART, {"$dynamicRef": "#item"}, {"$ref": "#/$defs/any"}],
    ids=["plain", "dynamic", "inner"],
)
def test_a_break_behind_an_embedded_address_is_an_error(
    reference: str, address: str, before: object
) -> None:
    """Whatever the address; the same contract, or another description, is no change."""
    old, new = (embed_schema(items, reference, address) for items in (before, TEXT))
    assert list(old.tree.find_dangling_references()) == []
    assert diff(old, new).findings_at_least(ChangeLevel.ERROR)
    assert (
        diff(
            old, embed_schema(before, reference, address, description="The root.")
        ).findings_at_least(ChangeLevel.WARNING)
        == ()
    )


@pytest.mark.parametrize(
    "draft", ["http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#"]
)
def test_what_a_text_contains_refuses_none(draft: str) -> None:
    """Readers take every text, in older drafts too; so a media type is no change, and another
    encoding has no refused text.
    """

    def build(**members: object) -> ContractSide:
        part = {"$id": "https://e.example/part.json", "type": "string", **members}
        root = {
            "$schema": draft,
            "$id": "https://e.example/root.json",
            "properties": {"p": {"$ref": "https://e.example/part.json"}},
        }
        return build_side_of_files({"root.json": {**root, "definitions": {"Part": part}}})

    assert (
        diff(build(), build(contentMediaType="application/json")).findings_at_least(
            ChangeLevel.WARNING
        )
        == ()
    )
    (found,) = diff(build(), build(contentEncoding="base64")).findings_at_least(ChangeLevel.ERROR)
    assert (found.rule, found.witnesses) == (ENCODING_CHANGED, ())


def test_a_missing_address_has_no_target() -> None:
    """A reference to a neighbour of the embedded schema leads nowhere."""
    (found,) = embed_schema(PART, "other.json", "part.json").tree.find_dangling_references()
    assert found[1] == "other.json"


@pytest.mark.parametrize("after", [{"type": "string"}, {"$ref": "#"}])
def test_a_changed_recursive_reference_is_an_error(after: object) -> None:
    """It may lead to another schema for each document, so what cannot be decided is not safe."""

    def build(inner: object) -> ContractSide:
        part = {
            "$id": "part.json",
            "$recursiveAnchor": True,
            "type": "object",
            "properties": {"c": inner},
        }
        root = {
            "$recursiveAnchor": True,
            "type": "object",
            "properties": {"n": {"$ref": "part.json"}},
            "required": ["n"],
        }
        draft = {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$id": "https://e.example/root.json",
        }
        return build_side_of_files({"root.json": {**draft, **root, "$defs": {"part": part}}})

    assert diff(build({"$recursiveRef": "#"}), build(after)).findings_at_least(ChangeLevel.ERROR)


@pytest.mark.parametrize("is_definition", [False, True])
def test_an_alternative_of_a_one_of_that_opens_is_an_error(
    is_definition: bool,  # noqa: FBT001 - a table
) -> None:
    """A document of another alternative, with members that this one names, matched one of them and
    matches two now.
    """

    def build(**more: object) -> ContractSide:
        one = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
        other = {
            "type": "object",
            "properties": {"b": {"type": "string"}},
            "required": ["b"],
            **more,
        }
        branches = (
            [{"$ref": "#/$defs/One"}, {"$ref": "#/$defs/Other"}] if is_definition else [one, other]
        )
        return build_plain_side(Both={"oneOf": branches}, One=one, Other=other)

    (found,) = [
        each
        for each in diff(build(additionalProperties=False), build()).findings
        if each.level is ChangeLevel.ERROR
    ]
    assert found.rule.id == "undecidable"
