"""Callers of an agent under faults, what they were told, and the check of it.

A task is acknowledged as soon as its caller has its id. The promises:

    not lost          every acknowledged task is found, and comes to an end or to a question
    one end           its events have one terminal state, and it is the last
    no gap            its events are numbered from 1 on; a resumed stream has each of them once
    cancel effective  a task whose cancellation was confirmed is canceled, and stays so
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from a2a_contract.errors import (
    A2AError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
)
from a2a_contract.lifecycle import INTERRUPTED, TERMINAL, State
from a2a_contract.v1_0 import Message, Task, TaskStatusUpdateEvent
from a2a_runtime.client import A2AClient, ClientOptions, SendOptions
from a2a_runtime.client.client import Content
from a2a_runtime.client.errors import A2AClientError
from a2a_runtime.client.options import RetryPolicy

T = TypeVar("T")

_PAUSE_SECONDS = 0.05
_RETRIES = RetryPolicy(attempts=10, initial_delay=0.05, max_delay=0.5)
_MIN_CHECK_SECONDS = 10.0
"""Time for the check of one task, also if the time in which every task has to end is over."""
_STREAM = 3
_CANCEL = 5
"""Every third message is streamed, and every fifth of the others is canceled."""

CheckTask = Callable[[Task], None]


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Messages of the callers."""

    build_content: Callable[[int], Content]
    skill: str | None = None
    auth: str | None = None
    callers: int = 4
    end_seconds: float = 60.0
    check: CheckTask | None = None


@dataclass(slots=True)
class LoadReport:
    """Numbers of tasks, and broken promises."""

    acknowledged: int = 0
    completed: int = 0
    canceled: int = 0
    other_ends: int = 0
    waiting: int = 0
    events: int = 0
    violations: list[str] = field(default_factory=list[str])


