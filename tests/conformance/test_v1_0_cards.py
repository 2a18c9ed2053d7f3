"""A2A 1.0, sections 3.1.11, 4.4, 4.6.1, 8 and 13.3: the card, and the one for known callers."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest
from conformance.agent import ADA, BOB, STRICT
from conformance.agent_client import AgentClient
from integration.outcome_agent import EXTENSION

from a2a_contract.extension_table import EXTENSIONS
from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest

CARD = "/.well-known/agent-card.json"
REQUIRED = {
    "name",
    "description",
    "version",
    "supportedInterfaces",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
}


def card(client: httpx.Client, path: str = "") -> dict[str, Any]:
    """Read the card of 1.0."""
    response = client.get(f"{path}{CARD}", headers={"A2A-Version": "1.0"})
    assert response.status_code == 200
    return response.json()  # type: ignore[no-any-return]  # JSON


@pytest.mark.requirement("1.0", "8.1", "14.3")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_8_1_there_is_a_card(agent_place: httpx.Client) -> None:
    """At the well-known path (8.2, 14.3), without credentials, with every required member."""
    assert set(card(agent_place)) >= REQUIRED
    assert AgentCard.model_validate(card(agent_place)).name == "busy"
    assert agent_place.get(CARD).headers["content-type"] == "application/json"


@pytest.mark.requirement("1.0", "8.2")
def test_v1_0_8_2_every_agent_has_its_own_card(agent_place: httpx.Client) -> None:
    """Each agent of an app has a card below its own path."""
    assert card(agent_place, "/plain")["capabilities"]["streaming"] is False
    assert card(agent_place)["capabilities"]["streaming"] is True


@pytest.mark.requirement("1.0", "5.2", "8.3.1")
def test_v1_0_8_3_1_interfaces_are_declared_as_they_are(agent_place: httpx.Client) -> None:
    """Each with its binding, its version and its address, what is preferred first; that of gRPC is
    a port.
    """
    interfaces = card(agent_place, "/plain")["supportedInterfaces"]
    assert interfaces[0]["protocolVersion"] == "1.0"
    assert {(each["protocolBinding"], each["protocolVersion"]) for each in interfaces} == {
        (binding, version)
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC")
        for version in ("1.0", "0.3")
    }
    for each in interfaces:
        assert re.search(
            r"^127\.0\.0\.1:\d+$" if each["protocolBinding"] == "GRPC" else "/plain$", each["url"]
        )


@pytest.mark.requirement("1.0", "8.3.1")
def test_v1_0_8_3_1_the_first_interface_is_read_by_all(agent_place: httpx.Client) -> None:
    """Also on the card for clients of several versions, which has the members of each."""
    both = agent_place.get(CARD).json()
    assert both["supportedInterfaces"] == card(agent_place)["supportedInterfaces"]
    assert {"url", "preferredTransport", "protocolVersion"} <= set(both)


@pytest.mark.requirement("1.0", "8.6.1")
def test_v1_0_8_6_1_a_card_has_cache_headers(agent_place: httpx.Client) -> None:
    """With max-age, an entity tag and a date; conditional requests get 304."""
    first = agent_place.get(CARD)
    assert "max-age=" in first.headers["cache-control"]
    parsedate_to_datetime(first.headers["last-modified"])
    for said in (
        {"If-None-Match": first.headers["etag"]},
        {"If-Modified-Since": first.headers["last-modified"]},
    ):
        again = agent_place.get(CARD, headers=said)
        assert (again.status_code, again.content) == (304, b"")
    assert agent_place.get(CARD, headers={"If-None-Match": '"other"'}).content == first.content


@pytest.mark.requirement("1.0", "4.4.3")
def test_v1_0_4_4_3_capabilities_are_declared_as_they_are(agent_place: httpx.Client) -> None:
    """Missing capabilities are false or absent."""
    assert card(agent_place)["capabilities"] | {"extensions": []} == {
        "streaming": True,
        "pushNotifications": True,
        "extendedAgentCard": True,
        "extensions": [],
    }
    assert not any(
        card(agent_place, "/plain")["capabilities"].get(name)
        for name in ("streaming", "pushNotifications", "extendedAgentCard")
    )


@pytest.mark.requirement("1.0", "4.5.1")
def test_v1_0_4_5_1_ways_to_prove_oneself_are_declared(agent_place: httpx.Client) -> None:
    """Each scheme as exactly one thing, and the requirement names it."""
    (name, scheme), *_ = card(agent_place)["securitySchemes"].items()
    assert len(scheme) == 1
    assert [list(each["schemes"]) for each in card(agent_place)["securityRequirements"]] == [[name]]


@pytest.mark.requirement("1.0", "4.6.1")
def test_v1_0_4_6_1_extensions_are_declared(agent_place: httpx.Client) -> None:
    """Those that may be named, and those that must; what the runtime does besides is never
    required.
    """
    declared = {
        each["uri"]: each.get("required", False)
        for each in card(agent_place)["capabilities"]["extensions"]
    }
    strict = {
        each["uri"]: each.get("required", False)
        for each in card(agent_place, "/strict")["capabilities"]["extensions"]
    }
    assert {uri: is_required for uri, is_required in declared.items() if uri not in EXTENSIONS} == {
        EXTENSION: False
    }
    assert {uri: is_required for uri, is_required in strict.items() if uri not in EXTENSIONS} == {
        EXTENSION: False,
        STRICT: True,
    }
    assert not any(declared[uri] for uri in EXTENSIONS if uri in declared)


@pytest.mark.requirement("1.0", "3.1.11")
@pytest.mark.usefixtures("everywhere")
def test_v1_0_3_1_11_known_callers_see_more(client: AgentClient) -> None:
    """The extended card has what the public one has, and skills besides."""
    seen = client.call_wire(GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest())
    public = {each["id"] for each in card(client.http)["skills"]}
    assert {each["id"] for each in seen["skills"]} == public | {"secret"}


@pytest.mark.requirement("1.0", "3.1.11", "13.3")
@pytest.mark.requirement("0.3", "7.10b")
def test_v1_0_13_3_the_extended_card_requires_authentication(client: AgentClient) -> None:
    """The extended card requires one of the schemes of the public card."""
    method, url, options = client.build_request(
        GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest()
    )
    headers = {name: value for name, value in options["headers"].items() if name != "Authorization"}
    refused = client.http.request(method, url, **{**options, "headers": headers})
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"].startswith("Bearer")
    assert "secret" not in refused.text


@pytest.mark.requirement("1.0", "13.3")
def test_v1_0_13_3_public_cards_show_no_hidden_skill(agent_place: httpx.Client) -> None:
    """A public card hides the skill from callers with and without a token."""
    for said in ({}, ADA, BOB):
        for path in (CARD, "/.well-known/agent.json"):
            assert '"secret"' not in agent_place.get(path, headers=said).text
