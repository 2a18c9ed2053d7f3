"""Streams that break and go on, on a line that follows a script."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TypeAlias

import pytest

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.errors import (
    A2AError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from a2a_contract.operations import SEND_STREAMING_MESSAGE, SUBSCRIBE_TO_TASK
from a2a_contract.v1_0 import (
    Artifact,
    Message,
    Part,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a_runtime.client.errors import (
    ClosedError,
    ConnectionLostError,
    ResponseTimeoutError,
    StreamLostError,
)
from a2a_runtime.client.sse import ServerEvent
from a2a_runtime.client.stream import TaskEvent, TaskStream
from a2a_runtime.client.transport import Outage, get_retry_safety, is_retryable_error

pytestmark = pytest.mark.anyio

Said: TypeAlias = "tuple[str | None, StreamResponse]"
Connection: TypeAlias = "Sequence[Said | Exception]"


def state(word: TaskState, number: str | None = None) -> Said:
    """A new status."""
    return number, StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id="t", context_id="c", status=TaskStatus(state=word)
        )
    )


def chunk(text: str, number: str | None = None) -> Said:
    """A piece of an artifact."""
    artifact = Artifact(artifact_id="a", parts=[Part(text=text)])
    return number, StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact)
    )


def task(word: TaskState, number: str | None = None) -> Said:
    """The task as a whole."""
    return number, StreamResponse(task=Task(id="t", context_id="c", status=TaskStatus(state=word)))


MESSAGE: Said = (None, StreamResponse(message=Message(message_id="m", parts=[Part(text="hi")])))
WORKING = TaskState.WORKING
DONE = TaskState.COMPLETED


class Script:
    """A line whose connections say what was written down for them."""

    def __init__(
        self, *connections: Connection, ends: TaskState | A2AError = DONE, patience: int = 3
    ) -> None:
        self.connections = list(connections)
        self.ends = ends
        self.patience = patience
        self.requests: list[tuple[str, str | None]] = []
        self.open = 0
        self.continues = True
        self._said: list[StreamResponse] = []

    async def stream_events(
        self,
        operation: Operation,
        request: WireModel,
        cursor: str | None,
        idempotency_key: str | None,  # noqa: ARG002 - as the port has it
    ) -> AsyncGenerator[ServerEvent, None]:
        """Yield the next scripted connection."""
        assert isinstance(
            request,
            SendMessageRequest if operation is SEND_STREAMING_MESSAGE else SubscribeToTaskRequest,
        )
        self.requests.append((operation.name, cursor))
        self.open += 1
        try:
            for each in self.connections.pop(0):
                if isinstance(each, Exception):
                    raise each
                self._said.append(each[1])
                yield ServerEvent("message", str(len(self._said) - 1).encode(), each[0])
        finally:
            self.open -= 1

    async def decode_event(self, operation: Operation, event: ServerEvent) -> StreamResponse:
        """Read a frame."""
        assert operation.streams
        return self._said[int(event.data)]

    async def get_task(self, task_id: str) -> Task:
        """Read the task."""
        if isinstance(self.ends, A2AError):
            raise self.ends
        return Task(id=task_id, status=TaskStatus(state=self.ends))

    def can_retry(
        self,
        operation: Operation,
        error: Exception,
        idempotency_key: str | None,  # noqa: ARG002 - as the port has it
    ) -> bool:
        """Heed keys, as our own agents do."""
        return is_retryable_error(get_retry_safety(operation, "key"), error)

    async def needs_polls(self) -> bool:
        """Have streams."""
        return False

    def can_continue(self) -> bool:
        """Continue after an event, as our own agents do."""
        return self.continues

    # The port has these parameters.
    async def wait_before_retry(self, failures: int, began_at: float) -> bool:  # noqa: ARG002
        """Wait for no time."""
        return failures < self.patience

    async def wait_before_resuming(self, outage: Outage) -> bool:
        """Wait for no time."""
        return outage.failures < self.patience

    def monotonic(self) -> float:
        """Have no time."""
        return 0.0

    def stream(self) -> TaskStream:
        """Send a message."""
        return TaskStream(
            self,
            SEND_STREAMING_MESSAGE,
            SendMessageRequest(message=Message(message_id="m", parts=[Part(text="a")])),
        )


def names(events: list[TaskEvent]) -> list[str]:
    """Write events down shortly."""
    return [name(event) for event in events]


def name(event: TaskEvent) -> str:
    """Write an event down shortly."""
    if isinstance(event, TaskArtifactUpdateEvent):
        return event.artifact.parts[0].text or ""
    if isinstance(event, Message):
        return "message"
    return event.status.state


SEND = SEND_STREAMING_MESSAGE.name
SUBSCRIBE = SUBSCRIBE_TO_TASK.name
LOST = ConnectionLostError("cut")

STREAMS: dict[str, tuple[Script, list[str], list[tuple[str, str | None]]]] = {
    "to its end": (
        Script([task(WORKING), chunk("a"), state(DONE), chunk("late")]),
        [WORKING, "a", DONE],
        [(SEND, None)],
    ),
    "one message": (Script([MESSAGE, chunk("late")]), ["message"], [(SEND, None)]),
    "a task that is over": (Script([task(DONE)]), [DONE], [(SEND, None)]),
    "broken, with numbers": (
        Script([task(WORKING, "1"), chunk("a", "2"), LOST], [chunk("b", "3"), state(DONE, "4")]),
        [WORKING, "a", "b", DONE],
        [(SEND, None), (SUBSCRIBE, "2")],
    ),
    "broken, without numbers": (
        Script([task(WORKING), chunk("a"), LOST], [task(WORKING), chunk("b"), state(DONE)]),
        [WORKING, "a", WORKING, "b", DONE],
        [(SEND, None), (SUBSCRIBE, None)],
    ),
    "silent": (
        Script([task(WORKING, "1"), ResponseTimeoutError("")], [state(DONE, "2")]),
        [WORKING, DONE],
        [(SEND, None), (SUBSCRIBE, "1")],
    ),
    "ended too early": (
        Script([task(WORKING, "1")], [state(DONE, "2")]),
        [WORKING, DONE],
        [(SEND, None), (SUBSCRIBE, "1")],
    ),
    "ended where the client is needed": (
        Script([state(TaskState.INPUT_REQUIRED)]),
        [TaskState.INPUT_REQUIRED],
        [(SEND, None)],
    ),
    "held open where the client is needed": (
        Script([state(TaskState.AUTH_REQUIRED), state(WORKING)]),
        [TaskState.AUTH_REQUIRED],
        [(SEND, None)],
    ),
    "asked while the connection was lost": (
        Script([task(WORKING), LOST], [task(TaskState.INPUT_REQUIRED), state(WORKING)]),
        [WORKING, TaskState.INPUT_REQUIRED],
        [(SEND, None), (SUBSCRIBE, None)],
    ),
    "an answer, after the task as it was before": (
        Script([task(TaskState.INPUT_REQUIRED), state(WORKING), state(DONE)]),
        [TaskState.INPUT_REQUIRED, WORKING, DONE],
        [(SEND, None)],
    ),
    "over in the meantime": (
        Script([task(WORKING), LOST], [UnsupportedOperationError()], ends=TaskState.FAILED),
        [WORKING, TaskState.FAILED],
        [(SEND, None), (SUBSCRIBE, None)],
    ),
    "broken before anything came": (
        Script([LOST], [task(DONE)]),
        [DONE],
        [(SEND, None), (SEND, None)],
    ),
    "broken wherever the task is over": (
        Script([task(WORKING)], *[[LOST]] * 3),
        [WORKING, DONE],
        [(SEND, None), *[(SUBSCRIBE, None)] * 2],
    ),
    "the log does not reach back": (
        Script(
            [task(WORKING, "1"), LOST],
            [UnavailableError()],
            [task(WORKING, "9"), state(DONE, "10")],
        ),
        [WORKING, WORKING, DONE],
        [(SEND, None), (SUBSCRIBE, "1"), (SUBSCRIBE, None)],
    ),
    "broken again and again, but going on without numbers": (
        Script(*[[task(WORKING), chunk(str(each)), LOST] for each in range(9)], [state(DONE)]),
        [*(said for each in range(9) for said in (WORKING, str(each))), DONE],
        [(SEND, None), *[(SUBSCRIBE, None)] * 9],
    ),
    "broken again and again, but going on": (
        Script(*[[chunk(str(each), str(each)), LOST] for each in range(9)], [state(DONE, "9")]),
        [*map(str, range(9)), DONE],
        [(SEND, None), *[(SUBSCRIBE, str(each)) for each in range(9)]],
    ),
}


@pytest.mark.parametrize(("script", "events", "requests"), STREAMS.values(), ids=STREAMS.keys())
async def test_a_stream_ends_when_its_task_does(
    script: Script, events: list[str], requests: list[tuple[str, str | None]]
) -> None:
    """Whatever happens to connections on the way; and none of them stays open."""
    assert names([event async for event in script.stream()]) == events
    assert script.requests == requests
    assert script.open == 0


BROKEN: dict[str, tuple[Script, type[Exception]]] = {
    "never again": (
        Script([task(WORKING, "1"), LOST], [LOST], [LOST], ends=WORKING),
        StreamLostError,
    ),
    "only snapshots": (Script(*[[task(WORKING), LOST]] * 4, ends=WORKING), StreamLostError),
    "the same again and again": (
        Script(*[[task(WORKING), state(WORKING)]] * 9, ends=WORKING),
        StreamLostError,
    ),
    "the same number again and again": (
        Script([task(WORKING, "1")], *[[state(WORKING, "2")]] * 9, ends=WORKING),
        StreamLostError,
    ),
    "running, but not to be followed": (
        Script([task(WORKING), LOST], *[[UnsupportedOperationError()]] * 3, ends=WORKING),
        StreamLostError,
    ),
    "nothing at all": (Script([LOST], [LOST], [LOST]), ConnectionLostError),
    "an empty stream": (Script([]), StreamLostError),
    "refused": (Script([TaskNotFoundError()]), TaskNotFoundError),
    "refused in the middle": (Script([task(WORKING), TaskNotFoundError()]), TaskNotFoundError),
    "silent before anything came": (Script([ResponseTimeoutError("")]), ResponseTimeoutError),
    "closed": (Script([task(WORKING), ClosedError("")]), ClosedError),
    "gone": (
        Script([task(WORKING), LOST], [TaskNotFoundError()], ends=TaskNotFoundError()),
        TaskNotFoundError,
    ),
}


@pytest.mark.parametrize(("script", "kind"), BROKEN.values(), ids=BROKEN.keys())
async def test_a_stream_that_cannot_resume_raises(script: Script, kind: type[Exception]) -> None:
    """It never ends like a finished one."""
    with pytest.raises(kind):
        _ = [event async for event in script.stream()]
    assert script.open == 0


async def test_a_silent_subscription_finds_out_how_the_task_ended() -> None:
    """An agent may end a stream without having said a word on it."""
    script = Script([], [UnsupportedOperationError()], ends=TaskState.CANCELED)
    stream = TaskStream(script, SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"), task_id="t")
    assert names([event async for event in stream]) == [TaskState.CANCELED]
    assert script.requests == [(SUBSCRIBE, None), (SUBSCRIBE, None)]


async def test_a_subscription_outlasts_questions() -> None:
    """The events after the answer follow on the same connection."""
    script = Script(
        [
            task(TaskState.INPUT_REQUIRED),
            state(WORKING),
            state(TaskState.AUTH_REQUIRED),
            state(DONE),
        ]
    )
    stream = TaskStream(script, SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"), task_id="t")
    assert names([event async for event in stream])[-2:] == [TaskState.AUTH_REQUIRED, DONE]


async def test_a_cursor_is_sent_where_the_agent_continues_after_it() -> None:
    """At another agent the stream begins again with a snapshot, even if its events have ids; a
    cursor of the caller is sent in any case.
    """
    script = Script([task(WORKING, "1"), LOST], [task(WORKING, "7"), LOST], [task(DONE, "9")])
    script.continues = False
    stream = TaskStream(
        script, SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"), task_id="t", cursor="0"
    )
    assert names([event async for event in stream]) == [WORKING, WORKING, DONE]
    assert script.requests == [(SUBSCRIBE, "0"), (SUBSCRIBE, None), (SUBSCRIBE, None)]


async def test_the_error_has_task_and_cursor() -> None:
    """The task and the number of the last event are all that is needed later."""
    with pytest.raises(StreamLostError) as lost:
        _ = [
            event
            async for event in Script([chunk("a", "5"), LOST], ends=WORKING, patience=1).stream()
        ]
    assert (lost.value.task_id, lost.value.cursor) == ("t", "5")


async def test_leaving_the_loop_frees_the_connection() -> None:
    """At the latest when the stream is left; going on goes on after the last event that was
    seen.
    """
    script = Script(
        [task(WORKING, "1"), chunk("a", "2"), state(DONE, "3")], [chunk("a", "2"), state(DONE, "3")]
    )
    async with script.stream() as stream:
        async for _ in stream:
            break
        await stream.aclose()
        assert script.open == 0
        assert (stream.task_id, stream.state, stream.cursor) == ("t", WORKING, "1")
        assert names([event async for event in stream]) == ["a", DONE]
        assert stream.is_over
        assert [event async for event in stream] == []
    assert script.requests == [(SEND, None), (SUBSCRIBE, "1")]
