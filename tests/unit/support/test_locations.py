"""The place of an error, as the document has it."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import AliasChoices, Field, ValidationError
from typing_extensions import TypeAliasType

from a2a_gen.support.base import JsonObject, Oneof, UnionByMember, WireModel
from a2a_gen.support.field_paths import field_paths, parse_location


class Text(WireModel):
    """A part whose tag is the name of one of its members."""

    kind: Literal["text"] = "text"
    text: str
    metadata: JsonObject | None = None


class Inline(WireModel):
    """A file with its content."""

    bytes: str


class Linked(WireModel):
    """A file elsewhere."""

    uri: str


class File(WireModel):
    """A part with a union inside."""

    kind: Literal["file"]
    file: Annotated[Inline | Linked, UnionByMember({"bytes": "Inline", "uri": "Linked"})]


Part = TypeAliasType("Part", Annotated[Text | File, Field(discriminator="kind")])


class Message(WireModel):
    """An object with parts, by several names and in several containers."""

    parts: Annotated[
        list[Part] | None,
        Field(validation_alias=AliasChoices("parts", "text"), serialization_alias="parts"),
    ] = None
    by_name: Annotated[dict[str, Part] | None, Field(alias="byName")] = None
    plain: str | int | None = None


class Choice(Oneof):
    """A presence union around it."""

    __oneof__ = frozenset({"message"})

    message: Message | None = None


TEXT = {"kind": "text", "text": 5}


@pytest.mark.parametrize(
    ("message", "place"),
    [
        pytest.param({"parts": [TEXT]}, ("parts", 0, "text"), id="tag-named-like-the-member"),
        pytest.param({"text": [TEXT]}, ("text", 0, "text"), id="list-named-like-the-tag"),
        pytest.param({"parts": [{"kind": "text"}]}, ("parts", 0, "text"), id="missing-member"),
        pytest.param(
            {"parts": [{"kind": "text", "text": "a", "metadata": {"text": {"x": float("nan")}}}]},
            ("parts", 0, "metadata", "text", "x"),
            id="free",
        ),
        pytest.param({"byName": {"text": TEXT}}, ("byName", "text", "text"), id="map"),
        pytest.param({"by_name": {"a": TEXT}}, ("by_name", "a", "text"), id="name-of-python"),
        pytest.param(
            {"parts": [{"kind": "file", "file": {"uri": 5}}]},
            ("parts", 0, "file", "uri"),
            id="branch-in-a-branch",
        ),
        pytest.param(
            {"parts": [{"kind": "file", "file": {}}]}, ("parts", 0, "file"), id="no-branch"
        ),
        pytest.param({"parts": [{"kind": "other"}]}, ("parts", 0), id="unknown-tag"),
        pytest.param({"parts": 5}, ("parts",), id="no-list"),
    ],
)
def test_a_place_has_no_branches(message: object, place: tuple[str | int, ...]) -> None:
    """Only steps that the document has are left, also where a branch is called like a member."""
    with pytest.raises(ValidationError) as caught:
        Choice.model_validate({"message": message})
    assert [parse_location(Choice, each["loc"]) for each in caught.value.errors()] == [
        ("message", *place)
    ]


def test_branches_of_an_unmarked_union_share_a_place() -> None:
    """A value that fits no branch is wrong at the place of the union, whichever branch reports
    it.
    """
    with pytest.raises(ValidationError) as caught:
        Message.model_validate({"plain": []})
    assert {parse_location(Message, each["loc"]) for each in caught.value.errors()} == {("plain",)}


def test_steps_that_no_schema_has_are_kept() -> None:
    """A place that cannot be followed stays as it is."""
    assert parse_location(Message, ("unknown", 1, "x")) == ("unknown", 1, "x")


def test_places_leave_out_branches() -> None:
    """People see the place as the document has it."""
    with pytest.raises(ValidationError) as caught:
        Message.model_validate({"parts": [TEXT]})
    assert [place for place, _ in field_paths(caught.value, of=Message)] == ["parts[0].text"]
