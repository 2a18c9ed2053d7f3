"""Writing a call, and reading its answer as leniently as can be."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError
from pydantic_core import from_json
from typing_extensions import TypeAliasType

from a2a_gen.support.base import JsonObject, WireModel
from a2a_gen.support.binding import ResponseReader
from a2a_gen.support.jsonrpc import (
    ErrorObject,
    JsonRpcResponseParser,
    parse_error_object,
    serialize_call,
)


class Theirs(WireModel):
    """A type of a dialect."""

    kind: Literal["reply"]
    text: str
    data: JsonObject | None = None


class Other(WireModel):
    """Another type of the dialect in the same union."""

    kind: Literal["other"]
    number: int


class Ours(WireModel):
    """The canonical type."""

    text: str


Either = TypeAliasType("Either", Annotated[Theirs | Other, Field(discriminator="kind")])


def read_response(theirs: Theirs | Other) -> Ours:
    """Translate."""
    return Ours(text=theirs.text if isinstance(theirs, Theirs) else str(theirs.number))


READER = JsonRpcResponseParser(ResponseReader(Either, read_response))

ANSWERS: dict[str, tuple[bytes, object]] = {
    "result": (
        b'{"jsonrpc": "2.0", "id": 1, "result": {"kind": "reply", "text": "a"}}',
        Ours(text="a"),
    ),
    "the other branch": (b'{"result": {"kind": "other", "number": 1}}', Ours(text="1")),
    "without its constant": (b'{"result": {"number": 2}}', Ours(text="2")),
    "result beside a null error": (
        b'{"error": null, "result": {"kind": "reply", "text": "a"}}',
        Ours(text="a"),
    ),
    "error": (
        b'{"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "m", "data": [1]}}',
        ErrorObject(-1, "m", [1]),
    ),
    "error beside a null result": (
        b'{"error": {"code": -1, "message": "m"}, "result": null}',
        ErrorObject(-1, "m"),
    ),
    "error that lacks everything": (b'{"error": {}}', ErrorObject(None, "")),
    "error that is a text": (b'{"error": "no"}', ErrorObject(None, "no")),
    "error with a code that is a text": (
        b'{"error": {"code": "-1", "message": 5}}',
        ErrorObject(None, '{"code":"-1","message":5}'),
    ),
}


@pytest.mark.parametrize(("body", "wanted"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_in_an_envelope(body: bytes, wanted: object) -> None:
    """There is a result or an error, whatever else a peer writes or leaves out."""
    assert READER.parse_envelope(body) == wanted


UNREADABLE: dict[str, bytes] = {
    "nothing": b"",
    "half": b'{"result": {"kind": "reply"',
    "no object": b"[]",
    "neither result nor error": b'{"jsonrpc": "2.0", "id": 1}',
    "wrong result": b'{"result": {"kind": "reply", "text": 5}}',
    "unknown result": b'{"result": {"kind": "new"}}',
    "null result": b'{"result": null}',
    "number that cannot be kept": (
        b'{"result": {"kind": "reply", "text": "a", "data": {"a": 1e999}}}'
    ),
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_invalid_response_is_refused(body: bytes) -> None:
    """The reader adds nothing and changes no value."""
    with pytest.raises(ValueError, match=r".+"):
        READER.parse_envelope(body)


def test_a_response_without_an_envelope() -> None:
    """Over HTTP+JSON there is no envelope; field paths begin at the document."""
    assert READER.parse(b'{"kind": "reply", "text": "a"}') == Ours(text="a")
    assert READER.parse(b'{"number": 3}') == Ours(text="3")
    with pytest.raises(ValidationError) as refused:
        READER.parse(b'{"text": 5}')
    assert [each["type"] for each in refused.value.errors()] == ["union_tag_not_found"]
    with pytest.raises(ValidationError):
        READER.parse(b"<html>")


def test_an_operation_without_a_result_accepts_any_result() -> None:
    """An error is still an error."""
    reader: JsonRpcResponseParser[Ours] = JsonRpcResponseParser(None)
    assert reader.parse(b"") is None
    assert reader.parse_envelope(b'{"id": 1}') is None
    assert reader.parse_envelope(b'{"error": {"code": 1, "message": "m"}}') == ErrorObject(1, "m")


def test_integers_survive_both_ways() -> None:
    """An integer of forty digits is neither rounded nor made a float."""
    digits = "1234567890" * 4
    call = serialize_call("m", "1", {"n": int(digits)})
    assert from_json(call) == {
        "jsonrpc": "2.0",
        "id": "1",
        "method": "m",
        "params": {"n": int(digits)},
    }
    class_reader = JsonRpcResponseParser(ResponseReader(Theirs))
    response = class_reader.parse_envelope(
        b'{"result": {"kind": "reply", "text": "", "data": {"n": %b}}}' % digits.encode()
    )
    assert isinstance(response, Theirs)
    assert response.data == {"n": int(digits)}


def test_an_error_can_be_anything() -> None:
    """Any JSON in the place of an error is an error."""
    assert parse_error_object(None) == ErrorObject(None, "null")
