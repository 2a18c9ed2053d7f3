"""Numbers, bytes and points in time: read leniently where nothing is guessed, written in one
way.
"""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from a2a_gen.support.base import (
    Base64,
    Integer,
    Number,
    Timestamp,
    WireModel,
    base64_text,
    timestamp_from_text,
    timestamp_text,
)


class Holder(WireModel):
    """An object with one of each."""

    raw: Base64 | None = None
    at: Timestamp | None = None
    count: Annotated[Integer | None, Field(ge=0)] = None
    share: Number | None = None


def rewrite(body: dict[str, object]) -> object:
    """Read from JSON and from Python, which must give the same, and write."""
    parsed = Holder.model_validate_json(json.dumps(body))
    made = Holder.model_validate(body)
    assert parsed == made
    assert json.loads(parsed.to_json()) == parsed.to_dict()
    return parsed.to_dict()


def find_refused_places(body: str) -> list[tuple[int | str, ...]]:
    """Give the places at which a body is refused, which must be the same from JSON and from
    Python.
    """
    with pytest.raises(ValidationError) as parsed:
        Holder.model_validate_json(body)
    with pytest.raises(ValidationError) as made:
        Holder.model_validate(json.loads(body))
    places = [each["loc"] for each in parsed.value.errors()]
    assert places == [each["loc"] for each in made.value.errors()]
    return places


# --- bytes ----------------------------------------------------------------------------------------


@given(st.binary())
def test_bytes_survive(data: bytes) -> None:
    """Every sequence of bytes is written as standard base64 and read back."""
    text = base64_text(data)
    assert base64.b64decode(text, validate=True) == data
    assert Holder(raw=data).to_json() == b'{"raw":"%s"}' % text.encode()
    assert Holder.model_validate_json(Holder(raw=data).to_json()).raw == data


@given(st.binary(), st.booleans(), st.booleans())
def test_every_form_of_base64_is_read(
    data: bytes,
    is_url_safe: bool,  # noqa: FBT001 - hypothesis gives them
    is_padded: bool,  # noqa: FBT001 - hypothesis gives them
) -> None:
    """Either alphabet, with or without padding, from JSON and from Python."""
    text = (base64.urlsafe_b64encode if is_url_safe else base64.b64encode)(data).decode()
    assert rewrite({"raw": text if is_padded else text.rstrip("=")}) == {"raw": base64_text(data)}


@pytest.mark.parametrize(
    "raw", ["not base64!", "YWJjZ", "Y", "-/8=", "YQ==YQ==", "Y Q==", "YQ\\n==", "=", "é"]
)
def test_invalid_base64_is_refused(raw: str) -> None:
    """Text that no encoder writes is refused, never read as fewer bytes."""
    assert find_refused_places(f'{{"raw": "{raw}"}}') == [("raw",)]


@pytest.mark.parametrize("raw", ["5", "true", "[1]", "{}"])
def test_bytes_are_text_on_the_wire(raw: str) -> None:
    """A value that is not text is refused where bytes are expected."""
    assert find_refused_places(f'{{"raw": {raw}}}') == [("raw",)]


# --- points in time -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        pytest.param("2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000Z", id="seconds"),
        pytest.param("2026-03-01T10:00:00.1Z", "2026-03-01T10:00:00.100Z", id="one-digit"),
        pytest.param("2026-03-01T10:00:00.123Z", "2026-03-01T10:00:00.123Z", id="milliseconds"),
        pytest.param(
            "2026-03-01T10:00:00.123999Z", "2026-03-01T10:00:00.123Z", id="microseconds-are-cut"
        ),
        pytest.param(
            "2026-03-01T10:00:00.123456789Z", "2026-03-01T10:00:00.123Z", id="nanoseconds"
        ),
        pytest.param("2026-03-01T10:00:00,5Z", "2026-03-01T10:00:00.500Z", id="comma"),
        pytest.param("2026-03-01T10:00:00", "2026-03-01T10:00:00.000Z", id="no-offset-is-utc"),
        pytest.param(
            "2026-03-01T10:00:00.25", "2026-03-01T10:00:00.250Z", id="no-offset-with-fraction"
        ),
        pytest.param("2026-03-01T12:30:00+02:30", "2026-03-01T10:00:00.000Z", id="east"),
        pytest.param("2026-03-01T00:00:00-10:00", "2026-03-01T10:00:00.000Z", id="west"),
        pytest.param(
            "2026-03-01T12:00:00+0200", "2026-03-01T10:00:00.000Z", id="offset-without-colon"
        ),
        pytest.param("2026-03-01 10:00:00Z", "2026-03-01T10:00:00.000Z", id="space"),
        pytest.param("2026-03-01t10:00:00z", "2026-03-01T10:00:00.000Z", id="small-letters"),
        pytest.param("2026-03-01T10:00Z", "2026-03-01T10:00:00.000Z", id="minutes"),
        pytest.param("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z", id="first-day"),
        pytest.param("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z", id="last-day"),
    ],
)
def test_points_in_time_are_read_leniently_and_written_in_one_way(text: str, same: str) -> None:
    """Any precision, any offset, none at all: written in UTC with milliseconds."""
    assert rewrite({"at": text}) == {"at": same}
    assert timestamp_from_text(text).tzinfo is UTC


