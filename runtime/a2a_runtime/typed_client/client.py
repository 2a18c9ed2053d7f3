"""Base class of generated clients: calls of skills with typed input and output."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar
from uuid import uuid4

import httpx

from a2a_contract.errors import A2AError, InvalidParamsError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_runtime.client import A2AClient, A2AClientError, ClientOptions, SendOptions, TaskEvent
from a2a_runtime.client.stream import INTERRUPTED_STATES, TERMINAL_STATES
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import SchemaMismatchError, strip_payload_path, wrap_payload
from a2a_runtime.typed_client.errors import InputRequiredError, SkillError
from a2a_runtime.typed_client.results import (
    PendingQuestion,
    build_answer,
    build_error,
    is_result_artifact,
    join_texts,
    parse_output,
    parse_parts,
    parse_question,
    with_deadline,
)

I = TypeVar("I")  # noqa: E741 - the input of a skill
O = TypeVar("O")  # noqa: E741 - its output

_SKILL_ID_KEY = "skillId"
_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a call: a fraction from 0 to 1, and the text of the agent."""

    fraction: float | None
    text: str


class CallOptions(TypedDict, total=False):
    """Keyword options of each call."""

    on_progress: Callable[[Progress], Awaitable[None] | None]
    """Receives the progress."""
    on_ask: Callable[[PendingQuestion], Awaitable[object] | object]
    """Answers a question with a model, or with JSON that matches its schema."""
    timeout: float
    """Seconds for the whole call, answers included; then the task is canceled and ``DeadlineError`` raised."""
    context_id: str
    """The conversation of the call."""
    options: SendOptions
    """Options of the message."""


