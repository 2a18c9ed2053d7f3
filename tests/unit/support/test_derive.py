"""Translations by functions on plain JSON, for changes that no rule expresses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from a2a_gen.support import conversions
from a2a_gen.support.conversions import JsonObject
from a2a_gen.support.scalars import timestamp_text

MOMENTS = {
    "the beginning": (0, datetime(1970, 1, 1, tzinfo=UTC)),
    "before it": (-1, datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
    "a millisecond": (1_762_000_000_123, datetime(2025, 11, 1, 12, 26, 40, 123000, tzinfo=UTC)),
}


@pytest.mark.parametrize(("count", "moment"), MOMENTS.values(), ids=MOMENTS.keys())
def test_milliseconds_are_a_point_in_time(count: int, moment: datetime) -> None:
    """A count of milliseconds since 1970 and a point in time are two ways to say one thing."""
    assert conversions.moment(count) == moment
    assert conversions.milliseconds(timestamp_text(moment)) == count


@pytest.mark.parametrize(
    ("count", "year"), [(10**30, 9999), (-(10**30), 1)], ids=["after", "before"]
)
def test_a_count_beyond_the_calendar_is_its_end(count: int, year: int) -> None:
    """A filter by a time that no calendar has is the widest or the narrowest there is, not an
    error.
    """
    assert conversions.moment(count).year == year


NAMES = {
    "one": ("tasks/1", ("tasks", None), ("1",)),
    "two": (
        "tasks/1/pushNotificationConfigs/2",
        ("tasks", None, "pushNotificationConfigs", None),
        ("1", "2"),
    ),
    "a collection of it": ("tasks/1/pushNotificationConfigs", ("tasks", None), ("1",)),
    "another word": ("jobs/1", ("tasks", None), ("",)),
    "too short": ("tasks", ("tasks", None), ("",)),
    "none": (None, ("tasks", None), ("",)),
}


@pytest.mark.parametrize(("name", "template", "ids"), NAMES.values(), ids=NAMES.keys())
def test_a_name_holds_identifiers(
    name: str | None, template: tuple[str | None, ...], ids: tuple[str, ...]
) -> None:
    """The name of a resource gives its identifiers, and empty ones if it is of another form."""
    assert conversions.resource(name, template) == ids


VALUES = {
    "object": ({"a": 1}, None),
    "object with metadata": ({"a": 1}, {"m": 2}),
    "list": ([1, 2], None),
    "null": (None, None),
    "text with metadata": ("t", {"m": 2}),
    "object with the key": ({"value": 1}, None),
}


@pytest.mark.parametrize(("value", "metadata"), VALUES.values(), ids=VALUES.keys())
def test_a_wrapped_value_is_unwrapped(value: object, metadata: JsonObject | None) -> None:
    """A value that must be an object is wrapped for the wire and unwrapped when it is read."""
    data, marked = conversions.wrap(value, metadata, "value", "mark")
    assert isinstance(data, dict)
    assert conversions.unwrap(data, marked, "value", "mark") == (value, metadata)


def test_objects_pass_unmarked() -> None:
    """An object needs no wrapper, so that peers who know nothing of wrappers see it as it is."""
    assert conversions.wrap({"a": 1}, None, "value", "mark") == ({"a": 1}, None)


INTERFACES = {
    "none": [],
    "one": [{"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "0.3.0"}],
    "two": [
        {"url": "u", "protocolBinding": "GRPC", "protocolVersion": "0.3.0"},
        {"url": "v", "protocolBinding": "JSONRPC", "protocolVersion": "0.3.0"},
    ],
}


@pytest.mark.parametrize("interfaces", INTERFACES.values(), ids=INTERFACES.keys())
def test_addresses_come_back(interfaces: list[JsonObject]) -> None:
    """The addresses of a card come back from its main and further ones, in their order."""
    card = conversions.write_interfaces(interfaces, transport="JSONRPC")
    further = card.get("additionalInterfaces")
    read = conversions.read_interfaces(
        str(card["url"]),
        preferred if isinstance(preferred := card.get("preferredTransport"), str) else None,
        further if isinstance(further, list) else None,
        str(card["protocolVersion"]),
        transport="JSONRPC",
    )
    assert read == interfaces


def test_the_main_interface_is_listed_once() -> None:
    """A main address that is also among the further interfaces is one interface."""
    further: list[JsonObject] = [
        {"url": "v", "transport": "GRPC"},
        {"url": "u", "transport": "JSONRPC"},
    ]
    read = conversions.read_interfaces("u", None, further, "0.3.0", transport="JSONRPC")
    assert [each["url"] for each in read] == ["u", "v"]


def test_schemes_of_the_header_are_words() -> None:
    """A card that knows schemes by words says those of the HTTP header that are enough alone."""
    schemes, requirements = conversions.read_authentication({"schemes": ["bearer"]})
    assert conversions.write_authentication(schemes, requirements) == {
        "authentication": {"schemes": ["bearer"]}
    }
    assert conversions.write_authentication(schemes, None) == {"authentication": {"schemes": []}}
    both: list[JsonObject] = [{"schemes": {"bearer": {}, "key": {}}}]
    assert conversions.write_authentication(schemes, both) == {"authentication": {"schemes": []}}


def test_an_address_is_of_one_transport() -> None:
    """A card with one address has the first that speaks its transport, or none."""
    grpc: JsonObject = {"url": "g", "protocolBinding": "GRPC"}
    assert conversions.write_address(
        [grpc, {"url": "u", "protocolBinding": "JSONRPC"}], transport="JSONRPC"
    ) == {"url": "u"}
    assert conversions.write_address([grpc], transport="JSONRPC") == {}
    assert conversions.read_address(None, transport="JSONRPC") == []


def test_an_entry_is_a_text() -> None:
    """Only a text is found in a free object; anything else is none."""
    values: list[JsonObject | None] = [{"k": "v"}, {"k": 1}, {}, None]
    assert [conversions.entry(each, "k") for each in values] == ["v", None, None, None]


def test_json_text_keeps_letters() -> None:
    """JSON in a text keeps letters of every script."""
    assert conversions.json_text({"a": "ü", "b": [None, 1.5]}) == '{"a": "ü", "b": [null, 1.5]}'


def test_fresh_identifiers_differ() -> None:
    """Two fresh identifiers are never the same."""
    assert conversions.fresh_id() != conversions.fresh_id()