@pytest.mark.parametrize(
    "at",
    [
        *(
            '"tomorrow"',
            '""',
            '"2026-03-01"',
            '"2026-W09-7"',
            '"20260301T100000Z"',
            '"1772359200"',
            "1772359200",
            "1772359200.5",
            "true",
            "[]",
        ),
        *(
            '"2026-02-30T10:00:00Z"',
            '"2026-03-01T24:00:00Z"',
            '"2026-03-01T10:00:60Z"',
            '"2026-03-01T10:00:00+25:00"',
            '"2026-03-01T10:00:00.Z"',
        ),
        *(
            '"0001-01-01T00:00:00+05:00"',
            '"9999-12-31T23:59:59-05:00"',
            '"\\uff12026-03-01T10:00:00Z"',
            '"2026-03-01T10:00:00Z "',
        ),
    ],
)
def test_invalid_timestamps_are_refused(at: str) -> None:
    """Numbers, dates alone, days that do not exist, and moments beyond the calendar are refused, at
    their place.
    """
    assert find_refused_places(f'{{"at": {at}}}') == [("at",)]


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_point_in_time_survives_to_the_millisecond(moment: datetime) -> None:
    """A written timestamp is read back, cut to milliseconds."""
    again = timestamp_from_text(timestamp_text(moment))
    assert again == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_a_point_in_time_of_another_zone_becomes_utc() -> None:
    """A datetime from Python is in UTC once it is in a model, and is UTC if it has no zone."""
    east = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert Holder(at=east).at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert Holder(at=datetime(2026, 3, 1, 10)).to_dict() == {"at": "2026-03-01T10:00:00.000Z"}  # noqa: DTZ001 - that it has none is the point


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "same"),
    [
        pytest.param({"count": 5}, {"count": 5}, id="integer"),
        pytest.param({"count": "5"}, {"count": 5}, id="integer-as-text"),
        pytest.param({"count": 5.0}, {"count": 5}, id="integer-with-a-point"),
        pytest.param({"count": 10**30}, {"count": 10**30}, id="large-integer"),
        pytest.param({"share": 0.25}, {"share": 0.25}, id="number"),
        pytest.param({"share": 1}, {"share": 1.0}, id="number-without-a-point"),
        pytest.param({"share": "0.25"}, {"share": 0.25}, id="number-as-text"),
    ],
)
def test_numbers_are_also_read_from_text(body: dict[str, object], same: dict[str, object]) -> None:
    """A number in quotes is a number, and is written as one."""
    assert rewrite(body) == same


@pytest.mark.parametrize(
    "body",
    [
        *(
            '{"count": true}',
            '{"count": 5.5}',
            '{"count": "five"}',
            '{"count": ""}',
            '{"count": [1]}',
            '{"count": -1}',
            '{"count": "-1"}',
            '{"count": NaN}',
        ),
        *(
            '{"share": true}',
            '{"share": "half"}',
            '{"share": NaN}',
            '{"share": "NaN"}',
            '{"share": "Infinity"}',
            '{"share": 1e999}',
            '{"share": {}}',
        ),
    ],
)
def test_invalid_numbers_are_refused(body: str) -> None:
    """Booleans, words, fractions of an integer, out of range or not finite: one error each."""
    assert len(find_refused_places(body)) == 1


@pytest.mark.parametrize(
    ("member", "number"),
    [("share", math.inf), ("share", math.nan), ("count", 10**4300)],
    ids=["infinity", "nan", "4301-digits"],
)
def test_a_number_that_cannot_be_written_is_not_let_in(member: str, number: float) -> None:
    """A model refuses values that no JSON parser would read."""
    with pytest.raises(ValidationError):
        Holder.model_validate({member: number})


def test_an_integer_keeps_4300_digits() -> None:
    """The largest integer that is read is written with every digit."""
    assert Holder.model_validate_json(Holder(count=10**4300 - 1).to_json()).count == 10**4300 - 1
