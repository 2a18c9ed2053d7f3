"""Values that are a model here and JSON there."""

from __future__ import annotations

from a2a_gen.support.base import Encoded, WireModel


class Note(WireModel):
    """Any model."""

    text: str


def test_a_model_is_written_once() -> None:
    """The JSON of a model is made when it is asked for, and kept."""
    encoded = Encoded.of(Note(text="a"))
    assert encoded.json == b'{"text":"a"}'
    assert encoded.json is encoded.json
    assert encoded.model == Note(text="a")


def test_json_is_read_once() -> None:
    """The model of JSON is made when it is asked for, and kept; the JSON stays the same bytes."""
    json = b'{ "text": "a" }'
    encoded = Encoded(Note, json)
    assert encoded.model == Note(text="a")
    assert encoded.model is encoded.model
    assert encoded.json is json
    assert repr(encoded) == "Encoded(Note)"
