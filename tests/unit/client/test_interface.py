"""Choice among the interfaces of an agent."""

from __future__ import annotations

import pytest

from a2a_contract.dialects import MESH, V0_3, V1_0, Dialect
from a2a_contract.v1_0 import AgentCapabilities, AgentCard, AgentInterface
from a2a_runtime.client.errors import NoInterfaceError
from a2a_runtime.client.interface import Interface, choose_interfaces, interface_from_pin
from a2a_runtime.client.options import HTTP_JSON, JSONRPC, Pin

NEW_RPC = ("https://a/rpc", "JSONRPC", "1.0")
NEW_HTTP = ("https://a/http", "HTTP+JSON", "1.0")
OLD_RPC = ("https://a/old", "JSONRPC", "0.3.0")
OLD_HTTP = ("https://a/oldhttp", "HTTP+JSON", "0.3")
GRPC = ("https://a/grpc", "GRPC", "1.0")


def card(*interfaces: tuple[str, str, str]) -> AgentCard:
    """Make a card of some interfaces."""
    listed = [
        AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
        for url, binding, version in interfaces
    ]
    return AgentCard(
        name="a",
        description="",
        version="1",
        capabilities=AgentCapabilities(),
        supported_interfaces=listed,
    )


CHOICES: dict[str, tuple[AgentCard, Pin, tuple[str, str]]] = {
    "the agent's first": (card(NEW_RPC, NEW_HTTP), Pin(), ("https://a/rpc", "v1_0")),
    "the agent's first, the other way round": (
        card(NEW_HTTP, NEW_RPC),
        Pin(),
        ("https://a/http", "v1_0"),
    ),
    "the agent's order before the newest version": (
        card(OLD_RPC, NEW_HTTP),
        Pin(),
        ("https://a/old", "v0_3"),
    ),
    "what is not spoken is passed over": (
        card(GRPC, ("https://a/9", "JSONRPC", "9.0"), OLD_RPC),
        Pin(),
        ("https://a/old", "v0_3"),
    ),
    "0.3 over HTTP in the common form": (
        card(OLD_HTTP, OLD_RPC),
        Pin(),
        ("https://a/oldhttp", "v0_3_proto"),
    ),
    "pinned to a transport": (
        card(NEW_RPC, NEW_HTTP),
        Pin(transport=HTTP_JSON),
        ("https://a/http", "v1_0"),
    ),
    "pinned to a dialect": (card(NEW_RPC, OLD_RPC), Pin(dialect="v0_3"), ("https://a/old", "v0_3")),
    "pinned to a form": (
        card(OLD_RPC, OLD_HTTP),
        Pin("v0_3", HTTP_JSON),
        ("https://a/oldhttp", "v0_3"),
    ),
    "small letters": (card(("https://a/rpc", "jsonrpc", "1.0")), Pin(), ("https://a/rpc", "v1_0")),
    "patches do not matter": (
        card(("https://a/rpc", "JSONRPC", "1.0.7")),
        Pin(),
        ("https://a/rpc", "v1_0"),
    ),
    "relative to the card": (card(("/x", "JSONRPC", "1.0")), Pin(), ("https://a/x", "v1_0")),
}


@pytest.mark.parametrize(("card", "pin", "chosen"), CHOICES.values(), ids=CHOICES.keys())
def test_an_interface_is_chosen(card: AgentCard, pin: Pin, chosen: tuple[str, str]) -> None:
    """The first one of the card that the client supports, within what is pinned."""
    interface, *_ = choose_interfaces(card, V1_0, "https://a/card.json", pin)
    assert (interface.url, interface.dialect.name) == chosen


REFUSED: dict[str, tuple[AgentCard, Pin, str]] = {
    "nothing listed": (card(), Pin(), "no interface"),
    "nothing that is spoken": (card(GRPC), Pin(), "1.0 over GRPC"),
    "nothing within the pin": (card(NEW_RPC), Pin(transport=HTTP_JSON), r"pinned to HTTP\+JSON"),
    "out of the safe": (card(("http://a/rpc", "JSONRPC", "1.0")), Pin(), "http://a/rpc"),
    "no address of the web": (card(("ftp://a/rpc", "JSONRPC", "1.0")), Pin(), "ftp://a/rpc"),
    "unknown version on a new card": (
        card(("https://a", "JSONRPC", "")),
        Pin(),
        r"\? over JSONRPC",
    ),
}


@pytest.mark.parametrize(("card", "pin", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_there_may_be_none(card: AgentCard, pin: Pin, why: str) -> None:
    """Then the error lists what the agent offers, and what the client is pinned to."""
    with pytest.raises(NoInterfaceError, match=why):
        choose_interfaces(card, V1_0, "https://a/card.json", pin)


@pytest.mark.parametrize(
    ("dialect", "version"), [(V0_3, "0.2.5"), (V0_3, ""), (MESH, "")], ids=["older", "none", "mesh"]
)
def test_an_old_card_without_a_known_version(dialect: Dialect, version: str) -> None:
    """A card in an older form means its own dialect if it names no known version."""
    assert (
        choose_interfaces(
            card(("https://a", "JSONRPC", version)), dialect, "https://a/card.json", Pin()
        )[0].dialect
        is dialect
    )


def test_an_interface_can_be_known_beforehand() -> None:
    """A pin says what is spoken at an address; without one it is the newest version."""
    assert interface_from_pin("https://a", Pin()) == Interface("https://a", V1_0, JSONRPC)
    assert interface_from_pin("https://a", Pin("v0_3_proto")).transport is HTTP_JSON
    with pytest.raises(NoInterfaceError, match="mesh"):
        interface_from_pin("https://a", Pin("mesh", HTTP_JSON))


def test_the_others_follow_in_the_order_of_the_card() -> None:
    """Each once: the other form of 0.3 is the same interface."""
    found = choose_interfaces(
        card(OLD_HTTP, NEW_RPC, OLD_HTTP, NEW_HTTP), V1_0, "https://a/card.json", Pin()
    )
    assert [each.url for each in found] == ["https://a/oldhttp", "https://a/rpc", "https://a/http"]


def test_an_interface_without_an_address_is_left_out() -> None:
    """Text that is no URL is no interface; the others of the card are used."""
    found = choose_interfaces(
        card(("http://[", "JSONRPC", "1.0"), NEW_RPC), V1_0, "https://a/card.json", Pin()
    )
    assert [each.url for each in found] == [NEW_RPC[0]]
