"""Outputs and questions of a skill call, and its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import uuid4

from a2a_contract.base import JsonObject
from a2a_contract.errors import InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a_runtime.base.texts import join_texts
from a2a_runtime.client.stream import TERMINAL_STATES
from a2a_runtime.client.typed.errors import ERRORS_BY_STATE, DeadlineError, FailedError, OutputError
from a2a_runtime.skills.handlers import get_reply_schema
from a2a_runtime.skills.model import SkillModel
from a2a_runtime.skills.schema import (
    SchemaMismatchError,
    SchemaValidator,
    TypedSchema,
    extract_payload,
    wrap_payload,
)

O = TypeVar("O")  # noqa: E741 - the output of a skill
T = TypeVar("T")

RESULT_ARTIFACT = "result"
"""Name of the artifact with the result; without one, the last artifact has it."""


def parse_output(schema: TypedSchema[O], answer: Task | Message) -> O:
    """Parse the output of a finished call, or raise its error."""
    if isinstance(answer, Message):
        return parse_content(schema, answer, None)
    if not is_completed(answer):
        raise build_error(answer)
    return parse_content(schema, find_result(answer), answer)


def parse_content(
    schema: TypedSchema[O], content: Message | Artifact | None, task: Task | None
) -> O:
    """Parse an output from the message or the artifact that holds it."""
    parts = content.parts if content else ()
    return _parse_parts(schema, parts, task, are_chunks=isinstance(content, Artifact))


def _parse_parts(
    schema: TypedSchema[O], parts: Sequence[Part], task: Task | None, *, are_chunks: bool
) -> O:
    try:
        value, _ = extract_payload(parts, schema.validator, "result", are_chunks=are_chunks)
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
    name = state.name if state else ""
    error_type = ERRORS_BY_STATE.get(name, FailedError)
    return error_type(text or f"task: ended as {task.status.state}", task)


def is_result_artifact(artifact: Artifact) -> bool:
    """Tell whether an artifact holds chunks of the result."""
    return RESULT_ARTIFACT in (artifact.artifact_id, artifact.name)


def find_result(task: Task) -> Artifact | Message | None:
    """Find what holds the result of a completed task: an artifact, else the message of its
    status.
    """
    artifacts = task.artifacts or []
    for artifact in artifacts:
        if is_result_artifact(artifact):
            return artifact
    if artifacts:
        return artifacts[-1]
    return task.status.message


class StreamedOutput(Generic[O]):
    """Chunks of a streamed output.

    A handler that restarts repeats its chunks; each is given once.
    """

    def __init__(self, schema: TypedSchema[O]) -> None:
        self._schema = schema
        self._given = self._seen = 0

    def read(
        self, event: Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
    ) -> Iterator[O]:
        """Parse the new chunks of an event; raise the error of a task that ended without a
        result.
        """
        if isinstance(event, Message):
            yield parse_content(self._schema, event, None)
        elif isinstance(event, TaskArtifactUpdateEvent):
            if is_result_artifact(event.artifact):
                self._seen = self._seen if event.append else 0
                yield from self._parse_new(event.artifact.parts)
        elif isinstance(event, Task):
            self._seen = 0
            parts: list[Part] = []
            for each in event.artifacts or ():
                if is_result_artifact(each):
                    parts += each.parts
            yield from self._parse_new(parts)
            yield from self._parse_end(event)

    def _parse_new(self, parts: Sequence[Part]) -> Iterator[O]:
        is_text = self._schema.validator.is_text
        for part in parts:
            self._seen += 1
            if self._seen <= self._given:
                continue
            self._given = self._seen
            is_file = part.text is None and part.data is None
            # a skill of plain text may yield files between its texts
            if not (is_text and is_file):
                yield _parse_parts(self._schema, [part], None, are_chunks=True)

    def _parse_end(self, task: Task) -> Iterator[O]:
        if str(task.status.state) not in TERMINAL_STATES:
            return
        if not is_completed(task):
            raise build_error(task)
        if not self._given and task.artifacts and self._schema.validator.is_text:
            # a skill of plain text may yield artifacts of any name
            yield parse_output(self._schema, task)


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question of the agent: text, JSON details, and the schema of the answer if the agent names
    one.

    With ``is_for_auth`` the agent waits for an authorization as the text describes it, which may be
    given elsewhere.
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
    return PendingQuestion(
        join_texts(message), detail, get_reply_schema(message), task, is_for_auth
    )


def build_validator(question: PendingQuestion) -> SchemaValidator | None:
    """Build the validator of the answer to a question, or raise ``OutputError`` if the agent's
    schema cannot be used.
    """
    if question.schema is None:
        return None
    try:
        return SchemaValidator(question.schema)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        text = (
            f"question: its schema cannot be used ({reason}); report it to the operator of the "
            "agent"
        )
        raise OutputError(text, question.task) from error


def build_answer(question: PendingQuestion, value: object) -> Message:
    """Build the message that answers a question, or raise ``InvalidParamsError`` if the value does
    not match its schema.
    """
    data = value
    if isinstance(value, SkillModel):
        data = value.model_dump(mode="json", exclude_none=True)
    validator = build_validator(question)
    if validator is not None:
        try:
            validator.check(data)
        except SchemaMismatchError as error:
            raise InvalidParamsError(
                "answer: does not match the schema of the question", fields=error.fields
            ) from error
    task = question.task
    return Message(
        message_id=str(uuid4()),
        role=Role.USER,
        task_id=task.id,
        context_id=task.context_id,
        parts=[wrap_payload(data, validator)],
    )


async def with_deadline(
    events: AsyncGenerator[T, None], seconds: float | None
) -> AsyncGenerator[T, None]:
    """Yield events until a deadline, then raise ``DeadlineError``; time of the caller between
    events counts, without interruption.
    """
    end = None if seconds is None else asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            limit = asyncio.timeout_at(end)
            try:
                async with limit:
                    event = await anext(events, None)
            except TimeoutError as error:
                # the error was raised inside, not by this limit
                if not limit.expired():
                    raise
                raise DeadlineError(
                    f"call: took longer than {seconds} s; raise its timeout"
                ) from error
            if event is None:
                return
            yield event
