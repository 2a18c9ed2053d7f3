"""Streams of numbered events: gaps are filled by a read, repetitions left out, and no number
concludes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest

from a2a_contract.base import WireModel
from a2a_contract.binding import Operation
from a2a_contract.dialects import V1_0, V1_1_DRAFT
from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.operations import SEND_STREAMING_MESSAGE
from a2a_contract.v1_0 import (
    Message,
    Part,
    SendMessageConfiguration,
    SendMessageRequest,
    TaskState,
    TaskStatus,
)
from a2a_contract.v1_1_draft import StreamResponse, Task, TaskStatusUpdateEvent
from a2a_runtime.client.generations import add_generation, check_generations, find_generation
from a2a_runtime.client.sse import ServerEvent
from a2a_runtime.client.stream import TaskStream

WORKING = TaskState.WORKING
DONE = TaskState.COMPLETED
REQUEST = SendMessageRequest(
    message=Message(message_id="m", parts=[Part(text="a")]),
    configuration=SendMessageConfiguration(history_length=2),
)


def snapshot(generation: int, state: TaskState = WORKING) -> StreamResponse:
    """The task as a whole."""
    return StreamResponse(
        task=Task(id="t", context_id="c", status=TaskStatus(state=state), generation=generation)
    )


def change(generation: int, state: TaskState = WORKING) -> StreamResponse:
    """A new status."""
    event = TaskStatusUpdateEvent(
        task_id="t", context_id="c", status=TaskStatus(state=state), generation=generation
    )
    return StreamResponse(status_update=event)


class Script:
    """A connection whose events are written down, and whose task is at a generation when it is
    read.
    """

    def __init__(self, events: Sequence[StreamResponse], *reads: Task) -> None:
        self._events = events
        self.reads = list(reads)

    async def stream_events(
        self,
        operation: Operation,
        request: WireModel,
        cursor: str | None,
        idempotency_key: str | None = None,
    ) -> AsyncGenerator[ServerEvent, None]:
        """Yield the events."""
        assert (operation, request, cursor, idempotency_key) == (
            SEND_STREAMING_MESSAGE,
            REQUEST,
            None,
            None,
        )
        for number in range(len(self._events)):
            yield ServerEvent("message", str(number).encode(), None)

    async def decode_event(self, _operation: Operation, event: ServerEvent) -> StreamResponse:
        """Read an event."""
        return self._events[int(event.data)]

    async def get_task(self, _task_id: str) -> Task:
        """Read the task."""
        return self.reads.pop(0)

    async def needs_polls(self) -> bool:
        """Have streams."""
        return False

    def can_continue(self) -> bool:
        """Number no events."""
        return False

    def monotonic(self) -> float:
        """Have no time."""
        return 0.0


async def read_stream(
    *events: StreamResponse, reads: Sequence[Task] = ()
) -> tuple[list[tuple[str, int]], int]:
    """Read a stream: the types of its events with their generations, and the generation that the
    stream is at.
    """
    script = Script(events, *reads)
    # The script has all that a stream without faults calls.
    stream = TaskStream(script, SEND_STREAMING_MESSAGE, REQUEST)  # type: ignore[arg-type]
    seen = [(type(event).__name__, find_generation(event)) async for event in stream]
    assert script.reads == []
    return seen, stream.generation


STATUS = TaskStatusUpdateEvent.__name__


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("events", "reads", "seen"),
    [
        pytest.param(
            [snapshot(1), change(2), change(3, DONE)],
            [],
            [("Task", 1), (STATUS, 2), (STATUS, 3)],
            id="one after the other",
        ),
        pytest.param(
            [snapshot(1), change(3), change(4), change(5, DONE)],
            [Task(id="t", status=TaskStatus(state=WORKING), generation=4)],
            [("Task", 1), ("Task", 4), (STATUS, 5)],
            id="a gap is filled by the task, and what is in it is not repeated",
        ),
        pytest.param(
            [snapshot(1), change(3)],
            [Task(id="t", status=TaskStatus(state=DONE), generation=9)],
            [("Task", 1), ("Task", 9)],
            id="the missed event was the last one",
        ),
        pytest.param(
            [snapshot(2), change(1), change(2), change(3, DONE)],
            [],
            [("Task", 2), (STATUS, 3)],
            id="repeated and late events",
        ),
        pytest.param(
            [snapshot(0), change(0), change(0, DONE)],
            [],
            [("Task", 0), (STATUS, 0), (STATUS, 0)],
            id="not implemented",
        ),
        pytest.param(
            [snapshot(3), change(0), change(7, DONE)],
            [],
            [("Task", 3), (STATUS, 0), (STATUS, 7)],
            id="implemented in places only",
        ),
    ],
)
async def test_a_stream_follows_generations(
    events: list[StreamResponse], reads: list[Task], seen: list[tuple[str, int]]
) -> None:
    """The reader gets every change, in an event or in a task that has it, and none twice."""
    assert await read_stream(*events, reads=reads) == (seen, seen[-1][1])


def test_a_condition_keeps_the_request() -> None:
    """Only the generation is added; the older dialect cannot carry it, and says so."""
    numbered = add_generation(REQUEST, 7)
    assert numbered.to_dict() == {
        **REQUEST.to_dict(),
        "configuration": {"historyLength": 2, "ifGenerationMatch": 7},
    }
    check_generations(numbered, V1_1_DRAFT)
    check_generations(REQUEST, V1_0)
    with pytest.raises(
        UnsupportedOperationError,
        match=r"if_generation: A2A 1\.0 has no generations; pin 1\.1-draft",
    ):
        check_generations(numbered, V1_0)