class SkillClient:
    """Client for the skills of the agent at a URL; the arguments are those of ``A2AClient``, which is at ``untyped``."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | str | None = None,
        timeout: float | None = None,
        options: ClientOptions | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.untyped = A2AClient(url, auth=auth, timeout=timeout, options=options, transport=transport)

    @classmethod
    def over(cls, client: A2AClient) -> Self:
        """Build a typed client over an untyped one, e.g. that of an agent in this process."""
        typed = cls.__new__(cls)
        typed.untyped = client
        return typed

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        await self.untyped.aclose()

    async def _call(self, skill: SkillContract[I, O], request: I, call_options: CallOptions) -> O:
        """Call a skill with one output; canceling the caller cancels the task."""
        return parse_output(skill.output, await self._finish(_build_message(skill, request, call_options), call_options))

    async def _finish(self, message: Message, call_options: CallOptions) -> Task | Message:
        """Send a message and return the whole task at its end, or the message that answers."""
        last: Task | Message | None = None
        async with aclosing(with_deadline(self._run_conversation(message, call_options), call_options.get("timeout"))) as events:
            async for event in events:
                last = event if isinstance(event, Task | Message) else last
        if last is None:
            raise A2AClientError("Stream: ended without a result")
        return last

    async def _stream(self, skill: SkillContract[I, O], request: I, call_options: CallOptions) -> AsyncGenerator[O, None]:
        """Call a streaming skill; closing the iteration cancels the task."""
        given = seen = 0  # a handler that restarts repeats its chunks; each is yielded once
        message = _build_message(skill, request, call_options)
        async with aclosing(with_deadline(self._run_conversation(message, call_options), call_options.get("timeout"))) as events:
            async for event in events:
                if isinstance(event, Message):
                    yield parse_parts(skill.output, event.parts, None)
                parts: list[Part] = []
                if isinstance(event, TaskArtifactUpdateEvent) and is_result_artifact(event.artifact):
                    seen, parts = seen if event.append else 0, event.artifact.parts
                elif isinstance(event, Task):
                    seen, parts = 0, [part for each in event.artifacts or () if is_result_artifact(each) for part in each.parts]
                for part in parts:
                    seen += 1
                    if seen > given:
                        given = seen
                        yield parse_parts(skill.output, [part], None)
                if isinstance(event, Task) and str(event.status.state) in TERMINAL_STATES and str(event.status.state) != str(State.COMPLETED):
                    raise build_error(event)

    async def _run_conversation(self, message: Message, call_options: CallOptions) -> AsyncGenerator[TaskEvent, None]:
        """Yield events from the first message to the end, over all questions; the last one is the whole task, or the message.

        Leaving early cancels the task: by closing, by cancellation, or by an error in a callback. Errors of the agent or the connection do not:
        the task can still be read.
        """
        task: Task | None = None
        is_left = True
        try:
            while True:
                async with aclosing(self._send_and_follow(message, call_options)) as events:
                    async for event in events:
                        task = event if isinstance(event, Task) else task
                        yield event
                if task is None or str(task.status.state) in TERMINAL_STATES:
                    return
                message = await self._answer_question(task, call_options)
        except (A2AError, A2AClientError, SkillError) as error:
            is_left = False
            if isinstance(error, InvalidParamsError):
                error.fields = strip_payload_path(error.fields)
            raise
        finally:
            if is_left and task is not None and str(task.status.state) not in TERMINAL_STATES:
                with suppress(A2AError, A2AClientError):
                    await asyncio.shield(self.untyped.cancel(task))

    async def _send_and_follow(self, message: Message, call_options: CallOptions) -> AsyncGenerator[TaskEvent, None]:
        """Send one message, and yield events until the task ends or waits for input."""
        options = call_options.get("options") or SendOptions()
        if not (await self.untyped.get_card()).capabilities.streaming:
            answer = await self.untyped.send(message, options=options)
            yield answer
            async for task in self._poll(answer):
                yield task
            return
        async with self.untyped.stream(message, options=options) as stream:
            async for event in stream:
                yield event
                if isinstance(event, TaskStatusUpdateEvent):
                    await _report_progress(event, call_options)
        if stream.task_id is not None:
            last = await self.untyped.get(stream.task_id)
            yield last
            async for task in self._poll(last):
                yield task

    async def _poll(self, task: Task | Message) -> AsyncGenerator[Task, None]:
        """Poll a task that runs without a stream."""
        pause = _MIN_POLL_SECONDS
        while isinstance(task, Task) and str(task.status.state) not in TERMINAL_STATES | INTERRUPTED_STATES:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _MAX_POLL_SECONDS)
            task = await self.untyped.get(task.id)
            yield task

    async def _answer_question(self, task: Task, call_options: CallOptions) -> Message:
        question, ask = parse_question(task), call_options.get("on_ask")
        if ask is None:
            raise InputRequiredError(f"The agent {'needs an authorization' if question.is_for_auth else 'asks'}: {question.text}", task)
        given = ask(question)
        return build_answer(question, await given if inspect.isawaitable(given) else given)


def build_skill_metadata(skill_id: str) -> dict[str, object]:
    """Build the metadata of a message that selects a skill."""
    return {_SKILL_ID_KEY: skill_id}


def _build_message(skill: SkillContract[Any, Any], request: object, call_options: CallOptions) -> Message:
    try:
        value = skill.input.serialize(request)
    except SchemaMismatchError as error:
        raise InvalidParamsError(f"input: does not match the schema of {skill.id}", fields=error.fields) from error
    parts = [wrap_payload(value, skill.input.validator)]
    return Message(
        message_id=str(uuid4()), role=Role.USER, context_id=call_options.get("context_id"), parts=parts, metadata=build_skill_metadata(skill.id)
    )


async def _report_progress(event: TaskStatusUpdateEvent, call_options: CallOptions) -> None:
    on_progress = call_options.get("on_progress")
    if on_progress is None or str(event.status.state) in TERMINAL_STATES | INTERRUPTED_STATES:
        return
    fraction = (event.metadata or {}).get("progress")
    progress = Progress(float(fraction) if isinstance(fraction, int | float) else None, join_texts(event.status.message))
    if progress.fraction is None and not progress.text:
        return
    result = on_progress(progress)
    if inspect.isawaitable(result):
        await result
