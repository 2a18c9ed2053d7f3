"""Constants that a writer has left out are supplied where the members show what an object is."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, TypeAdapter
from typing_extensions import TypeAliasType

from a2a_gen.support.base import WireModel
from a2a_gen.support.unions import supply_tags


class Text(WireModel):
    """A branch with one required member."""

    kind: Literal["text"]
    text: str


class Titled(WireModel):
    """A branch with one more of them, and a name of its own on the wire."""

    kind: Literal["titled"]
    text: str
    big_title: Annotated[str, Field(alias="bigTitle")]
    next: Text | None = None


Part = TypeAliasType("Part", Annotated[Text | Titled, Field(discriminator="kind")])


class Letter(WireModel):
    """An object that holds the union."""

    kind: Literal["letter"]
    parts: list[Part]
    note: str | None = None


DOCUMENTS: dict[str, tuple[object, object]] = {
    "constant of an object": ({"parts": []}, {"kind": "letter", "parts": []}),
    "branch by its member": (
        {"parts": [{"text": "a"}]},
        {"kind": "letter", "parts": [{"kind": "text", "text": "a"}]},
    ),
    "branch with more of them": (
        {"kind": "letter", "parts": [{"text": "a", "bigTitle": "b"}]},
        {"kind": "letter", "parts": [{"kind": "titled", "text": "a", "bigTitle": "b"}]},
    ),
    "inside a branch that has its tag": (
        {"kind": "letter", "parts": [{"kind": "text", "text": "a"}]},
        {"kind": "letter", "parts": [{"kind": "text", "text": "a"}]},
    ),
    "no branch": (
        {"kind": "letter", "parts": [{"other": 1}]},
        {"kind": "letter", "parts": [{"other": 1}]},
    ),
    "unknown tag": (
        {"kind": "letter", "parts": [{"kind": "new"}]},
        {"kind": "letter", "parts": [{"kind": "new"}]},
    ),
    "wrong constant": ({"kind": "postcard", "parts": []}, {"kind": "postcard", "parts": []}),
    "tag that is an object": (
        {"kind": "letter", "parts": [{"kind": {"a": 1}}]},
        {"kind": "letter", "parts": [{"kind": {"a": 1}}]},
    ),
    "tag that is a list": (
        {"kind": "letter", "parts": [{"kind": []}]},
        {"kind": "letter", "parts": [{"kind": []}]},
    ),
    "tag that is null": (
        {"kind": "letter", "parts": [{"kind": None}]},
        {"kind": "letter", "parts": [{"kind": None}]},
    ),
    "not an object": (["a"], ["a"]),
    "list that is none": ({"parts": 1}, {"kind": "letter", "parts": 1}),
}


@pytest.mark.parametrize(("document", "wanted"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_constants_are_supplied(document: object, wanted: object) -> None:
    """An existing tag stays, a missing one follows from the members, and an object that fits no
    type is left to the model.
    """
    assert supply_tags(TypeAdapter(Letter).core_schema, document) == wanted
