"""The card that only authenticated callers get."""

from __future__ import annotations

import pytest
from integration.service.conftest import Client, Serve

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import TaskContext

pytestmark = pytest.mark.anyio


async def card(client: Client) -> AgentCard:
    """Read the card."""
    return (
        await client.service.get_extended_agent_card(GetExtendedAgentCardRequest(), client.call)
    ).model


@pytest.mark.parametrize(
    ("dialect", "versions"),
    [(V1_0.name, ["1.0", "1.0", "0.3", "0.3"]), (V0_3.name, ["0.3.0", "0.3.0"])],
    ids=["1.0", "0.3"],
)
async def test_authenticated_callers_see_all_skills(
    client: Client, dialect: str, versions: list[str]
) -> None:
    """The extended card has all skills, and the addresses of the caller's version."""
    seen = await card(client.copy_with(dialect=dialect))
    assert "picture" in {skill.id for skill in seen.skills}
    assert [each.protocol_version for each in seen.supported_interfaces] == versions
    assert {each.url for each in seen.supported_interfaces} == {"http://test/all"}


async def test_an_anonymous_caller_is_refused(client: Client) -> None:
    """The extended card requires an authenticated caller."""
    with pytest.raises(UnauthenticatedError):
        await card(client.copy_with(caller=Caller()))


@pytest.mark.parametrize(
    ("declared", "dialect", "error"),
    [
        (False, V1_0.name, UnsupportedOperationError),
        (False, V0_3.name, ExtendedAgentCardNotConfiguredError),
        (True, V1_0.name, ExtendedAgentCardNotConfiguredError),
        (True, V0_3.name, ExtendedAgentCardNotConfiguredError),
    ],
    ids=[
        "not declared, 1.0",
        "not declared, 0.3",
        "nothing more to show, 1.0",
        "nothing more to show, 0.3",
    ],
)
async def test_a_missing_extended_card_is_an_error(
    serve: Serve,
    declared: bool,  # noqa: FBT001 - a table
    dialect: str,
    error: type[A2AError],
) -> None:
    """1.0 distinguishes an undeclared card from a declared one that is missing."""
    agent = Agent("plain", capabilities=Capabilities(extended_agent_card=declared))

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    async with serve(agent) as client:
        with pytest.raises(error):
            await card(client.copy_with(dialect=dialect))
