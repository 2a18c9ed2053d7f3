"""The skill of a message that names none, where there are several. Never just the first one.

the agent's router returns an id     that skill
it returns None, or there is none    the default skill, if the surface has it
otherwise                            refused, with the skills that can be named
"""

from __future__ import annotations

import inspect
import logging

from a2a_contract.errors import InvalidAgentResponseError
from a2a_runtime.agent import SkillDefinition
from a2a_runtime.service.context import CallContext
from a2a_runtime.service.validation import SendCommand, build_selection_error

log = logging.getLogger(__name__)


async def route_message(command: SendCommand, context: CallContext) -> SkillDefinition:
    """Select the skill of a message, or raise ``InvalidParamsError``."""
    skills = {
        name: each
        for name, each in context.surface.skills.items()
        if each.is_visible_to(context.caller)
    }
    chosen = await _call_router(command, context)
    if chosen in skills:
        return skills[chosen]
    if chosen is not None:
        raise build_selection_error(
            context, f"There is no skill {chosen!r}, which the agent selects for this message"
        )
    default = next((each for each in skills.values() if each.is_default), None)
    if default is None:
        raise build_selection_error(context, "Name a skill")
    return default


async def _call_router(command: SendCommand, context: CallContext) -> str | None:
    agent = context.surface.agent
    router = agent.find_router()
    if router is None:
        return None
    chosen = router(command.message, context.caller)
    if inspect.isawaitable(chosen):
        chosen = await chosen
    if chosen is None or (
        isinstance(chosen, str) and (chosen in context.surface.skills or chosen in agent.skills)
    ):
        return chosen
    log.error(
        "router failed: %s has no skill %r; return the id of a skill, or None",
        context.surface,
        chosen,
    )
    raise InvalidAgentResponseError
