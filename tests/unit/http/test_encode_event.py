"""Encoding of server-sent events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_runtime.http.event_stream import encode_error_event, encode_event, to_ascii_json

LINE_ENDS_OF_PYTHON = "a\u2028b\u2029c\u0085d\u000be\u001cf"


def test_an_event_has_id_and_data() -> None:
    """An event has its number as id, its data in one line, and an empty line after it; number 0
    gives no id.
    """
    assert encode_event("7", b'{"a":1}') == b'id: 7\ndata: {"a":1}\n\n'
    assert encode_event("", b"{}") == b"data: {}\n\n"
    assert encode_error_event(b"{}") == b"event: error\ndata: {}\n\n"


@pytest.mark.parametrize(
    "text",
    ["plain", "Grüße", "漢字" * 50, "\U0001f600", LINE_ENDS_OF_PYTHON],
    ids=["ascii", "latin", "han", "astral", "ends"],
)
def test_data_is_one_line_for_every_reader(text: str) -> None:
    """Nothing in the data ends a line for readers that split lines as Python does, and the data is
    the same.
    """
    data = json.dumps({"text": text}, ensure_ascii=False).encode()
    lines = encode_event("1", data).decode().splitlines()
    assert len(lines) == 3
    assert json.loads(lines[1].removeprefix("data: ")) == {"text": text}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_escaping_changes_no_value(value: object) -> None:
    """JSON has the same value in ASCII."""
    ascii_json = (
        to_ascii_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if _is_text(value)
        else b"null"
    )
    assert ascii_json.isascii()
    assert not _is_text(value) or json.loads(ascii_json) == value


def _is_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
