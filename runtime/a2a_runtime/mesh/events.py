"""Following a task to its end, for a stream that tells what is worth telling of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Any

from a2a_contract.base import JSON_NULL, base64_text
from a2a_contract.conversions import json_text
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import Artifact, Message, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent
from a2a_runtime.errors import EventsGoneError, StoreUnavailableError
from a2a_runtime.execution.engine import Engine, to_stream_response
from a2a_runtime.execution.results import RESULT
from a2a_runtime.stores.base import LoggedEvent, StoredTask

# A task as the mesh dialect shows it: consumers read the text of the first part of the first artifact, and nothing else.
#
# artifact         none before the task has completed, then one called ``result``
# its text         texts as they are, one after the other; anything else as JSON, several things as a list; ``null`` when there is nothing
# history          the message that began the task
# status message   one text
#

COMPLETED = TaskState(State.COMPLETED)
FAILED = TaskState(State.FAILED)
WORKING = TaskState(State.WORKING)


def project_task(task: Task, history_length: int | None = None) -> Task:
    """Show a task."""
    said = task.status.message
    history = (task.history or [])[:1] if history_length != 0 else []
    return task.model_copy(
        update={
            "status": task.status.model_copy(update={"message": None if said is None else flatten_message(said)}),
            "artifacts": [build_result(task)] if task.status.state == COMPLETED else None,
            "history": history or None,
        }
    )


def build_result(task: Task) -> Artifact:
    """Make the one artifact of a completed task; a handler that has answered with a message has no other result."""
    artifacts, said = task.artifacts or [], task.status.message
    named = [artifact for artifact in artifacts if artifact.artifact_id == RESULT]
    parts = [part for artifact in named or artifacts for part in artifact.parts]
    if not artifacts and said is not None:
        parts = said.parts
    return Artifact(artifact_id=RESULT, name=RESULT, parts=[Part(text=flatten_parts(parts))])


def flatten_message(message: Message) -> Message | None:
    """Show a message as one text; one that says nothing is not shown."""
    return message.model_copy(update={"parts": [Part(text=flatten_parts(message.parts))], "metadata": None}) if message.parts else None


def flatten_parts(parts: Sequence[Part]) -> str:
    """Write some parts as one text."""
    texts = [part.text for part in parts if part.text is not None]
    if parts and len(texts) == len(parts):
        return "".join(texts)
    values = [_to_value(part) for part in parts]
    return json_text(values if len(values) > 1 else next(iter(values), None))


def _to_value(part: Part) -> object:
    if part.raw is not None:
        return base64_text(part.raw)
    if part.data is not None:
        return None if part.data is JSON_NULL else part.data
    return part.url if part.text is None else part.text


# Which of the things that happen to a task a stream tells, and how it ends. Pure.
#
#     the handler returns at once        artifact, completed
#     it fails                           failed
#     it hands back a job, or says       working, then working again whenever its text or its progress has changed,
#     how it goes                        then artifact and completed, or failed, or canceled
#
# That a task has begun is nothing that a stream tells by itself, since consumers take ``working`` for a sign that the work goes on elsewhere.
#

PROGRESS = "progress"
"""Member of the metadata of a status: how much is done, a number."""


class EventProjection:
    """What a stream has told so far of a task."""

    def __init__(self, task_id: str, context_id: str) -> None:
        self._task_id, self._context_id = task_id, context_id
        self._is_started = False
        self._last_message: Message | None = None
        self._last_progress: object = None

    def project_start(self, at: datetime | None) -> Iterator[StreamResponse]:
        """Tell, once, that the work goes on."""
        if not self._is_started:
            self._is_started = True
            yield self._build_status(TaskStatus(state=WORKING, timestamp=at))

    def project_status(self, status: TaskStatus, metadata: dict[str, object] | None) -> Iterator[StreamResponse]:
        """Tell how it goes, if that is not what was told last; what is not said again still holds."""
        said = self._last_message if status.message is None else flatten_message(status.message)
        progress = (metadata or {}).get(PROGRESS, self._last_progress)
        if (_flatten_optional(said), progress) == (_flatten_optional(self._last_message), self._last_progress):
            return
        yield from self.project_start(status.timestamp)
        self._last_message, self._last_progress = said, progress
        yield self._build_status(TaskStatus(state=WORKING, timestamp=status.timestamp, message=said), progress)

    def project_end(self, task: Task) -> Iterator[StreamResponse]:
        """Tell how the task has ended."""
        status = task.status
        if status.state == COMPLETED:
            yield StreamResponse(
                artifact_update=TaskArtifactUpdateEvent(task_id=self._task_id, context_id=self._context_id, artifact=build_result(task))
            )
        yield self.build_final_status(status.state, status.message if status.state != COMPLETED else None, status.timestamp)

    def build_final_status(self, state: TaskState, message: Message | None, at: datetime | None) -> StreamResponse:
        """Tell the end alone."""
        return self._build_status(TaskStatus(state=state, timestamp=at, message=None if message is None else flatten_message(message)))

    def build_failure(self, message: Message, at: datetime) -> StreamResponse:
        """Tell that there is nothing to follow."""
        return self.build_final_status(FAILED, message, at)

    def _build_status(self, status: TaskStatus, progress: object = None) -> StreamResponse:
        metadata = None if progress is None else {PROGRESS: progress}
        return StreamResponse(
            status_update=TaskStatusUpdateEvent(task_id=self._task_id, context_id=self._context_id, status=status, metadata=metadata)
        )


def _flatten_optional(said: Message | None) -> str | None:
    return None if said is None else flatten_parts(said.parts)


async def follow_task(engine: Engine, stored: StoredTask, projection: EventProjection) -> AsyncGenerator[StreamResponse, None]:
    """Yield what is new about a task, and its end."""
    async with aclosing(_follow_until_job(engine, stored)) as events:
        async for event in events:
            if event is None:
                for each in projection.project_start(stored.updated_at):
                    yield each
            elif event.state not in TERMINAL:
                update = to_stream_response(event).model.status_update
                if update is not None:
                    for each in projection.project_status(update.status, update.metadata):
                        yield each
    for each in projection.project_end((await _load_ended(engine, stored)).task.model):
        yield each


async def _follow_until_job(engine: Engine, stored: StoredTask) -> AsyncGenerator[LoggedEvent | None, None]:
    """Yield the events of a task, and ``None`` at the moment when its handler hands back a job."""
    handed_back = engine.runner.job_started(stored.key)
    async with aclosing(_follow_with_retry(engine, stored)) as events:
        following: asyncio.Future[LoggedEvent | None] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(anext(events, None))
                waiting: list[asyncio.Future[Any]] = [following] if handed_back is None else [following, handed_back]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if handed_back is not None and handed_back.done():
                    handed_back = None
                    yield None
                if following.done():
                    event, following = following.result(), None
                    if event is None:
                        return
                    yield event
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)


async def _follow_with_retry(engine: Engine, stored: StoredTask) -> AsyncGenerator[LoggedEvent, None]:
    """Yield the events of a task however long its store is away, or until the log has forgotten them because the task is over."""
    cursor = stored.last_seq
    with suppress(EventsGoneError):
        while True:
            try:
                async with aclosing(engine.follow_after(stored.key, cursor)) as events:
                    async for event in events:
                        cursor = event.seq
                        yield event
            except StoreUnavailableError:
                continue
            return


async def _load_ended(engine: Engine, stored: StoredTask) -> StoredTask:
    """Read a task that is over, as soon as its store can be read."""
    while True:
        with suppress(StoreUnavailableError):
            return await engine.load(stored.scope, stored.wire_id)
        await asyncio.sleep(1)
