"""Questions to the caller of a task, as messages: the status of a suspended task has its question,
and so has the history after the answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.json_types import is_json_array, is_json_object
from a2a_contract.v1_0 import Message, Role
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.texts import join_texts
from a2a_runtime.engine.handlers import results

QUESTION_KEY = "a2a-gen/question"
"""Member of the metadata of a question: its key, and the schema of the answer if there is one."""


def mark_question(message: Message, key: str, schema: JsonObject | None) -> Message:
    """Mark a message of the agent as the question with a key."""
    metadata: dict[str, object] = {"key": key}
    if schema is not None:
        metadata["schema"] = schema
    return message.model_copy(
        update={"metadata": {**(message.metadata or {}), QUESTION_KEY: metadata}}
    )


def is_question(message: Message) -> bool:
    """Return whether a message is a question of the agent."""
    return message.role == Role.AGENT and QUESTION_KEY in (message.metadata or {})


def parse_question_key(question: Message | None) -> str:
    """Read the key of the question of a suspended task."""
    metadata = (question.metadata or {}).get(QUESTION_KEY) if question else None
    if is_json_object(metadata) and isinstance(key := metadata.get("key"), str):
        return key
    raise InvalidParamsError("The task has asked no question")


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of the caller to a question."""

    message: Message

    @property
    def text(self) -> str:
        """The texts of the answer."""
        return join_texts(self.message)

    @property
    def data(self) -> object:
        """The first JSON part of the answer; ``None`` without one."""
        return results.find_data(self.message.parts)


class AuthorizationRequest(NamedTuple):
    """A request for authorization that the application around the agent releases: the question with
    a key, of a task.
    """

    scope: TaskScope
    task_id: str
    key: str

    def to_text(self) -> str:
        """Serialize the request for the application, which keeps it; it is no secret and gives no
        rights by itself.
        """
        return json.dumps([*self.scope, self.task_id, self.key], ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> AuthorizationRequest:
        """Parse the result of ``to_text``, or raise ``ValueError``."""
        try:
            found: object = json.loads(text)
        except ValueError:
            found = None
        if (
            not is_json_array(found)
            or len(found) != len(TaskScope._fields) + 2
            or not all(isinstance(each, str) for each in found)
        ):
            raise ValueError(
                f"authorization {text[:100]!r}: not the text of a request; pass what "
                "ctx.authorization has returned"
            )
        surface, tenant, owner, task_id, key = map(str, found)
        return cls(TaskScope(surface, tenant, owner), task_id, key)
