"""Positions of values in JSON texts."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_gen.source.json_text import escape_key, find_line_numbers, iter_positions, unescape_key

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


def list_values(data: object, pointer: str = "") -> dict[str, object]:
    """Map every value of some data to its pointer."""
    found = {pointer: data}
    members: Iterable[tuple[object, object]] = ()
    if isinstance(data, dict):
        members = data.items()
    elif isinstance(data, list):
        members = enumerate(data)
    for key, value in members:
        found |= list_values(value, f"{pointer}/{escape_key(str(key))}")
    return found


@given(data=VALUES, indent=st.sampled_from([None, 0, 2]), is_ascii=st.booleans())
def test_agrees_with_json(*, data: object, indent: int | None, is_ascii: bool) -> None:
    """Every value that json.loads finds has its offset, and nothing else has."""
    text = json.dumps(data, indent=indent, ensure_ascii=is_ascii)
    read = {
        pointer: json.JSONDecoder().raw_decode(text, offset)[0]
        for pointer, offset in iter_positions(text)
    }
    assert read == list_values(json.loads(text))


@given(data=VALUES)
def test_lines(data: object) -> None:
    """The line of a value is the number of line ends before it plus one."""
    text = json.dumps(data, indent=1)
    assert find_line_numbers(text) == {
        pointer: text.count("\n", 0, offset) + 1 for pointer, offset in iter_positions(text)
    }


@pytest.mark.parametrize(
    ("key", "step"),
    [
        pytest.param("a/b", "a~1b", id="slash"),
        pytest.param("a~b", "a~0b", id="tilde"),
        pytest.param("~1", "~01", id="looks escaped"),
    ],
)
def test_escaped_key(key: str, step: str) -> None:
    """Escaping a key with special characters of JSON pointers can be reversed."""
    assert (escape_key(key), unescape_key(step)) == (step, key)
