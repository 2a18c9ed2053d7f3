"""A place in a request is written as people write it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from a2a_gen.support.base import WireModel
from a2a_gen.support.field_paths import field_paths


class Part(WireModel):
    """Something in a list."""

    text: str


class Message(WireModel):
    """Something with a list and a map."""

    parts: list[Part]
    scopes: dict[str, int] | None = None


def test_every_location_becomes_a_path() -> None:
    """Members are joined by dots, and items of a list are in brackets."""
    with pytest.raises(ValidationError) as caught:
        Message.model_validate_json(
            b'{"parts": [{"text": "a"}, {"text": 1}, {}], "scopes": {"a b": "x"}}'
        )
    assert [place for place, _ in field_paths(caught.value)] == [
        "parts[1].text",
        "parts[2].text",
        "scopes.a b",
    ]


def test_outer_steps_can_be_left_out() -> None:
    """Steps outside the request are not part of the path."""
    with pytest.raises(ValidationError) as caught:
        Message.model_validate_json(b"{}")
    assert field_paths(caught.value, skip=1) == (("", "Field required"),)
