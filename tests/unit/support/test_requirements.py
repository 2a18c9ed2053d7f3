"""Requirements on requests beyond what their models check."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

import pytest
from pydantic import Field, ValidationError

from a2a_gen.support.base import OpenEnum, Requirement, WireModel, check_requirements


class Role(OpenEnum):
    """An open list with a word for nothing."""

    UNSPECIFIED = "ROLE_UNSPECIFIED"
    USER = "ROLE_USER"

    __reads__ = MappingProxyType({0: "ROLE_UNSPECIFIED", 1: "ROLE_USER"})


class Part(WireModel):
    """The innermost object."""

    text: str | None = None


class Message(WireModel):
    """The object in the middle."""

    message_id: Annotated[str, Field(alias="messageId")] = ""
    role: Role = Role.UNSPECIFIED
    parts: Annotated[list[Part], Field(default_factory=list)]
    by_name: dict[str, Part] | None = None


class Request(WireModel):
    """The request."""

    message: Message | None = None
    count: int | None = None


DEMANDS = (
    Requirement((), (), frozenset({"message", "count"})),
    Requirement(
        ("message",), ("message",), frozenset({"message_id", "role", "parts"}), frozenset({"role"})
    ),
    Requirement(("message", "parts"), ("message", "parts"), frozenset({"text"})),
    Requirement(("message", "by_name"), ("message", "by_name"), frozenset({"text"})),
)

GOOD = {"messageId": "1", "role": 1, "parts": [{"text": "a"}], "by_name": {"x": {"text": "b"}}}


@pytest.mark.parametrize(
    ("request_", "places"),
    [
        pytest.param({"message": GOOD, "count": 0}, [], id="good-and-zero-is-a-number"),
        pytest.param({"count": 1}, [("message",)], id="missing-object"),
        pytest.param(
            {"message": {**GOOD, "messageId": ""}, "count": 1},
            [("message", "messageId")],
            id="empty-text",
        ),
        pytest.param(
            {"message": {**GOOD, "parts": []}, "count": 1}, [("message", "parts")], id="empty-list"
        ),
        pytest.param(
            {"message": {**GOOD, "role": 0}, "count": 1},
            [("message", "role")],
            id="word-for-nothing",
        ),
        pytest.param(
            {"message": {**GOOD, "role": "ROLE_OTHER"}, "count": 1},
            [("message", "role")],
            id="unknown-word",
        ),
        pytest.param(
            {"message": {**GOOD, "parts": [{"text": "a"}, {}]}, "count": 1},
            [("message", "parts", 1, "text")],
            id="in-a-list",
        ),
        pytest.param(
            {"message": {**GOOD, "by_name": {"x": {}}}, "count": 1},
            [("message", "by_name", "x", "text")],
            id="in-a-map",
        ),
        pytest.param(
            {"message": {}},
            [("count",), ("message", "messageId"), ("message", "role"), ("message", "parts")],
            id="everything-at-once",
        ),
    ],
)
def test_every_missing_value_has_a_path(
    request_: dict[str, object], places: list[tuple[str | int, ...]]
) -> None:
    """Missing, empty and unknown values are reported together, in names of the wire and in the
    order of the model.
    """
    request = Request.model_validate(request_)
    if not places:
        check_requirements(request, DEMANDS)
        return
    with pytest.raises(ValidationError) as caught:
        check_requirements(request, DEMANDS)
    assert [each["loc"] for each in caught.value.errors()] == places
    assert caught.value.title == "Request"
