"""A stream of what happens to a task, which goes on where it was when the connection breaks.

    ask ──► events ──► terminal event: the end
             │ broken, or silent for too long, or closed in the middle
             ▼
           subscribe from the cursor ──► events …          no cursor: from a snapshot of the task
             │ refused: the task is over
             ▼
           get the task ──► its end, as the last event          so too before giving up

Where the agent numbers its events, nothing is lost and nothing comes twice. Where it does not, the events of the gap are contained in the snapshot
that the stream goes on with.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from hashlib import blake2b
from types import TracebackType
from typing import Protocol, Self, TypeAlias
from weakref import ReferenceType, ref

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.errors import A2AError, UnauthenticatedError, UnavailableError
from a2a_contract.lifecycle import INTERRUPTED, TERMINAL
from a2a_contract.operations import SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import (
    Message,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a_runtime.client.errors import A2AClientError, ConnectError, ConnectionLostError, ResponseTimeoutError, StreamLostError
from a2a_runtime.client.sse import ServerEvent

TaskEvent: TypeAlias = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent

_TERMINAL_STATES = frozenset(map(str, TERMINAL))
_MAX_REMEMBERED_EVENTS = 1000
"""So many events of a connection are known again; an agent that says more before it closes has something to say."""
_INTERRUPTED_STATES = frozenset(map(str, INTERRUPTED))


class _DuplicateFilter:
    """Tells what is said for the first time from what an agent says again on every connection, and would say for ever."""

    def __init__(self) -> None:
        self._previous: set[str | bytes] = set()
        self._current: set[str | bytes] = set()

    def start_connection(self) -> None:
        """Begin with another connection; one on which nothing was said does not count."""
        self._previous, self._current = self._current or self._previous, set()

    def is_new(self, event: TaskEvent, cursor: str | None) -> bool:
        """Note an event, by its number if it has one, and say whether the connection before this one had it too."""
        mark = cursor or blake2b(event.to_json(), digest_size=16).digest()
        if cursor:
            self._current = {cursor}
        elif len(self._current) < _MAX_REMEMBERED_EVENTS:
            self._current.add(mark)
        return mark not in self._previous


class StreamConnection(Protocol):
    """What a stream needs of its client."""

    def stream_events(self, operation: Operation, request: WireModel, cursor: str | None) -> AsyncGenerator[ServerEvent, None]:
        """Ask for a stream and give its frames."""
        ...

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:
        """Read a frame, or raise the error that it tells of."""
        ...

    async def get_task(self, task_id: str) -> Task:
        """Read a task as it is now."""
        ...

    def can_retry(self, operation: Operation, error: Exception) -> bool:
        """Say whether it is safe to ask again after a failure."""
        ...

    async def wait_before_retry(self, failures: int) -> bool:
        """Wait before the next attempt; say whether there is to be one."""
        ...


class TaskStream:
    """What happens to one task: ``async for event in stream``. Leaving the loop frees the connection; entering it again goes on.

    ``task_id``, ``state`` and ``cursor`` (the number of the last event, where the agent numbers them) are as of the last event.
    """

    def __init__(
        self, connection: StreamConnection, operation: Operation, request: WireModel, *, task_id: str | None = None, cursor: str | None = None
    ) -> None:
        self.task_id, self.cursor = task_id, cursor
        self.state: TaskState | None = None
        self.is_over = False
        self._stream_connection, self._operation, self._request = connection, operation, request
        self._has_started = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._iteration: ReferenceType[AsyncGenerator[TaskEvent, None]] | None = None

    def __aiter__(self) -> AsyncIterator[TaskEvent]:
        # Only weakly held: when the loop over it is left, it is gone, and so is its connection.
        iteration = self._iterate()
        self._iteration = ref(iteration)
        return iteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the iteration and free its connection, at once instead of soon after the loop was left."""
        iteration = self._iteration() if self._iteration else None
        if iteration is not None:
            await iteration.aclose()
        await self._idle.wait()  # what was left before is being closed by the event loop

    async def _iterate(self) -> AsyncGenerator[TaskEvent, None]:
        if self.is_over:
            return
        self._idle.clear()
        try:
            async with aclosing(self._follow()) as events:
                async for event in events:
                    yield event
        finally:
            self._idle.set()

    async def _follow(self) -> AsyncGenerator[TaskEvent, None]:
        """Follow one connection after the other."""
        failures, news = 0, _DuplicateFilter()
        while True:
            news.start_connection()
            problem: Exception | None = None
            try:
                async with aclosing(self._follow_connection()) as events:
                    async for event in events:
                        failures = 0 if news.is_new(event, self.cursor) else failures
                        yield event
            except (ConnectionLostError, ResponseTimeoutError, ConnectError, UnavailableError) as error:
                problem = error
            if problem is None and self._has_ended():
                return
            self._has_started = self._has_started or (problem is None and self.task_id is not None)  # it was there, if silent
            failures += 1
            if not self._can_resume(problem) or not await self._stream_connection.wait_before_retry(failures):
                ended = await self._try_fetch_final_task()
                if ended is None:
                    raise self._build_error(problem) from problem
                yield ended
                return

    async def _follow_connection(self) -> AsyncGenerator[TaskEvent, None]:
        """Follow one connection, and find out what became of the task where it cannot be followed any more."""
        operation, request, resuming = self._next_request()
        try:
            async with aclosing(self._stream_connection.stream_events(operation, request, self.cursor if self.task_id else None)) as frames:
                async for frame in frames:
                    event = _unwrap_event(await self._stream_connection.decode_event(operation, frame))
                    self._update_state(event, frame)
                    yield event
                    if self.is_over:
                        return
        except UnauthenticatedError as error:
            if resuming or self.task_id is None:
                raise
            raise ConnectionLostError("The agent takes our proof of who we are no longer") from error  # whoever makes it may make a new one
        except UnavailableError:
            self.cursor = None if resuming else self.cursor  # its log may not reach back so far
            raise
        except A2AError:
            if not resuming:
                raise
            yield await self._fetch_final_task()

    def _next_request(self) -> tuple[Operation, WireModel, bool]:
        """Ask for the stream; once something has come of it, for the rest."""
        if not self._has_started or self.task_id is None:
            return self._operation, self._request, False
        return SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=self.task_id), True

    def _update_state(self, event: TaskEvent, server_event: ServerEvent) -> None:
        self._has_started = True
        self.cursor = server_event.last_event_id or self.cursor
        match event:
            case Message():
                self.is_over = True
            case Task():
                self.task_id, self.state = event.id or self.task_id, event.status.state
            case TaskStatusUpdateEvent():
                self.task_id, self.state = event.task_id or self.task_id, event.status.state
            case TaskArtifactUpdateEvent():
                self.task_id = event.task_id or self.task_id
        self.is_over = self.is_over or str(self.state) in _TERMINAL_STATES

    async def _fetch_final_task(self) -> Task:
        """Read how a task has ended that is no longer streamed."""
        task = await self._stream_connection.get_task(self.task_id or "")
        self.state = task.status.state
        if str(self.state) not in _TERMINAL_STATES | _INTERRUPTED_STATES:
            raise ConnectionLostError("The agent does not let go on with the stream of a running task")
        self.is_over = True
        return task

    async def _try_fetch_final_task(self) -> Task | None:
        """Ask a last time before giving up: some agents break the connection where the task is over."""
        try:
            return await self._fetch_final_task() if self._has_started else None
        except (A2AClientError, A2AError):
            return None

    def _has_ended(self) -> bool:
        """Say whether the agent had a reason to end the stream; in 0.3 that the task needs the client is one."""
        return self.is_over or str(self.state) in _INTERRUPTED_STATES

    def _can_resume(self, error: Exception | None) -> bool:
        """Say whether asking again is safe: to go on with what has begun always is."""
        return self._has_started or (error is not None and self._stream_connection.can_retry(self._operation, error))

    def _build_error(self, error: Exception | None) -> Exception:
        if not self._has_started and error is not None:
            return error
        said = f"The stream broke and could not be taken up again ({error or 'it ended before the task did'})"
        return StreamLostError(said, task_id=self.task_id, cursor=self.cursor)


def _unwrap_event(event: StreamResponse) -> TaskEvent:
    found = event.task or event.message or event.status_update or event.artifact_update
    assert found is not None, "one of them is there"  # noqa: S101 - a fact of the contract
    return found
