"""All operations in one object, for all surfaces that share an engine.

Every method takes a canonical request and a call context, and raises errors of the contract. A
stream raises before its first event, so a renderer must wait for that event before it sends a
success.
"""

from __future__ import annotations

from a2a_contract.base import Encoded
from a2a_contract.dialects import CANONICAL, DIALECTS
from a2a_contract.errors import ExtendedAgentCardNotConfiguredError, UnsupportedOperationError
from a2a_contract.service import AgentService
from a2a_contract.v1_0 import AgentCard, GetExtendedAgentCardRequest
from a2a_runtime.auth.gate import ChallengeError, list_challenges
from a2a_runtime.service.cards.builder import build_card, sign_card
from a2a_runtime.service.context import CallContext
from a2a_runtime.service.messages import MessageOperations
from a2a_runtime.service.tasks import PushConfigOperations, SubscriptionOperations, TaskOperations


class Service(
    MessageOperations,
    TaskOperations,
    SubscriptionOperations,
    PushConfigOperations,
    AgentService[CallContext],
):
    """All operations of an agent."""

    async def get_extended_agent_card(
        self, request: GetExtendedAgentCardRequest, context: CallContext
    ) -> Encoded[AgentCard]:
        """Return the card with the skills that only authenticated callers see."""
        surface = context.surface
        context.task_scope(request.tenant)  # raises for the tenant of another caller
        if not surface.agent.capabilities.extended_agent_card:
            if DIALECTS[context.dialect].home == CANONICAL.name:
                raise UnsupportedOperationError
            raise ExtendedAgentCardNotConfiguredError
        if not surface.agent.sources and not any(
            skill.only_extended for skill in surface.skills.values()
        ):
            raise ExtendedAgentCardNotConfiguredError
        if not context.caller.is_authenticated:
            raise ChallengeError(", ".join(list_challenges(surface.security_schemes.values())))
        card = build_card(surface, context.base_url, context.dialect, reader=context.caller)
        return Encoded.of(sign_card(card, surface, DIALECTS[context.dialect].home))
