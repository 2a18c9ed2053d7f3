"""Event stream of one task that resumes after a broken connection.

    send ──► events ──► terminal event, or a question: end
              │ connection lost, idle for too long, or closed early
              ▼
            subscribe from the cursor ──► events …    without a cursor: from a snapshot of the task
              │ rejected: the task has ended
              ▼
            get the task ──► its final state, as the last event         also before giving up

An agent that numbers the changes of a task cannot lose events unnoticed: after a gap the task is
read, and repeated events are left out. Without streams, such an agent is asked for the task again
and again, and answers when it has changed.

If the card declares resumption, no event is lost or duplicated. Otherwise the snapshot that the
stream resumes with contains the missed events.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from hashlib import blake2b
from types import TracebackType
from typing import Self, TypeAlias
from weakref import ReferenceType, ref

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.errors import A2AError, UnauthenticatedError, UnavailableError
from a2a_contract.lifecycle import INTERRUPTED, TERMINAL
from a2a_contract.operations import (
    CANCEL_TASK,
    GET_TASK,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    Message,
    SendMessageConfiguration,
    SendMessageRequest,
    SendMessageResponse,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a_runtime.base.origin import current_origin
from a2a_runtime.client.calls import ClientConnection
from a2a_runtime.client.errors import (
    A2AClientError,
    ConnectError,
    ConnectionLostError,
    ResponseTimeoutError,
    StreamLostError,
    UnexpectedStatusError,
)
from a2a_runtime.client.generations import POLL_SECONDS, Arrival, GenerationTracker, build_long_poll
from a2a_runtime.client.sse import ServerEvent
from a2a_runtime.client.task_ids import check_task_id
from a2a_runtime.client.transport import Outage, RetrySafety, is_retryable_status

TaskEvent: TypeAlias = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent

TERMINAL_STATES = frozenset(map(str, TERMINAL))
INTERRUPTED_STATES = frozenset(map(str, INTERRUPTED))
_FIRST_EVENT_SECONDS = 1.0
_CANCEL_SECONDS = 2.0
"""Together below the time that a canceled handler has."""
_FAILURES_UNTIL_READ = 3
_MAX_REMEMBERED_EVENTS = 1000
"""An agent that sends more events before it closes the connection makes progress."""


class _ResumptionRefusedError(ConnectionLostError):
    """The agent is there, but does not resume the stream: of a running task, or with these
    credentials.
    """


class TaskStream:
    """Events of one task: ``async for event in stream``.

    Leaving the loop releases the connection; entering it again resumes.

    ``task_id``, ``state`` and ``cursor`` (the number of the last event, if the agent numbers them)
    are those of the last event.
    """

    def __init__(
        self,
        connection: ClientConnection,
        operation: Operation,
        request: WireModel,
        *,
        task_id: str | None = None,
        cursor: str | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        self.task_id = task_id
        self.cursor = cursor
        self._given_cursor = cursor
        self.state: TaskState | None = None
        self._generations = GenerationTracker()
        self.is_over = False
        self._connection = connection
        self._operation = operation
        self._request = request
        self._idempotency_key = idempotency_key
        self._has_started = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._iteration: ReferenceType[AsyncGenerator[TaskEvent, None]] | None = None

    @property
    def generation(self) -> int:
        """The generation of the task after the last event; 0 if the agent does not number
        changes.
        """
        return self._generations.last

    def __aiter__(self) -> AsyncIterator[TaskEvent]:
        # A weak reference: the iteration and its connection go away with the loop over it.
        iteration = self._iterate()
        self._iteration = ref(iteration)
        return iteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the iteration and release its connection now rather than soon after the loop."""
        iteration = self._iteration() if self._iteration else None
        if iteration is not None:
            await iteration.aclose()
        # the event loop may still be closing an iteration that was left before
        await self._idle.wait()

    async def _iterate(self) -> AsyncGenerator[TaskEvent, None]:
        if self.is_over:
            return
        self._idle.clear()
        try:
            async with aclosing(self._follow()) as events:
                async for event in events:
                    yield event
        except asyncio.CancelledError:
            await self._cancel_task()
            raise
        finally:
            self._idle.set()

    async def _cancel_task(self) -> None:
        """Cancel the task of a handler's call, as the handler that reads it is canceled; a task
        that it did not begin goes on.
        """
        if (
            current_origin.get() is None
            or self._operation is not SEND_STREAMING_MESSAGE
            or self.task_id is None
            or self.is_over
        ):
            return
        with suppress(A2AError, A2AClientError, TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                await self._connection.call(
                    CANCEL_TASK, CancelTaskRequest(id=check_task_id(self.task_id)), Task
                )

    async def _keep_first(
        self, events: AsyncGenerator[ServerEvent, None]
    ) -> AsyncIterator[ServerEvent]:
        """Yield events.

        If a handler is canceled before the first one, which names its task, that one is awaited:
        the task exists by then.
        """
        if (
            current_origin.get() is not None
            and self._operation is SEND_STREAMING_MESSAGE
            and self.task_id is None
        ):
            reading = asyncio.ensure_future(_read_next(events))
            try:
                await asyncio.shield(reading)
            except asyncio.CancelledError:
                await self._await_task_id(reading)
                raise
            if (first := reading.result()) is None:
                return
            yield first
        async for event in events:
            yield event

    async def _await_task_id(self, reading: asyncio.Future[ServerEvent | None]) -> None:
        """Wait a moment for the first event, and read from it which task is to be canceled."""
        try:
            await asyncio.wait({reading}, timeout=_FIRST_EVENT_SECONDS)
            if (
                reading.done()
                and not reading.cancelled()
                and reading.exception() is None
                and (event := reading.result()) is not None
            ):
                with suppress(A2AError, A2AClientError):
                    await self._decode(self._operation, event)
        finally:
            reading.cancel()
            # the connection can be closed only when nothing reads from it
            while not reading.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({reading})

    async def _decode(self, operation: Operation, server_event: ServerEvent) -> TaskEvent | None:
        """Decode an event, and note what it says of the task; where events are missing the task is
        read. ``None`` for a repeated event.
        """
        response = await self._connection.decode_event(operation, server_event)
        event = (
            response.task or response.message or response.status_update or response.artifact_update
        )
        # asserted for the types: a fact of the contract
        assert event is not None, "the contract allows no empty event"  # noqa: S101
        arrival = self._generations.classify(event)
        if arrival is Arrival.AFTER_GAP:
            event = await self._connection.get_task(self.task_id or "")
            self._generations.classify(event)
        self._update_state(event, server_event.last_event_id)
        if arrival is Arrival.REPEATED:
            return None
        return event

    async def _follow(self) -> AsyncGenerator[TaskEvent, None]:
        """Follow the task over any number of connections."""
        outage = Outage()
        duplicates = _DuplicateFilter()
        began_at = self._connection.monotonic()
        while True:
            duplicates.start_connection()
            problem: Exception | None = None
            try:
                async with aclosing(self._follow_connection()) as events:
                    async for event in events:
                        outage = Outage() if duplicates.is_new(event, self.cursor) else outage
                        yield event
            except (
                ConnectionLostError,
                ResponseTimeoutError,
                ConnectError,
                UnavailableError,
            ) as error:
                problem = error
            except UnexpectedStatusError as error:
                if not self._has_started or not is_retryable_status(RetrySafety.READ, error.status):
                    raise
                # the response may come from a proxy in front of an agent that restarts
                problem = error
            # 0.3 ends a subscription too when the task waits
            if problem is None and (self.is_over or str(self.state) in INTERRUPTED_STATES):
                return
            # without a problem the task exists, though it has no events
            self._has_started = self._has_started or (problem is None and self.task_id is not None)
            is_refusal = problem is None or isinstance(problem, _ResumptionRefusedError)
            lost_at = outage.lost_at if outage.failures else self._connection.monotonic()
            outage = Outage(lost_at, outage.failures + 1, outage.refusals + is_refusal)
            # Some agents break each connection to a task that has ended.
            final = (
                await self._try_fetch_final_task()
                if outage.failures == _FAILURES_UNTIL_READ
                else None
            )
            if final is None and not await self._wait(outage, problem, began_at):
                final = await self._try_fetch_final_task()
                if final is None:
                    raise self._build_error(problem) from problem
            if final is not None:
                yield final
                return

    async def _wait(self, outage: Outage, problem: Exception | None, began_at: float) -> bool:
        """Wait before the next connection; ``False`` if there is none.

        Resuming is always safe; repeating the first request is not.
        """
        if self._has_started:
            return await self._connection.wait_before_resuming(outage)
        if problem is None or not self._connection.can_retry(
            self._operation, problem, self._idempotency_key
        ):
            return False
        return await self._connection.wait_before_retry(outage.failures, began_at)

    async def _follow_connection(self) -> AsyncGenerator[TaskEvent, None]:
        """Follow one connection; read the final task if the agent no longer streams it."""
        is_resuming = self._has_started and self.task_id is not None
        try:
            reading = self._poll if await self._connection.needs_polls() else self._read_stream
            async with aclosing(reading(is_resuming=is_resuming)) as events:
                async for event in events:
                    yield event
        except UnauthenticatedError as error:
            if is_resuming or self.task_id is None:
                raise
            # an httpx.Auth may renew them
            raise _ResumptionRefusedError(
                "Stream: the agent no longer accepts the credentials"
            ) from error
        except UnavailableError:
            # the agent's event log may no longer reach back to the cursor
            self.cursor = None if is_resuming else self.cursor
            raise
        except A2AError:
            if not is_resuming:
                raise
            yield await self._fetch_final_task()

    async def _read_stream(self, *, is_resuming: bool) -> AsyncGenerator[TaskEvent, None]:
        """Read the events of one connection."""
        operation = self._operation
        request = self._request
        key = self._idempotency_key
        if is_resuming:
            operation = SUBSCRIBE_TO_TASK
            request = SubscribeToTaskRequest(id=check_task_id(self.task_id or ""))
            key = None
        is_known = self.cursor == self._given_cursor or self._connection.can_continue()
        cursor = self.cursor if self.task_id and is_known else None
        async with aclosing(
            self._connection.stream_events(operation, request, cursor, key)
        ) as server_events:
            async for server_event in self._keep_first(server_events):
                event = await self._decode(operation, server_event)
                if event is None:
                    continue
                yield event
                # a subscription begins with the task as it was, perhaps before the message
                if self.is_over or (
                    self._is_question(event) and (is_resuming or not isinstance(event, Task))
                ):
                    return

    async def _poll(self, *, is_resuming: bool) -> AsyncGenerator[TaskEvent, None]:
        """Follow the task at an agent without streams: reads that wait for its next change."""
        event: TaskEvent | None = None
        if not is_resuming and isinstance(self._request, SendMessageRequest):
            configuration = (self._request.configuration or SendMessageConfiguration()).model_copy(
                update={"return_immediately": True}
            )
            request = self._request.model_copy(update={"configuration": configuration})
            response = await self._connection.call(
                SEND_MESSAGE, request, SendMessageResponse, self._idempotency_key
            )
            event = response.task or response.message
        while True:
            known = self.generation
            is_message = isinstance(self._request, SendMessageRequest)
            if event is None:
                with suppress(
                    ResponseTimeoutError
                ):  # nothing has changed for as long as this client waits
                    event = await self._connection.call(
                        GET_TASK, build_long_poll(self.task_id or "", known), Task
                    )
            if event is not None:
                self._generations.classify(event)
                if not known or self.generation != known:
                    self._update_state(event, None)
                    yield event
                if self.is_over or (is_message and str(self.state) in INTERRUPTED_STATES):
                    return
                if not self.generation:
                    await asyncio.sleep(POLL_SECONDS)
            event = None

    def _update_state(self, event: TaskEvent, cursor: str | None) -> None:
        self._has_started = True
        self.cursor = cursor or self.cursor
        match event:
            case Message():
                self.is_over = True
            case Task():
                self.task_id = event.id or self.task_id
                self.state = event.status.state
            case TaskStatusUpdateEvent():
                self.task_id = event.task_id or self.task_id
                self.state = event.status.state
            case TaskArtifactUpdateEvent():
                self.task_id = event.task_id or self.task_id
        self.is_over = self.is_over or str(self.state) in TERMINAL_STATES

    def _is_question(self, event: TaskEvent) -> bool:
        """Tell whether an event ends the stream of a message, which a subscription outlasts: the
        task waits for the client.
        """
        is_status = isinstance(event, Task | TaskStatusUpdateEvent)
        return (
            is_status
            and self._operation is not SUBSCRIBE_TO_TASK
            and str(self.state) in INTERRUPTED_STATES
        )

    async def _fetch_final_task(self) -> Task:
        """Read the final state of a task that is no longer streamed."""
        task = await self._connection.get_task(self.task_id or "")
        self.state = task.status.state
        if str(self.state) not in TERMINAL_STATES | INTERRUPTED_STATES:
            raise _ResumptionRefusedError(
                "Stream: the agent refuses to resume the stream of a running task"
            )
        self.is_over = True
        return task

    async def _try_fetch_final_task(self) -> Task | None:
        """Read the task a last time before giving up: some agents break the connection when the
        task ends.
        """
        if not self._has_started:
            return None
        try:
            return await self._fetch_final_task()
        except (A2AClientError, A2AError):
            return None

    def _build_error(self, problem: Exception | None) -> Exception:
        if not self._has_started and problem is not None:
            return problem
        text = f"Stream: lost and not resumed ({problem or 'it ended before the task did'})"
        return StreamLostError(text, task_id=self.task_id, cursor=self.cursor)


async def _read_next(events: AsyncGenerator[ServerEvent, None]) -> ServerEvent | None:
    return await anext(events, None)


class _DuplicateFilter:
    """Recognizes events that an agent repeats on every connection, which are no progress."""

    def __init__(self) -> None:
        self._previous: set[str | bytes] = set()
        self._current: set[str | bytes] = set()

    def start_connection(self) -> None:
        """Begin with another connection; one without events does not count."""
        self._previous, self._current = self._current or self._previous, set()

    def is_new(self, event: TaskEvent, cursor: str | None) -> bool:
        """Remember an event, by its number if it has one; ``False`` if the connection before had it
        too.
        """
        mark = cursor or blake2b(event.to_json(), digest_size=16).digest()
        if cursor:
            self._current = {cursor}
        elif len(self._current) < _MAX_REMEMBERED_EVENTS:
            self._current.add(mark)
        return mark not in self._previous
