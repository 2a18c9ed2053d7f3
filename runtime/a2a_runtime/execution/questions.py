"""Questions to the caller of a task, as messages: the status of a suspended task has its question, and so has the history after the answer."""

from __future__ import annotations

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_object
from a2a_contract.v1_0 import Message, Role

QUESTION_KEY = "a2a-gen/question"
"""Member of the metadata of a question: its key, and the schema of the answer if there is one."""


def mark_question(message: Message, key: str, schema: JsonObject | None) -> Message:
    """Mark a message of the agent as the question with a key."""
    metadata: dict[str, object] = {"key": key} if schema is None else {"key": key, "schema": schema}
    return message.model_copy(update={"metadata": {**(message.metadata or {}), QUESTION_KEY: metadata}})


def is_question(message: Message) -> bool:
    """Return whether a message is a question of the agent."""
    return message.role == Role.AGENT and QUESTION_KEY in (message.metadata or {})


def parse_question_key(question: Message | None) -> str:
    """Read the key of the question of a suspended task."""
    metadata = (question.metadata or {}).get(QUESTION_KEY) if question else None
    if is_json_object(metadata) and isinstance(key := metadata.get("key"), str):
        return key
    raise InvalidParamsError("The task has asked no question")
