"""Extraction of the payload from a message."""

from __future__ import annotations

import pytest

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Message, Part, Role
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import TEXT, SchemaMismatchError, SchemaValidator, extract_payload

ANY = SchemaValidator({"not": {"type": "string"}})


@pytest.mark.parametrize(
    ("parts", "value", "place"),
    [
        ([Part(text="see this"), Part(data={"a": 1})], {"a": 1}, "message.parts[1].data"),
        ([Part(data=JSON_NULL)], None, "message.parts[0].data"),
        ([Part(text=' {"a": 1} ')], {"a": 1}, "message.parts[0].text"),
        ([Part(raw=b"x"), Part(text="3")], 3, "message.parts[1].text"),
    ],
    ids=["data after text", "null", "json in a text", "text after a file"],
)
def test_data_goes_before_text(parts: list[Part], value: object, place: str) -> None:
    """The first piece of data is the value; without one, the JSON in the first text."""
    assert extract_payload(parts, ANY) == (value, place)


def test_text_skills_take_all_texts() -> None:
    """For a skill that takes text, the texts of a message are the value, line by line."""
    assert (
        extract_payload([Part(text="a"), Part(raw=b"x"), Part(text="b")], TEXT.validator).value
        == "a\nb"
    )
    assert (
        extract_payload([Part(text="a"), Part(text="b")], TEXT.validator, are_chunks=True).value
        == "ab"
    )
    assert extract_payload([Part(data="c")], TEXT.validator).value == "c"


@pytest.mark.parametrize(
    "parts",
    [[], [Part(raw=b"{}")], [Part(text="{")], [Part(text="NaN")]],
    ids=["nothing", "a file", "no json", "no number"],
)
def test_other_messages_carry_nothing(parts: list[Part]) -> None:
    """A message without JSON is refused, with the place where it should be."""
    with pytest.raises(SchemaMismatchError) as refused:
        extract_payload(parts, ANY)
    assert refused.value.fields[0][0].startswith("message.parts")


def test_plain_text_is_never_looked_at() -> None:
    """A skill without schemas refuses no message, not even one without text: the handler may want
    its files.
    """
    contract = SkillContract("plain", TEXT, TEXT)
    contract.check_message(Message(message_id="m", role=Role.USER, parts=[Part(raw=b"x")]))
    assert contract.input_schema is None
    assert contract.schemas == {}
