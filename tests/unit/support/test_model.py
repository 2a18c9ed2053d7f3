"""The bases of models: names, immutability, and exactly one member of a group."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import AliasChoices, Field, ValidationError

from a2a_gen.support.base import JSON_NULL, Base64, JsonChoice, JsonObject, Oneof, WireModel


class Part(Oneof):
    """An object with exactly one content."""

    __oneof__ = frozenset({"text", "raw", "file_url", "data"})

    text: str | None = None
    raw: Base64 | None = None
    file_url: Annotated[str | None, Field(alias="fileUrl")] = None
    data: JsonChoice = None
    metadata: JsonObject | None = None


class Choice(Oneof):
    """A choice without free JSON."""

    __oneof__ = frozenset({"left", "right"})

    left: Part | None = None
    right: Part | None = None


class Message(WireModel):
    """An object with members of every form."""

    message_id: Annotated[str, Field(alias="messageId")] = ""
    parts: Annotated[list[Part], Field(default_factory=list)]
    sender: Annotated[
        str | None,
        Field(validation_alias=AliasChoices("sender", "from"), serialization_alias="sender"),
    ] = None


@pytest.mark.parametrize(
    ("body", "content"),
    [
        pytest.param(b'{"text":"a"}', "a", id="text"),
        pytest.param(b'{"text":""}', "", id="empty-text"),
        pytest.param(b'{"raw":"YQ=="}', b"a", id="bytes"),
        pytest.param(b'{"raw":""}', b"", id="no-bytes"),
        pytest.param(b'{"fileUrl":"x:"}', "x:", id="other-name-in-python"),
        pytest.param(b'{"data":{"a":null}}', {"a": None}, id="object"),
        pytest.param(b'{"data":false}', False, id="false"),
        pytest.param(b'{"data":0}', 0, id="zero"),
        pytest.param(b'{"data":[]}', [], id="empty-list"),
        pytest.param(b'{"data":null}', JSON_NULL, id="null"),
        pytest.param(b'{"data":null,"metadata":{}}', JSON_NULL, id="null-beside-another-member"),
    ],
)
def test_exactly_one_member_is_read_and_written(body: bytes, content: object) -> None:
    """One member of the group makes an object, however empty its value is."""
    part = Part.model_validate_json(body)
    assert [
        value for value in (part.text, part.raw, part.file_url, part.data) if value is not None
    ] == [content]
    assert part.to_json() == body
    assert Part.model_validate(part.to_dict()) == part


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"metadata":{}}',
        b'{"text":null}',
        b'{"text":"a","raw":""}',
        b'{"text":"a","data":null}',
        b'{"text":"a","data":1,"fileUrl":"x"}',
    ],
)
def test_none_or_two_members_are_refused(body: bytes) -> None:
    """Anything but one member is one error at the object, in names of the wire."""
    with pytest.raises(ValidationError) as caught:
        Message.model_validate_json(b'{"parts":[%s]}' % body)
    (error,) = caught.value.errors()
    assert error["loc"] == ("parts", 0)
    assert error["msg"] == "Exactly one of text, raw, fileUrl, data must be there"


def test_absent_members_may_be_given_as_none() -> None:
    """Generated code passes every member, None for those that are absent."""
    assert Part(text="a", raw=None, file_url=None, data=None).to_json() == b'{"text":"a"}'
    assert Choice(left=None, right=Part(text="a")).to_json() == b'{"right":{"text":"a"}}'


def test_none_alone_is_null_where_null_is_a_value() -> None:
    """None for the only member that can be null says null; elsewhere it says nothing."""
    assert Part(data=None).data is JSON_NULL
    assert Part(text=None, data=None).to_json() == b'{"data":null}'
    with pytest.raises(ValidationError):
        Part(text=None)
    with pytest.raises(ValidationError):
        Choice(left=None)


def test_models_do_not_change() -> None:
    """Tasks can share a model, because its members cannot be set."""
    part = Part(text="a")
    with pytest.raises(ValidationError):
        part.text = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"messageId": "1", "sender": "a"}, id="wire"),
        pytest.param({"message_id": "1", "sender": "a"}, id="python"),
        pytest.param({"messageId": "1", "from": "a"}, id="older-name"),
        pytest.param({"messageId": "1", "sender": "a", "unknown": {"x": 1}}, id="unknown-members"),
    ],
)
def test_every_name_is_read_and_one_is_written(body: dict[str, object]) -> None:
    """Names of the wire, of Python and older ones are read; names of the wire are written; unknown
    members are ignored.
    """
    assert Message.model_validate(body).to_dict() == {"messageId": "1", "parts": [], "sender": "a"}


@pytest.mark.parametrize("body", [{"messageId": 1}, {"message_id": 1}])
def test_errors_name_what_was_sent(body: dict[str, object]) -> None:
    """An error stands where its sender wrote the value."""
    with pytest.raises(ValidationError) as caught:
        Message.model_validate(body)
    assert [each["loc"] for each in caught.value.errors()] == [tuple(body)]


def test_members_know_their_names_on_the_wire() -> None:
    """An error report can look up the name of a member on the wire."""
    assert [Message.wire_name(name) for name in Message.model_fields] == [
        "messageId",
        "parts",
        "sender",
    ]


def test_defaults_are_not_shared() -> None:
    """Two messages that were sent without parts have lists of their own."""
    first = Message.model_validate({})
    second = Message.model_validate({})
    assert first.parts is not second.parts


class MaybeChoice(Oneof):
    """A choice that writers may leave empty."""

    __oneof__ = frozenset({"left", "right"})
    __oneof_is_optional__ = True

    left: str | None = None
    right: str | None = None


def test_a_group_may_accept_the_absence_of_all_members() -> None:
    """Two members are one too many all the same."""
    assert MaybeChoice.model_validate({}).to_dict() == {}
    with pytest.raises(ValidationError, match="Exactly one"):
        MaybeChoice(left="a", right="b")
