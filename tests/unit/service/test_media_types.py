"""Matching of media types."""

from __future__ import annotations

import pytest

from a2a_contract.base import JSON_NULL
from a2a_contract.v1_0 import Part
from a2a_runtime.service.validation import detect_media_type, is_offered_type


@pytest.mark.parametrize(
    ("media_type", "offered", "expected"),
    [
        ("text/plain", ("text/plain",), True),
        ("Text/PLAIN; charset=utf-8", ("text/plain",), True),
        ("text/plain", ("text/plain;charset=utf-8",), True),
        ("image/png", ("image/*",), True),
        ("image/*", ("image/png",), True),
        ("anything/at-all", ("*/*",), True),
        ("text", ("text/plain",), True),
        ("text", ("application/json",), False),
        ("image/png", ("image/jpeg", "text/*"), False),
        ("", ("text/plain",), False),
    ],
)
def test_media_types_match_by_name_and_wildcard(
    media_type: str,
    offered: tuple[str, ...],
    expected: bool,  # noqa: FBT001 - a table
) -> None:
    """Case and parameters are ignored; a word alone matches all of its subtypes."""
    assert is_offered_type(media_type, offered) is expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Part(text="a"), "text/plain"),
        (Part(text="a", media_type="text/html"), "text/html"),
        (Part(data={"a": 1}), "application/json"),
        (Part(data=JSON_NULL), "application/json"),
        (Part(raw=b"a"), None),
        (Part(url="https://a.b", media_type="image/png"), "image/png"),
    ],
    ids=["text", "marked-up text", "data", "null", "bytes", "reference"],
)
def test_the_media_type_of_a_part_is_detected(part: Part, expected: str | None) -> None:
    """A file without a media type has none."""
    assert detect_media_type(part) == expected
