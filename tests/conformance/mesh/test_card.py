"""The checklist of producers: the agent card."""

from __future__ import annotations

import httpx
import pytest
from conformance.mesh.producer import SCHEMA, agent_of, echo

from a2a_contract.dialects import MESH, V0_3, V1_0
from a2a_contract.mesh import AgentCard
from a2a_runtime.agent import Agent
from a2a_runtime.service.cards.cache import CardCache
from a2a_runtime.surface import Surface

CARD = MESH.card_paths[0]
WHOLE = (CARD, CARD + "/")


@pytest.mark.requirement("mesh", "C1", "C2", "C11", "A5", "D12")
@pytest.mark.parametrize("path", WHOLE, ids=["plain", "with a slash"])
@pytest.mark.parametrize("surface", ["/agents/report", "/agents/guarded", "/agents/mixed"])
def test_a_card_is_public(client: httpx.Client, surface: str, path: str) -> None:
    """The card needs no credentials on any surface and exists with and without a slash at the
    end.
    """
    response = client.get(surface + path)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    card = response.json()
    AgentCard.model_validate(card)
    assert card.keys() >= {
        "name",
        "description",
        "version",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    }
    assert card["capabilities"] == {
        "streaming": True,
        "pushNotifications": False,
        "stateTransitionHistory": False,
    }
    assert len(card["skills"]) == 1
    assert card["skills"][0].keys() >= {
        "id",
        "name",
        "description",
        "tags",
        "inputModes",
        "outputModes",
    }


@pytest.mark.requirement("mesh", "C3", "C4", "C5", "C6", "C7", "D11")
def test_a_card_describes_the_skill(client: httpx.Client) -> None:
    """The skill equals its declaration, and the modes of the card are those of its skill."""
    card = client.get("/agents/report" + CARD).json()
    assert (card["name"], card["description"], card["version"]) == (
        "report-agent",
        "report-agent",
        "2.1.0",
    )
    assert card["url"] == f"{client.base_url}/agents/report".replace("//agents", "/agents")
    skill = card["skills"][0]
    assert (skill["id"], skill["name"], skill["description"]) == (
        "report",
        "Report Generator",
        "Writes reports.",
    )
    assert (skill["tags"], skill["inputModes"], skill["metadata"]) == (
        ["reports", "v1"],
        ["application/json"],
        {"input_schema": SCHEMA},
    )
    assert (card["defaultInputModes"], card["defaultOutputModes"]) == (
        skill["inputModes"],
        skill["outputModes"],
    )
    assert not card.keys() & {"provider", "documentationUrl", "iconUrl", "protocolVersion"}


@pytest.mark.requirement("mesh", "C3", "C7", "D9", "D10")
def test_defaults_of_a_skill() -> None:
    """The name defaults to the id, the description to the name, and tags may be empty."""

    async def bare(_ctx: object) -> None:
        pass

    bare.__doc__ = None
    agent = Agent("bare-agent")
    agent.add("bare", bare)
    card = AgentCard.model_validate_json(
        CardCache(Surface(agent, "/x", frozenset((MESH.name,)))).get(MESH.name, "http://x").body
    )
    skill = card.skills[0]
    assert (skill.name, skill.description, skill.tags, skill.metadata) == ("bare", "bare", [], None)
    assert (card.default_input_modes, card.default_output_modes) == (
        ["application/json"],
        ["application/json"],
    )
    assert (skill.input_modes, skill.output_modes) == (["application/json"], ["application/json"])


@pytest.mark.requirement("mesh", "C10", "D13")
def test_an_address_that_is_not_known_is_left_out() -> None:
    """A card has no empty address: clients fail better without one."""
    card = CardCache(Surface(agent_of("echo", echo), "/x", frozenset((MESH.name,)))).get(
        MESH.name, ""
    )
    assert b'"url"' not in card.body


@pytest.mark.requirement("mesh", "C8", "C9")
@pytest.mark.parametrize(
    ("surface", "schemes"),
    [("/agents/guarded", ["bearer"]), ("/agents/echo", [])],
    ids=["guarded", "open"],
)
def test_a_card_has_the_security_schemes(
    client: httpx.Client, surface: str, schemes: list[str]
) -> None:
    """A guarded surface names its scheme, an open one has an empty list."""
    assert client.get(surface + CARD).json()["authentication"] == {"schemes": schemes}


@pytest.mark.requirement("mesh", "D31")
def test_other_clients_find_no_card_of_theirs(client: httpx.Client) -> None:
    """A surface that speaks nothing else has no card for clients of later versions; one that does
    has both.
    """
    path = V1_0.card_paths[0]
    assert client.get("/agents/echo" + path).status_code == 404
    combined = client.get("/agents/mixed" + path).json()
    assert {"supportedInterfaces", "protocolVersion"} <= combined.keys()
    assert "authentication" not in combined
    assert client.get("/agents/mixed" + CARD).json().keys() >= {"authentication"}
    assert (
        "protocolVersion"
        in client.get("/agents/mixed" + CARD, headers={"A2A-Version": V0_3.version or ""}).json()
    )
