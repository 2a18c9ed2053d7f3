"""What an agent asks in the midst of a call, and the answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Role, Task
from a2a_runtime.skills.form import Law, WrongValueError
from a2a_runtime.skills.model import SkillModel
from a2a_runtime.skills.reading import carrier
from a2a_runtime.skills.replies import asked_schema


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its words, a piece of JSON to look at, and the schema that the answer has to fit, where the agent says one.

    ``is_for_auth`` when the agent waits for an authorization: what it takes is what the text says, and it may be given elsewhere.
    """

    text: str
    detail: object
    schema: JsonObject | None
    task: Task
    is_for_auth: bool = False


_AUTH = str(State.AUTH_REQUIRED)


def asked(task: Task) -> Asked:
    """Read the question that a task waits with."""
    message = task.status.message
    parts = message.parts if message else []
    text = "\n".join(part.text for part in parts if part.text is not None)
    return Asked(
        text, next((part.data for part in parts if part.data is not None), None), asked_schema(message), task, str(task.status.state) == _AUTH
    )


def answer(question: Asked, value: object) -> Message:
    """Make the message that answers a question, or raise ``InvalidParamsError`` when the value does not fit its schema."""
    data = value.model_dump(mode="json", exclude_none=True) if isinstance(value, SkillModel) else value
    law = None if question.schema is None else Law(question.schema)
    if law is not None:
        try:
            law.check(data)
        except WrongValueError as error:
            raise InvalidParamsError("The answer does not fit the schema of the question", fields=error.fields) from error
    task = question.task
    return Message(message_id=str(uuid4()), role=Role.USER, task_id=task.id, context_id=task.context_id, parts=[carrier(data, law)])
