"""A2A 0.3, sections 4 and 5: the card of 0.3, and proving who one is."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from conformance.agent import ADA
from conformance.agent_client import AgentClient
from integration.grpc_overlay import call_unary

from a2a_contract.operations import GET_EXTENDED_AGENT_CARD
from a2a_contract.v0_3 import AgentCard
from a2a_contract.v1_0 import GetExtendedAgentCardRequest

WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
MESSAGE = {
    "kind": "message",
    "messageId": "m-1",
    "role": "user",
    "parts": [{"kind": "text", "text": "hi"}],
}
REQUIRED = {
    "name",
    "description",
    "url",
    "version",
    "protocolVersion",
    "preferredTransport",
    "capabilities",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
}


def card(client: httpx.Client, path: str = "") -> dict[str, Any]:
    """Read the card of 0.3."""
    response = client.get(f"{path}{WELL_KNOWN[0]}", headers={"A2A-Version": "0.3"})
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    return response.json()  # type: ignore[no-any-return]  # JSON


@pytest.mark.requirement("0.3", "5")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_5_there_is_a_card(agent_place: httpx.Client) -> None:
    """With everything that a card must have, also where older clients look."""
    assert set(card(agent_place)) >= REQUIRED
    assert AgentCard.model_validate(card(agent_place)).name == "busy"
    assert agent_place.get(WELL_KNOWN[1]).json() == card(agent_place)
    assert set(agent_place.get(WELL_KNOWN[0]).json()) >= REQUIRED


@pytest.mark.requirement("0.3", "3.4.2", "5.6")
@pytest.mark.usefixtures("socket_only")
def test_v0_3_5_6_1_the_main_address_speaks_the_preferred_transport(
    agent_place: httpx.Client,
) -> None:
    """And every other interface the one that it declares; the main one is among them, and no
    address contradicts itself.
    """
    seen = card(agent_place)
    pairs = {(each["url"], each["transport"]) for each in seen["additionalInterfaces"]}
    assert (seen["url"], seen["preferredTransport"]) in pairs
    assert {transport for _, transport in pairs} == {"JSONRPC", "HTTP+JSON", "GRPC"}
    for url, transport in pairs:
        if transport == "JSONRPC":
            call = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "message/send",
                "params": {"message": MESSAGE},
            }
            assert agent_place.post(url, json=call, headers=ADA).json()["result"]["kind"] == "task"
        elif transport == "GRPC":
            message = {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "hi"}]}
            assert "task" in call_unary(
                url.removeprefix("http://"),
                "/a2a.v1.A2AService/SendMessage",
                {"request": message},
                ADA,
            )
        else:
            assert (
                agent_place.post(
                    f"{url}/v1/message:send", json={"message": MESSAGE}, headers=ADA
                ).status_code
                == 200
            )


@pytest.mark.requirement("0.3", "5.5")
def test_v0_3_5_5_the_card_declares_what_there_is(agent_place: httpx.Client) -> None:
    """Capabilities, schemes, and whether there is an extended card."""
    full = card(agent_place)
    plain = card(agent_place, "/plain")
    assert (full["capabilities"]["streaming"], full["capabilities"]["pushNotifications"]) == (
        True,
        True,
    )
    assert not plain["capabilities"].get("streaming")
    assert (
        full["supportsAuthenticatedExtendedCard"],
        bool(plain.get("supportsAuthenticatedExtendedCard")),
    ) == (True, False)
    assert full["securitySchemes"]["token"] == {"type": "http", "scheme": "Bearer"}
    assert full["security"] == [{"token": []}]


@pytest.mark.requirement("0.3", "4.4")
def test_v0_3_4_4_every_request_is_authenticated(agent_place: httpx.Client) -> None:
    """With 401 and the scheme that is wanted; 403 for who may not."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": MESSAGE}}
    for verb, path, body in (
        ("POST", "/", call),
        ("POST", "/v1/message:send", {"message": MESSAGE}),
        ("GET", "/v1/tasks/t", None),
        ("GET", "/v1/card", None),
    ):
        sent = {} if body is None else {"json": body}
        # httpx takes these options.
        refused = agent_place.request(verb, path, **sent)  # type: ignore[arg-type]
        assert (refused.status_code, refused.headers["www-authenticate"].split()[0]) == (
            401,
            "Bearer",
        )
        assert (
            agent_place.request(
                verb, path, headers={"Authorization": "Bearer eve"}, **sent
            ).status_code
            == 403
        )  # type: ignore[arg-type]  # as above


@pytest.mark.requirement("0.3", "7.10b")
@pytest.mark.usefixtures("everywhere")
def test_v0_3_7_10_known_callers_see_more(client_0_3: AgentClient) -> None:
    """The card of 0.3 with all skills, in the documented form over JSON-RPC and HTTP."""
    seen = client_0_3.call_wire(GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest())
    assert client_0_3.dialect_binding.is_grpc or AgentCard.model_validate(seen)
    public = {each["id"] for each in card(client_0_3.http)["skills"]}
    assert {each["id"] for each in seen["skills"]} == public | {"secret"}


@pytest.mark.requirement("0.3", "8.2")
def test_v0_3_8_2_a_card_that_is_not_there_has_its_own_error(client_0_3: AgentClient) -> None:
    """The error is the same whether the card was declared or not."""
    for path in ("/promised", "/plain"):
        client_0_3.at_path(path).expect_error(
            GET_EXTENDED_AGENT_CARD,
            GetExtendedAgentCardRequest(),
            "ExtendedAgentCardNotConfiguredError",
        )
