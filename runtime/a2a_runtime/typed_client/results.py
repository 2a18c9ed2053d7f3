"""The output of a skill, as it is found in tasks, messages and events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar
from uuid import uuid4

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role, Task
from a2a_runtime.skills.handlers import get_reply_schema
from a2a_runtime.skills.model import SkillModel
from a2a_runtime.skills.schema import SchemaMismatchError, SchemaValidator, TypedSchema, extract_payload, wrap_payload
from a2a_runtime.typed_client.errors import ERRORS_BY_STATE, DeadlineError, FailedError, OutputError

O = TypeVar("O")  # noqa: E741 - the output of a skill

RESULT_ARTIFACT = "result"
"""The artifact that a result stands in; agents that call it otherwise have the result in the last one."""


def parse_output(schema: TypedSchema[O], answer: Task | Message) -> O:
    """Read the output of a call that is over, or raise how it ended."""
    if isinstance(answer, Message):
        return parse_parts(schema, answer.parts, None)
    if str(answer.status.state) != str(State.COMPLETED):
        raise build_error(answer)
    return parse_parts(schema, _find_result_parts(answer), answer)


def parse_parts(schema: TypedSchema[O], parts: Sequence[Part], task: Task | None) -> O:
    """Read an output from its parts."""
    try:
        value, _ = extract_payload(parts, schema.validator, "result")
        return schema.parse(value)
    except SchemaMismatchError as error:
        raise OutputError(f"the output does not fit its schema: {error}", task) from error


def build_error(task: Task) -> Exception:
    """Make the error that says how a task ended."""
    state = next((each for each in State if str(each) == str(task.status.state)), None)
    message = task.status.message
    text = "\n".join(part.text for part in message.parts if part.text is not None) if message else ""
    return ERRORS_BY_STATE.get(state.name if state else "", FailedError)(text or f"the task has ended as {task.status.state}", task)


def is_result_artifact(artifact: Artifact) -> bool:
    """Whether an artifact holds chunks of the result."""
    return RESULT_ARTIFACT in (artifact.artifact_id, artifact.name)


def _find_result_parts(task: Task) -> Sequence[Part]:
    artifacts = task.artifacts or []
    found = next((each for each in artifacts if is_result_artifact(each)), artifacts[-1] if artifacts else None)
    if found is not None:
        return found.parts
    return task.status.message.parts if task.status.message else []


# What an agent asks in the midst of a call, and the answer to it.


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question: its words, a piece of JSON to look at, and the schema that the answer has to fit, where the agent says one.

    ``is_for_auth`` when the agent waits for an authorization: what it takes is what the text says, and it may be given elsewhere.
    """

    text: str
    detail: object
    schema: JsonObject | None
    task: Task
    is_for_auth: bool = False


_AUTH_REQUIRED = str(State.AUTH_REQUIRED)


def parse_question(task: Task) -> PendingQuestion:
    """Read the question that a task waits with."""
    message = task.status.message
    parts = message.parts if message else []
    text = "\n".join(part.text for part in parts if part.text is not None)
    return PendingQuestion(
        text,
        next((part.data for part in parts if part.data is not None), None),
        get_reply_schema(message),
        task,
        str(task.status.state) == _AUTH_REQUIRED,
    )


def build_answer(question: PendingQuestion, value: object) -> Message:
    """Make the message that answers a question, or raise ``InvalidParamsError`` when the value does not fit its schema."""
    data = value.model_dump(mode="json", exclude_none=True) if isinstance(value, SkillModel) else value
    law = None if question.schema is None else SchemaValidator(question.schema)
    if law is not None:
        try:
            law.check(data)
        except SchemaMismatchError as error:
            raise InvalidParamsError("The answer does not fit the schema of the question", fields=error.fields) from error
    task = question.task
    return Message(message_id=str(uuid4()), role=Role.USER, task_id=task.id, context_id=task.context_id, parts=[wrap_payload(data, law)])


# How long a call may take as a whole, over all of its messages and questions.

T = TypeVar("T")


async def with_deadline(events: AsyncGenerator[T, None], seconds: float | None) -> AsyncGenerator[T, None]:
    """Give what comes until time is up, and then ``DeadlineError``; what the caller does in between counts and is not interrupted."""
    end = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            limit = asyncio.timeout_at(end)
            try:
                async with limit:
                    event = await anext(events, None)
            except TimeoutError as error:
                if not limit.expired():  # it is that of somebody within
                    raise
                raise DeadlineError(f"the call has taken longer than {seconds} s") from error
            if event is None:
                return
            yield event
