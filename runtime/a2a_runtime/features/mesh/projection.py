"""Projection of tasks and events to the mesh dialect.

Consumers read the text of the first part of the first artifact, and nothing else:

    artifact         none before the task has completed, then one called ``result``
    its text         texts joined as they are; other values as JSON, several as a list;
                     ``null`` without any
    history          the message that started the task, as it was sent
    status message   one text

A stream does not report that a task has begun, because consumers read ``working`` as work that goes
on elsewhere:

    the handler returns at once             artifact, completed
    it fails                                failed
    it returns a job, or writes a status    working, then working again whenever the text or the
                                            progress changes, then artifact and completed, or
                                            failed, or canceled
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from a2a_contract.base import JSON_NULL, Encoded, base64_text
from a2a_contract.conversions import json_text
from a2a_contract.dialects import MESH
from a2a_contract.lifecycle import INTERRUPTED, TERMINAL, State
from a2a_contract.operations import CANCEL_TASK
from a2a_contract.service import Event
from a2a_contract.v1_0 import (
    Artifact,
    Message,
    Part,
    Role,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a_runtime.engine.engine import Engine, to_stream_response
from a2a_runtime.engine.handlers.results import RESULT
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.models import LoggedEvent, StoredTask

COMPLETED = TaskState(State.COMPLETED)
FAILED = TaskState(State.FAILED)
WORKING = TaskState(State.WORKING)

PROGRESS = "progress"
"""Member of the metadata of a status: a number from 0 to 1."""


_QUESTION_HINT = (
    "This task waits for an answer, which this dialect cannot carry: answer task {} as A2A 1.0 "
    "or 0.3, or cancel it with {}"
)
_INTERRUPTED = frozenset(map(str, INTERRUPTED))


def describe_status(status: TaskStatus, task_id: str) -> Message | None:
    """Reduce the message of a status to one text; that of a task that waits for its caller says
    what a client of this dialect can do.
    """
    message = None if status.message is None else flatten_message(status.message)
    if str(status.state) not in _INTERRUPTED:
        return message
    hint = Part(text=_QUESTION_HINT.format(task_id, CANCEL_TASK.calls[MESH.name].method))
    if message is None:
        return Message(message_id=f"{task_id}-question", role=Role.AGENT, parts=[hint])
    return message.model_copy(update={"parts": [Part(text=f"{message.parts[0].text} {hint.text}")]})


def project_task(task: Task, history_length: int | None = None) -> Task:
    """Project a task."""
    history = (task.history or [])[:1] if history_length != 0 else []
    return task.model_copy(
        update={
            "status": task.status.model_copy(
                update={"message": describe_status(task.status, task.id)}
            ),
            "artifacts": [build_result(task)] if task.status.state == COMPLETED else None,
            "history": history or None,
        }
    )


def build_result(task: Task) -> Artifact:
    """Build the artifact of a completed task; a handler that has returned a message has no other
    result.
    """
    artifacts = task.artifacts or []
    message = task.status.message
    results = [artifact for artifact in artifacts if artifact.artifact_id == RESULT]
    parts: list[Part] = []
    for artifact in results or artifacts:
        parts += artifact.parts
    if not artifacts and message is not None:
        parts = message.parts
    return Artifact(artifact_id=RESULT, name=RESULT, parts=[Part(text=flatten_parts(parts))])


def flatten_message(message: Message) -> Message | None:
    """Reduce a message to one text; ``None`` for a message without parts."""
    if message.parts:
        return message.model_copy(
            update={"parts": [Part(text=flatten_parts(message.parts))], "metadata": None}
        )
    return None


def flatten_parts(parts: Sequence[Part]) -> str:
    """Convert parts to one text."""
    texts = [part.text for part in parts if part.text is not None]
    if parts and len(texts) == len(parts):
        return "".join(texts)
    values = [_to_value(part) for part in parts]
    return json_text(values if len(values) > 1 else next(iter(values), None))


def _to_value(part: Part) -> object:
    if part.raw is not None:
        return base64_text(part.raw)
    if part.data is not None:
        if part.data is JSON_NULL:
            return None
        return part.data
    if part.text is None:
        return part.url
    return part.text


class EventProjection:
    """Projection of the events of one stream.

    It remembers the last status, so that only changes are sent.
    """

    def __init__(self, task_id: str, context_id: str) -> None:
        self._task_id = task_id
        self._context_id = context_id
        self._is_started = False
        self._last_message: Message | None = None
        self._last_progress: object = None

    def project_start(self, at: datetime | None) -> Iterator[Event[StreamResponse]]:
        """Yield the first ``working``, once."""
        if not self._is_started:
            self._is_started = True
            yield self.build_status(TaskStatus(state=WORKING, timestamp=at))

    def project_status(
        self, status: TaskStatus, metadata: dict[str, object] | None
    ) -> Iterator[Event[StreamResponse]]:
        """Yield a status that differs from the last one; text and progress stay until they are
        replaced.
        """
        message = describe_status(status, self._task_id) or self._last_message
        progress = (metadata or {}).get(PROGRESS, self._last_progress)
        if (message and message.parts, progress) == (
            self._last_message and self._last_message.parts,
            self._last_progress,
        ):
            return
        yield from self.project_start(status.timestamp)
        self._last_message = message
        self._last_progress = progress
        yield self.build_status(
            TaskStatus(state=WORKING, timestamp=status.timestamp, message=message), progress
        )

    def project_end(self, task: Task) -> Iterator[Event[StreamResponse]]:
        """Yield the end of a task, after the artifact of a completed one."""
        state = task.status.state
        message = task.status.message
        at = task.status.timestamp
        if state == COMPLETED:
            update = TaskArtifactUpdateEvent(
                task_id=self._task_id, context_id=self._context_id, artifact=build_result(task)
            )
            yield _to_event(StreamResponse(artifact_update=update))
            message = None
        yield self.build_status(
            TaskStatus(
                state=state,
                timestamp=at,
                message=None if message is None else flatten_message(message),
            )
        )

    def build_status(self, status: TaskStatus, progress: object = None) -> Event[StreamResponse]:
        """Build a status event."""
        metadata = None if progress is None else {PROGRESS: progress}
        update = TaskStatusUpdateEvent(
            task_id=self._task_id, context_id=self._context_id, status=status, metadata=metadata
        )
        return _to_event(StreamResponse(status_update=update))


def _to_event(response: StreamResponse) -> Event[StreamResponse]:
    """Build an event without a number: streams of this dialect cannot be resumed."""
    return Event(0, Encoded.of(response))


async def follow_task(
    engine: Engine, stored: StoredTask, projection: EventProjection
) -> AsyncGenerator[Event[StreamResponse], None]:
    """Yield the projected events of a task up to and with its end, however long the store is
    unavailable.
    """
    cursor = stored.last_seq
    mark = stored.mark
    job_started = engine.runner.job_started(stored.key)
    events = engine.readers.follow(stored, cursor, mark=mark)
    pending = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            if job_started is not None and await _wait_for_job(job_started, pending):
                job_started = None
                for projected in projection.project_start(stored.updated_at):
                    yield projected
            try:
                event = await pending
            except StoreUnavailableError:  # the hub has retried up to its timeout; retry again
                events = engine.readers.follow(stored, cursor, mark=mark)
            else:
                if event is None or event.state in TERMINAL:
                    break
                cursor = event.seq
                mark = event.mark
                update = to_stream_response(
                    event
                ).model.status_update  # artifacts are sent with the end
                for projected in (
                    projection.project_status(update.status, update.metadata)
                    if update is not None
                    else ()
                ):
                    yield projected
            pending = asyncio.ensure_future(anext(events, None))
    finally:
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)
        await events.aclose()
    for projected in projection.project_end((await _load_ended(engine, stored)).task.model):
        yield projected


async def _wait_for_job(
    job_started: asyncio.Future[None], pending: asyncio.Future[LoggedEvent | None]
) -> bool:
    """Wait for the start of a job or for the next event; return whether the job has started."""
    futures: list[asyncio.Future[Any]] = [pending, job_started]
    await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
    return job_started.done()


async def _load_ended(engine: Engine, stored: StoredTask) -> StoredTask:
    """Load a task that has ended as soon as the store is available."""
    while True:
        with suppress(StoreUnavailableError):
            return await engine.load(stored.scope, stored.wire_id)
        await asyncio.sleep(1)
