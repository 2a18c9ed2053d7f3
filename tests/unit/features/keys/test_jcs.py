"""Canonical JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_contract.dialects import CANONICAL
from a2a_runtime.features.keys.card_signatures import select_signed_members
from a2a_runtime.features.keys.jcs import CanonicalizationError, canonicalize

NUMBERS = {
    0: "0",
    1: "1",
    -1.5: "-1.5",
    100.0: "100",
    1e20: "100000000000000000000",
    1e21: "1e+21",
    1.5e300: "1.5e+300",
    0.000001: "0.000001",
    1e-7: "1e-7",
    1.25e-10: "1.25e-10",
    5e-324: "5e-324",
    1.7976931348623157e308: "1.7976931348623157e+308",
    9007199254740992: "9007199254740992",
    333333333.33333329: "333333333.3333333",
    123456.789: "123456.789",
    4.50: "4.5",
    2e-3: "0.002",
}


@pytest.mark.parametrize(("value", "text"), NUMBERS.items(), ids=map(str, NUMBERS))
def test_numbers_are_printed_like_javascript(value: float, text: str) -> None:
    """The examples of RFC 8785, and the limits of each form."""
    assert canonicalize(value).decode() == text


def test_members_are_sorted_by_utf_16() -> None:
    """The example of RFC 8785: a character beyond the first plane precedes one at its end."""
    names = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    assert list(json.loads(canonicalize(dict.fromkeys(names, 0)))) == [
        "\r",
        "1",
        "\u0080",
        "\u00f6",
        "\u20ac",
        "\U0001f600",
        "\ufb33",
    ]


def test_strings_have_as_few_escapes_as_possible() -> None:
    """Only control characters are escaped, in lower case."""
    assert (
        canonicalize('\x00\x1f\x7f\b\t\n\f\r"\\/é\u2028').decode()
        == '"\\u0000\\u001f\x7f\\b\\t\\n\\f\\r\\"\\\\/é\u2028"'
    )


@pytest.mark.parametrize(
    "value",
    [2**53 + 1, float("inf"), float("nan"), "\ud800", object(), {"a": [float("nan")]}],
    ids=["too-large", "infinite", "not-a-number", "lone-surrogate", "not-json", "nested"],
)
def test_values_without_a_canonical_form_are_rejected(value: object) -> None:
    """Instead of being signed as another value."""
    with pytest.raises(CanonicalizationError):
        canonicalize(value)


def test_nesting_is_limited() -> None:
    """A card of nested brackets is rejected."""
    value: object = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(CanonicalizationError):
        canonicalize(value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(JSON)
def test_canonical_json_is_equal_and_stable(value: object) -> None:
    """It parses to the same value, and is its own canonical form."""
    text = canonicalize(value)
    assert json.loads(text, parse_int=float) == value
    assert canonicalize(json.loads(text)) == text


def test_the_example_of_the_protocol() -> None:
    """Section 8.4.1 has a card before and after."""
    card = {
        "name": "Example Agent",
        "description": "",
        "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
        "skills": [],
    }
    expected = (
        '{"capabilities":{"pushNotifications":false,"streaming":false},'
        '"description":"","name":"Example Agent","skills":[]}'
    )
    assert canonicalize(select_signed_members(card, CANONICAL.name)).decode() == expected
