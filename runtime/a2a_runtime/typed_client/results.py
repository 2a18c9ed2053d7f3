"""Outputs and questions of a skill call, and its deadline."""

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
T = TypeVar("T")

RESULT_ARTIFACT = "result"
"""Name of the artifact with the result; without one, the last artifact has it."""


def parse_output(schema: TypedSchema[O], answer: Task | Message) -> O:
    """Parse the output of a finished call, or raise its error."""
    if isinstance(answer, Message):
        return parse_parts(schema, answer.parts, None)
    if not is_completed(answer):
        raise build_error(answer)
    return parse_parts(schema, _find_result_parts(answer), answer)


def parse_parts(schema: TypedSchema[O], parts: Sequence[Part], task: Task | None) -> O:
    """Parse an output from its parts."""
    try:
        value, _ = extract_payload(parts, schema.validator, "result")
        return schema.parse(value)
    except SchemaMismatchError as error:
        raise OutputError(f"output: does not match its schema: {error}", task) from error


def is_completed(task: Task) -> bool:
    """Tell whether a task has ended with its result."""
    return str(task.status.state) == str(State.COMPLETED)


def build_error(task: Task) -> Exception:
    """Build the error of a task that ended without a result."""
    state = next((each for each in State if str(each) == str(task.status.state)), None)
    text = join_texts(task.status.message)
    return ERRORS_BY_STATE.get(state.name if state else "", FailedError)(text or f"task: ended as {task.status.state}", task)


def join_texts(message: Message | None) -> str:
    """Join the text parts of a message with newlines."""
    return "\n".join(part.text for part in message.parts if part.text is not None) if message else ""


def is_result_artifact(artifact: Artifact) -> bool:
    """Tell whether an artifact holds chunks of the result."""
    return RESULT_ARTIFACT in (artifact.artifact_id, artifact.name)


def _find_result_parts(task: Task) -> Sequence[Part]:
    artifacts = task.artifacts or []
    found = next((each for each in artifacts if is_result_artifact(each)), artifacts[-1] if artifacts else None)
    if found is not None:
        return found.parts
    return task.status.message.parts if task.status.message else []


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question of the agent: text, JSON details, and the schema of the answer if the agent names one.

    With ``is_for_auth`` the agent waits for an authorization as the text describes it, which may be given elsewhere.
    """

    text: str
    detail: object
    schema: JsonObject | None
    task: Task
    is_for_auth: bool = False


def parse_question(task: Task) -> PendingQuestion:
    """Parse the question of an interrupted task."""
    message = task.status.message
    parts = message.parts if message else []
    detail = next((part.data for part in parts if part.data is not None), None)
    is_for_auth = str(task.status.state) == str(State.AUTH_REQUIRED)
    return PendingQuestion(join_texts(message), detail, get_reply_schema(message), task, is_for_auth)


def build_answer(question: PendingQuestion, value: object) -> Message:
    """Build the message that answers a question, or raise ``InvalidParamsError`` if the value does not match its schema."""
    data = value.model_dump(mode="json", exclude_none=True) if isinstance(value, SkillModel) else value
    validator = None if question.schema is None else SchemaValidator(question.schema)
    if validator is not None:
        try:
            validator.check(data)
        except SchemaMismatchError as error:
            raise InvalidParamsError("answer: does not match the schema of the question", fields=error.fields) from error
    task = question.task
    return Message(message_id=str(uuid4()), role=Role.USER, task_id=task.id, context_id=task.context_id, parts=[wrap_payload(data, validator)])


async def with_deadline(events: AsyncGenerator[T, None], seconds: float | None) -> AsyncGenerator[T, None]:
    """Yield events until a deadline, then raise ``DeadlineError``; time of the caller between events counts, without interruption."""
    end = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            limit = asyncio.timeout_at(end)
            try:
                async with limit:
                    event = await anext(events, None)
            except TimeoutError as error:
                if not limit.expired():  # raised inside, not by this limit
                    raise
                raise DeadlineError(f"call: took longer than {seconds} s; raise its timeout") from error
            if event is None:
                return
            yield event
