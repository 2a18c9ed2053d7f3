"""The service: all operations in one object, for all surfaces that share an engine.

Every method takes a canonical request and a call, and raises errors of the contract. A stream raises them before its first event, so whoever renders
it waits for that one before saying that all is well.
"""

from __future__ import annotations

from a2a_contract.base import Encoded
from a2a_contract.dialects import CANONICAL, DIALECTS
from a2a_contract.errors import ExtendedAgentCardNotConfiguredError, UnauthenticatedError, UnsupportedOperationError
from a2a_contract.service import AgentService
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest
from a2a_runtime.cards.builder import declare, signed
from a2a_runtime.service.context import Call
from a2a_runtime.service.messages import Sending
from a2a_runtime.service.tasks import Following, Pushes, Tasks


class Service(Sending, Tasks, Following, Pushes, AgentService[Call]):
    """What an agent can be asked."""

    async def get_extended_agent_card(self, request: GetExtendedAgentCardRequest, call: Call) -> Encoded[AgentCard]:
        """Read the card with the skills that only known callers see."""
        surface = call.surface
        call.scope(request.tenant)
        if not surface.agent.capabilities.extended_agent_card:
            raise UnsupportedOperationError if call.dialect == CANONICAL.name else ExtendedAgentCardNotConfiguredError
        if not any(skill.only_extended for skill in surface.skills.values()):
            raise ExtendedAgentCardNotConfiguredError
        if not call.caller.is_known:
            raise UnauthenticatedError
        card = declare(surface, call.base_url, call.dialect, reader=call.caller)
        return Encoded.of(signed(card, surface, DIALECTS[call.dialect].form_of or call.dialect))
