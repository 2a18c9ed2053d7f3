"""Conversation with an agent about one message: its events to the end, over all questions, with or
without streams.

message ──► events … ──► question ──► on_ask ──► answer ──► events … ──► whole task, or a message
               └ the card has no streaming: send, then poll
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TypedDict

from a2a_contract.errors import A2AError, InvalidParamsError
from a2a_contract.v1_0 import Message, Task, TaskStatusUpdateEvent
from a2a_runtime.base.texts import join_texts
from a2a_runtime.client import A2AClient, A2AClientError, SendOptions, TaskEvent
from a2a_runtime.client.stream import INTERRUPTED_STATES, TERMINAL_STATES
from a2a_runtime.client.typed.errors import InputRequiredError, SkillError
from a2a_runtime.client.typed.results import PendingQuestion, build_answer, parse_question
from a2a_runtime.skills.schema import strip_payload_path

_MIN_POLL_SECONDS = 0.1
_MAX_POLL_SECONDS = 5.0


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
    """Seconds for the whole call, answers included; then the task is canceled and ``DeadlineError``
    raised.
    """
    context_id: str
    """The conversation of the call."""
    options: SendOptions
    """Options of the message."""


class CallConversation:
    """Calls of one client.

    ``streams`` tells whether the agent streams; ``None`` reads that on its card.
    """

    def __init__(
        self, client: A2AClient, call_options: CallOptions, *, streams: bool | None = None
    ) -> None:
        self._client = client
        self._call_options = call_options
        self._streams = streams

    async def run(self, message: Message) -> AsyncGenerator[TaskEvent, None]:
        """Yield events from the first message to the end, over all questions; the last one is the
        whole task, or the message.

        Leaving early cancels the task: by closing, by cancellation, or by an error in a callback.
        Errors of the agent or the connection do not: the task can still be read.
        """
        task: Task | None = None
        is_left = True
        try:
            while True:
                async with aclosing(self._send_and_follow(message)) as events:
                    async for event in events:
                        task = event if isinstance(event, Task) else task
                        yield event
                if task is None or str(task.status.state) in TERMINAL_STATES:
                    return
                message = await self._answer_question(task)
        except (A2AError, A2AClientError, SkillError) as error:
            is_left = False
            if isinstance(error, InvalidParamsError):
                error.fields = strip_payload_path(error.fields)
            raise
        finally:
            if is_left and task is not None and str(task.status.state) not in TERMINAL_STATES:
                with suppress(A2AError, A2AClientError):
                    await asyncio.shield(self._client.cancel(task))

    async def _send_and_follow(self, message: Message) -> AsyncGenerator[TaskEvent, None]:
        """Send one message, and yield events until the task ends or waits for input."""
        options = self._call_options.get("options") or SendOptions()
        if self._streams is None:
            self._streams = bool((await self._client.get_card()).capabilities.streaming)
        if not self._streams:
            answer = await self._client.send(message, options=options)
            yield answer
            async for task in self._poll(answer):
                yield task
            return
        async with self._client.stream(message, options=options) as stream:
            async for event in stream:
                yield event
                if isinstance(event, TaskStatusUpdateEvent):
                    await self._report_progress(event)
        if stream.task_id is not None:
            last = await self._client.get(stream.task_id)
            yield last
            async for task in self._poll(last):
                yield task

    async def _poll(self, task: Task | Message) -> AsyncGenerator[Task, None]:
        """Poll a task that runs without a stream."""
        pause = _MIN_POLL_SECONDS
        while (
            isinstance(task, Task)
            and str(task.status.state) not in TERMINAL_STATES | INTERRUPTED_STATES
        ):
            await asyncio.sleep(pause)
            pause = min(pause * 2, _MAX_POLL_SECONDS)
            task = await self._client.get(task.id)
            yield task

    async def _answer_question(self, task: Task) -> Message:
        question = parse_question(task)
        ask = self._call_options.get("on_ask")
        if ask is None:
            kind = "needs an authorization" if question.is_for_auth else "asks"
            raise InputRequiredError(f"The agent {kind}: {question.text}", task)
        given = ask(question)
        if inspect.isawaitable(given):
            given = await given
        return build_answer(question, given)

    async def _report_progress(self, event: TaskStatusUpdateEvent) -> None:
        on_progress = self._call_options.get("on_progress")
        if on_progress is None or str(event.status.state) in TERMINAL_STATES | INTERRUPTED_STATES:
            return
        fraction = (event.metadata or {}).get("progress")
        known = float(fraction) if isinstance(fraction, int | float) else None
        progress = Progress(known, join_texts(event.status.message))
        if progress.fraction is None and not progress.text:
            return
        result = on_progress(progress)
        if inspect.isawaitable(result):
            await result
