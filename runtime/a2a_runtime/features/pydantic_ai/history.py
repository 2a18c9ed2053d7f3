"""History of a conversation in the state of its context: the last turns of the model, within
limits.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    SystemPromptPart,
    UserPromptPart,
)

from a2a_contract.json_types import is_json_object
from a2a_runtime.skills.context import SkillContext

log = logging.getLogger(__name__)

_STATE_KEY = "pydantic-ai"


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Limits of the conversation that the model sees; older turns are dropped whole."""

    turns: int = 50
    size_bytes: int = 500_000


async def load_history(context: SkillContext, skill_id: str) -> Sequence[ModelMessage]:
    """Load the messages of a conversation with a skill; fail the task if this version of
    pydantic-ai cannot read them.
    """
    saved = _select_histories(await context.untyped.state.load()).get(skill_id, [])
    try:
        return ModelMessagesTypeAdapter.validate_python(saved)
    except ValidationError:
        log.exception("skill %s: the history of a conversation cannot be read", skill_id)
        context.fail("The history of this conversation cannot be read; start a new conversation")


async def save_history(
    context: SkillContext, skill_id: str, messages: Sequence[object], limits: HistoryLimits
) -> None:
    """Save the messages of a conversation, beside the state that others keep."""
    kept = trim_history(ModelMessagesTypeAdapter.validate_python(messages), limits)
    state = await context.untyped.state.load()
    histories = {
        **_select_histories(state),
        skill_id: ModelMessagesTypeAdapter.dump_python(list(kept), mode="json"),
    }
    await context.untyped.state.update({**state, _STATE_KEY: histories})


def _select_histories(state: Mapping[str, object]) -> Mapping[str, Any]:
    saved = state.get(_STATE_KEY)
    if is_json_object(saved):
        return saved
    return {}


def trim_history(messages: Sequence[ModelMessage], limits: HistoryLimits) -> Sequence[ModelMessage]:
    """Keep the last turns within the limits, with the system prompt of the first message."""
    starts = [index for index, each in enumerate(messages) if _has_user_prompt(each)]
    system = []
    if messages:
        system = [part for part in messages[0].parts if isinstance(part, SystemPromptPart)]
    last = starts[-limits.turns :] if limits.turns else []
    for start in last:
        kept = [*messages[start:]]
        first = kept[0]
        if start and system and isinstance(first, ModelRequest):
            kept[0] = ModelRequest(parts=[*system, *first.parts])
        if len(ModelMessagesTypeAdapter.dump_json(kept)) <= limits.size_bytes:
            return kept
    return []


def _has_user_prompt(message: ModelMessage) -> bool:
    return any(isinstance(part, UserPromptPart) for part in message.parts)
