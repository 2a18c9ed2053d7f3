"""What every generated client stands on: a method of a skill is a call here."""

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
from a2a_contract.lifecycle import INTERRUPTED, TERMINAL
from a2a_contract.v1_0 import Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from a2a_runtime.client import A2AClient, A2AClientError, ClientOptions, SendOptions, TaskEvent
from a2a_runtime.skills.contract import SkillContract
from a2a_runtime.skills.schema import SchemaMismatchError, strip_payload_path, wrap_payload
from a2a_runtime.typed_client.errors import InputRequiredError, SkillError
from a2a_runtime.typed_client.results import (
    PendingQuestion,
    build_answer,
    build_error,
    is_result_artifact,
    parse_output,
    parse_parts,
    parse_question,
    with_deadline,
)

I = TypeVar("I")  # noqa: E741 - the input of a skill
O = TypeVar("O")  # noqa: E741 - its output

_SKILL_ID_KEY = "skillId"
_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.1, 5.0
_TERMINAL_STATES = frozenset(map(str, TERMINAL))
_INTERRUPTED_STATES = frozenset(map(str, INTERRUPTED))


@dataclass(frozen=True, slots=True)
class Progress:
    """How it goes: how much is done, from 0 to 1, and what the agent says about it."""

    fraction: float | None
    text: str


class CallOptions(TypedDict, total=False):
    """What may be said with every call."""

    on_progress: Callable[[Progress], Awaitable[None] | None]
    """Hears how it goes."""
    on_ask: Callable[[PendingQuestion], Awaitable[object] | object]
    """Answers what the agent asks: with a model, or with JSON that fits the schema of the question."""
    timeout: float
    """Seconds for the whole call, answers to questions included; then the task is canceled, and ``DeadlineError`` raised."""
    context_id: str
    """The conversation that the call belongs to."""
    options: SendOptions
    """What else goes with the message."""


class SkillClient:
    """Calls the skills of the agent at a URL; the arguments are those of ``A2AClient``, which does the talking."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | str | None = None,
        timeout: float = 300.0,
        options: ClientOptions | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.untyped = A2AClient(url, auth=auth, timeout=timeout, options=options, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self.untyped.aclose()

    async def _call(self, skill: SkillContract[I, O], request: I, call_options: CallOptions) -> O:
        """Call a skill that answers once; when the caller is canceled, so is the task."""
        last: Task | Message | None = None
        async with aclosing(with_deadline(self._run_conversation(skill, request, call_options), call_options.get("timeout"))) as events:
            async for event in events:
                last = event if isinstance(event, Task | Message) else last
        if last is None:
            raise A2AClientError("The agent has ended the stream without an answer")
        return parse_output(skill.output, last)

    async def _stream(self, skill: SkillContract[I, O], request: I, call_options: CallOptions) -> AsyncGenerator[O, None]:
        """Call a skill that answers in chunks; when the iteration is closed, the task is canceled."""
        given = seen = 0  # a handler that begins again begins again with its chunks; what was given is not given twice
        async with aclosing(with_deadline(self._run_conversation(skill, request, call_options), call_options.get("timeout"))) as events:
            async for event in events:
                if isinstance(event, Message):
                    yield parse_parts(skill.output, event.parts, None)
                parts: list[Part] = []
                if isinstance(event, TaskArtifactUpdateEvent) and is_result_artifact(event.artifact):
                    seen, parts = seen if event.append else 0, event.artifact.parts
                elif isinstance(event, Task):
                    seen, parts = 0, _collect_chunks(event)
                for part in parts:
                    seen += 1
                    if seen > given:
                        given = seen
                        yield parse_parts(skill.output, [part], None)
                if isinstance(event, Task) and str(event.status.state) in _TERMINAL_STATES and str(event.status.state) != _COMPLETED:
                    raise build_error(event)

    async def _run_conversation(self, skill: SkillContract[I, O], request: I, call_options: CallOptions) -> AsyncGenerator[TaskEvent, None]:
        """Give what happens from the first message to the end, over all questions; the last event is the whole task, or the one answer.

        Whoever leaves before the end has no more use for the task: by closing, when canceled, or by an error in what hears or answers. An error of
        the agent, or of the way to it, leaves the task alone: it may still be looked at.
        """
        message, task, is_left = _build_message(skill, request, call_options), None, True
        try:
            while True:
                async with aclosing(self._send_and_follow(message, call_options)) as events:
                    async for event in events:
                        task = event if isinstance(event, Task) else task
                        yield event
                if task is None or str(task.status.state) in _TERMINAL_STATES:
                    return
                message = await self._answer_question(task, call_options)
        except (A2AError, A2AClientError, SkillError) as error:
            is_left = False
            if isinstance(error, InvalidParamsError):
                error.fields = strip_payload_path(error.fields)
            raise
        finally:
            if is_left and task is not None and str(task.status.state) not in _TERMINAL_STATES:
                with suppress(A2AError, A2AClientError):
                    await asyncio.shield(self.untyped.cancel(task))

    async def _send_and_follow(self, message: Message, call_options: CallOptions) -> AsyncGenerator[TaskEvent, None]:
        """Send one message, and give what happens until the task ends or waits."""
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
                if str(stream.state) in _INTERRUPTED_STATES or isinstance(event, Message):
                    break
        if stream.task_id is not None:
            last = await self.untyped.get(stream.task_id)
            yield last
            async for task in self._poll(last):
                yield task

    async def _poll(self, task: Task | Message) -> AsyncGenerator[Task, None]:
        """Look again and again at a task that goes on although nobody tells of it."""
        pause = _MIN_POLL_SECONDS
        while isinstance(task, Task) and str(task.status.state) not in _TERMINAL_STATES | _INTERRUPTED_STATES:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _MAX_POLL_SECONDS)
            task = await self.untyped.get(task.id)
            yield task

    async def _answer_question(self, task: Task, call_options: CallOptions) -> Message:
        question, ask = parse_question(task), call_options.get("on_ask")
        if ask is None:
            raise InputRequiredError(f"the agent {'needs an authorization' if question.is_for_auth else 'asks'}: {question.text}", task)
        given = ask(question)
        return build_answer(question, await given if inspect.isawaitable(given) else given)


_COMPLETED = next(str(each) for each in TERMINAL if each.name == "COMPLETED")


def _build_message(skill: SkillContract[Any, Any], request: object, call_options: CallOptions) -> Message:
    try:
        value = skill.input.serialize(request)
    except SchemaMismatchError as error:
        raise InvalidParamsError(f"The input does not fit the schema of {skill.id}", fields=error.fields) from error
    parts = [wrap_payload(value, skill.input.validator)]
    return Message(
        message_id=str(uuid4()), role=Role.USER, context_id=call_options.get("context_id"), parts=parts, metadata={_SKILL_ID_KEY: skill.id}
    )


def _collect_chunks(task: Task) -> list[Part]:
    """Find the chunks that a task holds."""
    return [part for each in task.artifacts or () if is_result_artifact(each) for part in each.parts]


async def _report_progress(event: TaskStatusUpdateEvent, call_options: CallOptions) -> None:
    hear = call_options.get("on_progress")
    if hear is None or str(event.status.state) in _TERMINAL_STATES | _INTERRUPTED_STATES:
        return
    said = event.status.message
    part = (event.metadata or {}).get("progress")
    progress = Progress(float(part) if isinstance(part, int | float) else None, "\n".join(p.text for p in said.parts if p.text) if said else "")
    if progress.fraction is None and not progress.text:
        return
    told = hear(progress)
    if inspect.isawaitable(told):
        await told