class Load:
    """Callers that send one message after another."""

    def __init__(self, url: str, plan: LoadPlan) -> None:
        self._url = url
        self._plan = plan
        self.acknowledged: list[str] = []
        self._confirmed: set[str] = set()
        self._streamed: dict[str, list[tuple[int, bool]]] = {}
        """Numbers of the events of each stream, and whether each is a snapshot of the task
        instead.
        """
        self._numbers = count()
        self._callers: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._ends_at = 0.0

    def build_client(self) -> A2AClient:
        """Build a client that does not give up soon."""
        options = ClientOptions(retry_policy=_RETRIES, stream_idle_timeout=5.0, read_timeout=20.0)
        return A2AClient(self._url, auth=self._plan.auth, timeout=20.0, options=options)

    async def start(self) -> None:
        """Start the callers."""
        self._callers = [asyncio.create_task(self._call()) for _ in range(self._plan.callers)]

    async def stop(self) -> None:
        """Let each caller finish what it does, and raise what ended a caller."""
        self._is_stopping = True
        await asyncio.gather(*self._callers)

    async def wait_for_more(self, number: int) -> None:
        """Wait until some more tasks are acknowledged."""
        wanted = len(self.acknowledged) + number
        async with asyncio.timeout(self._plan.end_seconds):
            while len(self.acknowledged) < wanted:
                for caller in self._callers:
                    if caller.done():
                        caller.result()
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _call(self) -> None:
        async with self.build_client() as client:
            while not self._is_stopping:
                number = next(self._numbers)
                try:
                    await (
                        self._follow(client, number)
                        if number % _STREAM == 0
                        else self._send(client, number)
                    )
                except (A2AClientError, UnavailableError):
                    # not acknowledged: only acknowledged tasks count
                    await asyncio.sleep(_PAUSE_SECONDS)

    def _options(self) -> SendOptions:
        return SendOptions(skill=self._plan.skill, idempotency_key=str(uuid.uuid4()))

    async def _send(self, client: A2AClient, number: int) -> None:
        sent = await client.send(
            self._plan.build_content(number), wait=False, options=self._options()
        )
        if isinstance(sent, Message):
            raise TypeError(
                "fault deck: the agent replied with a message; name a skill that makes "
                "tasks: skill="
            )
        self.acknowledged.append(sent.id)
        if number % _CANCEL == 0:
            try:
                canceled = await client.cancel(sent.id)
            except (
                TaskNotCancelableError,
                TaskNotFoundError,
            ):
                # the check finds a task that is lost
                return
            if State(canceled.status.state) is State.CANCELED:
                self._confirmed.add(sent.id)

    async def _follow(self, client: A2AClient, number: int) -> None:
        """Follow a stream to its end, over as many connections as it takes."""
        stream = client.stream(self._plan.build_content(number), options=self._options())
        seen: list[tuple[int, bool]] = []
        try:
            async for event in stream:
                if not seen and stream.task_id is not None and stream.task_id not in self._streamed:
                    self.acknowledged.append(stream.task_id)
                    self._streamed[stream.task_id] = seen
                if stream.cursor is not None:
                    seen.append((number_of(stream.cursor), isinstance(event, Task)))
        except (A2AClientError, A2AError):
            if (
                stream.task_id is None
            ):  # not acknowledged; otherwise the check finds what is wrong with the task
                raise

    async def check(self) -> LoadReport:
        """Check all promises about all acknowledged tasks."""
        report = LoadReport(acknowledged=len(self.acknowledged))
        self._ends_at = asyncio.get_running_loop().time() + self._plan.end_seconds
        limit = asyncio.Semaphore(self._plan.callers)
        async with self.build_client() as client:

            async def check_one(task_id: str) -> None:
                async with limit:
                    try:
                        await self._check_task(client, task_id, report)
                    except (A2AClientError, A2AError, TimeoutError, AssertionError) as error:
                        report.violations.append(f"task {task_id}: {type(error).__name__}: {error}")

            await asyncio.gather(*map(check_one, self.acknowledged))
        return report

    async def _check_task(self, client: A2AClient, task_id: str, report: LoadReport) -> None:
        task = await self._ask(lambda: _find_end(client, task_id))
        state = State(task.status.state)
        if task_id in self._confirmed and state is not State.CANCELED:
            report.violations.append(
                f"task {task_id}: its cancellation was confirmed, and it is {state.name}"
            )
        report.completed += state is State.COMPLETED
        report.canceled += state is State.CANCELED
        report.waiting += state in INTERRUPTED
        report.other_ends += state in TERMINAL - {State.COMPLETED, State.CANCELED}
        seen = self._streamed.get(task_id, [])
        if not _is_complete(seen):
            report.violations.append(
                f"task {task_id}: its stream had the events {[number for number, _ in seen]}"
            )
        if state in TERMINAL:
            numbers, ends = await self._ask(lambda: _read_events(client, task_id))
            report.events += len(numbers)
            if numbers != list(range(1, len(numbers) + 1)) or ends != numbers[-1:]:
                report.violations.append(
                    f"task {task_id}: its events are {numbers}, and it ended with {ends}"
                )
        if state is State.COMPLETED and self._plan.check is not None:
            self._plan.check(task)

    async def _ask(self, ask: Callable[[], Awaitable[T | None]]) -> T:
        """Ask until there is an answer; an agent that is unavailable may be on its way back from
        the last fault.
        """
        loop = asyncio.get_running_loop()
        last = ""
        try:
            async with asyncio.timeout_at(max(self._ends_at, loop.time() + _MIN_CHECK_SECONDS)):
                while True:
                    try:
                        if (found := await ask()) is not None:
                            return found
                    except (A2AClientError, UnavailableError) as error:
                        last = f"; {error}"
                    await asyncio.sleep(_PAUSE_SECONDS)
        except TimeoutError as error:
            raise TimeoutError(
                f"neither an end nor a question in {self._plan.end_seconds:g} s{last}"
            ) from error


async def _find_end(client: A2AClient, task_id: str) -> Task | None:
    """Return a task that has ended or asks."""
    try:
        task = await client.get(task_id)
    except TaskNotFoundError as error:
        raise AssertionError("acknowledged, and lost") from error
    if State(task.status.state) in TERMINAL | INTERRUPTED:
        return task
    return None


def number_of(cursor: str) -> int:
    """Return the number of the event at a cursor, which may have a mark too."""
    return int(cursor.partition("-")[0])


async def _read_events(client: A2AClient, task_id: str) -> tuple[list[int], list[int]]:
    """Read all events of a task that has ended: their numbers, and those with a terminal state."""
    numbers: list[int] = []
    ends: list[int] = []
    stream = client.subscribe(task_id, cursor="0")
    async for event in stream:
        number = number_of(stream.cursor or "0")
        numbers.append(number)
        if (
            isinstance(event, Task | TaskStatusUpdateEvent)
            and State(event.status.state) in TERMINAL
        ):
            ends.append(number)
    return numbers, ends


def _is_complete(seen: Sequence[tuple[int, bool]]) -> bool:
    """Check that a stream has every event once; a snapshot stands for the events up to its
    number.
    """
    last = 0
    for number, is_snapshot in seen:
        if number < last or (not is_snapshot and number != last + 1):
            return False
        last = number
    return True
