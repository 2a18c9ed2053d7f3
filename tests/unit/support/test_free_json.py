"""Free JSON inside models: kept as sent, or refused with its place."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from enum import IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from a2a_gen.support.base import JSON_NULL, JsonAny, JsonNull, JsonObject, OpenModel, WireModel
from a2a_gen.support.scalars import MAX_DEPTH

LARGE = 10**4299


class Holder(WireModel):
    """An object with free members."""

    metadata: JsonObject | None = None
    value: JsonAny = None


class Outer(WireModel):
    """An object around such objects."""

    held: list[Holder]


def nest_value(levels: int, inside: object = None) -> list[object]:
    """Put a value into so many lists."""
    value: object = inside
    for _ in range(levels):
        value = [value]
    assert isinstance(value, list)
    return value


finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(codec="utf-8"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | text,
    lambda inner: st.lists(inner) | st.dictionaries(text, inner),
    max_leaves=20,
)


@given(st.dictionaries(text, values))
def test_any_object_survives_from_json(data: dict[str, object]) -> None:
    """JSON, model, JSON: nothing is lost, not even the order of keys or a null."""
    body = json.dumps({"metadata": data}).encode()
    assert json.dumps(json.loads(Holder.model_validate_json(body).to_json())) == json.dumps(
        json.loads(body)
    )


@given(values)
def test_any_value_survives_from_python(value: object) -> None:
    """Python, model, JSON: the value is the same, and null is no absent member."""
    holder = Holder.model_validate({"value": value})
    assert json.loads(holder.to_json()) == {"value": value}
    assert holder.to_dict() == {"value": value}


@pytest.mark.parametrize(
    "number",
    [LARGE, -LARGE, 2**63, 2**64 + 1, -(2**63) - 1, 0],
    ids=["4300-digits", "-4300-digits", "64-bits", "65-bits", "-64-bits", "0"],
)
def test_integers_keep_every_digit(number: int) -> None:
    """No integer becomes a float or loses a digit, up to 4,300 of them."""
    holder = Holder.model_validate_json(f'{{"metadata": {{"n": [{number}]}}}}')
    assert holder.metadata == {"n": [number]}
    assert json.loads(holder.to_json()) == {"metadata": {"n": [number]}}
    assert json.loads(Holder(metadata={"n": number}).to_json()) == {"metadata": {"n": number}}


def test_null_is_a_value_and_none_is_absence() -> None:
    """A null that was sent is JSON_NULL and is written; a member that was not sent is None and is
    not.
    """
    assert Holder.model_validate_json(b'{"value":null}').value is JSON_NULL
    assert Holder.model_validate_json(b'{"value":null}').to_json() == b'{"value":null}'
    assert Holder.model_validate_json(b"{}").value is None
    assert Holder.model_validate_json(b"{}").to_json() == b"{}"
    assert not JSON_NULL
    assert repr(JSON_NULL) == "JSON_NULL"
    assert JsonNull(None) is JSON_NULL


@pytest.mark.parametrize(
    ("body", "place"),
    [
        pytest.param(
            '{"metadata": {"a": [1, {"b": 1e999}]}}',
            ("metadata", "a", 1, "b"),
            id="too-large-for-a-float",
        ),
        pytest.param('{"metadata": {"a": -1e999}}', ("metadata", "a"), id="negative"),
        pytest.param('{"metadata": {"a": NaN}}', ("metadata", "a"), id="nan"),
        pytest.param('{"metadata": {"a": Infinity}}', ("metadata", "a"), id="infinity"),
        pytest.param('{"value": 1e999}', ("value",), id="alone"),
        pytest.param('{"value": [NaN]}', ("value", 0), id="in-a-list"),
        pytest.param('{"metadata": []}', ("metadata",), id="list-instead-of-object"),
        pytest.param('{"metadata": {"a": 1', (), id="no-json"),
        pytest.param(f'{{"value": {LARGE}0}}', (), id="4301-digits"),
        pytest.param('{"value": "\\ud800"}', (), id="half-a-pair"),
        pytest.param(f'{{"value": {"[" * 300}{"]" * 300}}}', (), id="deeper-than-the-parser-goes"),
    ],
)
def test_json_that_cannot_be_kept_is_refused(body: str, place: tuple[str | int, ...]) -> None:
    """Values that cannot be serialized are refused at their place; invalid JSON is refused as a
    whole.
    """
    with pytest.raises(ValidationError) as caught:
        Holder.model_validate_json(body)
    assert [each["loc"] for each in caught.value.errors()] == [place]


@pytest.mark.parametrize(
    ("value", "kind", "place"),
    [
        pytest.param({"a": [math.inf]}, "json_number", ("a", 0), id="infinity"),
        pytest.param({"a": {"b": math.nan}}, "json_number", ("a", "b"), id="nan"),
        pytest.param([0, LARGE * 10], "json_number", (1,), id="4301-digits"),
        pytest.param([-LARGE * 10], "json_number", (0,), id="-4301-digits"),
        pytest.param(["é", "a\ud800"], "json_text", (1,), id="half-a-pair"),
        pytest.param({"\ud800": 1}, "json_text", (), id="half-a-pair-as-key"),
        pytest.param({"a": {1: 2}}, "json_key", ("a",), id="number-as-key"),
        pytest.param({"a": datetime.now(UTC)}, "json_type", ("a",), id="time"),
        pytest.param([b"a"], "json_type", (0,), id="bytes"),
        pytest.param([(1, 2)], "json_type", (0,), id="tuple"),
    ],
)
def test_python_values_that_are_no_json_are_refused(
    value: object, kind: str, place: tuple[str | int, ...]
) -> None:
    """The model raises, before anything is sent."""
    with pytest.raises(ValidationError) as caught:
        Holder(value=value)
    assert [(each["type"], each["loc"]) for each in caught.value.errors(include_url=False)] == [
        (kind, ("value", *place))
    ]


def test_words_and_numbers_of_enumerations_are_json() -> None:
    """A text or number of another class is still a text or number."""

    class Color(StrEnum):
        RED = "red"

    class Level(IntEnum):
        HIGH = 3

    assert (
        Holder(value={"c": Color.RED, "l": [Level.HIGH]}).to_json()
        == b'{"value":{"c":"red","l":[3]}}'
    )


def test_nesting_ends_where_readers_end() -> None:
    """The deepest value that is let in can be written and read again inside a message; one level
    more is an error with its place, never a crash.
    """
    deepest = Holder(value=nest_value(MAX_DEPTH))
    outer = Outer(held=[deepest])
    assert Outer.model_validate_json(outer.to_json()) == outer
    assert outer.to_dict() == {"held": [{"value": nest_value(MAX_DEPTH)}]}
    for read in (
        lambda value: Holder(value=value),
        lambda value: Holder.model_validate_json(json.dumps({"value": value})),
    ):
        with pytest.raises(ValidationError) as caught:
            read(nest_value(MAX_DEPTH + 1))
        (error,) = caught.value.errors(include_url=False)
        assert error["type"] == "json_depth"
        assert error["loc"] == ("value", *[0] * MAX_DEPTH)


@pytest.mark.parametrize("levels", [300, 5000, 100_000])
def test_hostile_nesting_is_refused(levels: int) -> None:
    """However deep a value is, reading it ends with a ValidationError."""
    with pytest.raises(ValidationError):
        Holder.model_validate({"metadata": {"a": nest_value(levels)}})
    with pytest.raises(ValidationError):
        Holder.model_validate_json(b'{"value":' + b"[" * levels + b"]" * levels + b"}")


def test_a_value_that_holds_itself_is_refused() -> None:
    """A list in itself is a nesting without end."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValidationError):
        Holder(value=endless)


class Open(OpenModel):
    """An object that keeps what it does not know."""

    progress: float | None = None


def test_unknown_members_are_kept_with_their_nulls() -> None:
    """An open object writes what it does not know as it came."""
    body = b'{"progress":0.5,"model":"arabica","queue":null,"more":{"a":[null]}}'
    assert Open.model_validate_json(body).to_json() == body
    assert Open.model_validate(json.loads(body)).to_json() == body


def test_unknown_members_are_checked() -> None:
    """Unknown members of an open object must be JSON that can be serialized."""
    with pytest.raises(ValidationError) as caught:
        Open.model_validate_json(b'{"more":{"a":1e999}}')
    assert [each["loc"] for each in caught.value.errors()] == [("more", "a")]
