"""Agents whose first run pauses where a test wants to do something, and readers of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import StreamResponse, Task
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Handler, Skill
from a2a_runtime.errors import EventsGoneError
from a2a_runtime.features.postgres import PostgresNotifier
from a2a_runtime.settings import Settings
from a2a_runtime.stores.models import LoggedEvent, StoredTask
from a2a_runtime.testing.agent import FAST_SETTINGS, InProcessAgent, artifact_texts, run_agent

from .earlier_state import FallibleDatabase, FallibleServer

TIMEOUT_SECONDS = 20.0
READER_ERRORS = (EventsGoneError, InvalidParamsError, TaskNotFoundError)
"""Errors after which a client that resumes begins anew."""


@asynccontextmanager
async def run(
    database: FallibleDatabase, *skills: Skill | Handler, settings: Settings = FAST_SETTINGS
) -> AsyncIterator[InProcessAgent]:
    """Run an agent on a database, whose readers soon look into the log."""
    notifier = PostgresNotifier(database.url) if isinstance(database, FallibleServer) else None
    options = EngineOptions(settings=settings, notifier=notifier)
    async with asyncio.timeout(TIMEOUT_SECONDS):
        async with run_agent(*skills, store=database.make_store(), options=options) as one:
            one.engine.hub._poll_interval_seconds = 0.05
            yield one


class Pause:
    """A place of a handler at which the first run that comes there waits for the test."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self._passed = asyncio.Event()

    async def wait(self) -> None:
        """Wait, for the first run."""
        if not self.reached.is_set():
            self.reached.set()
            await self._passed.wait()

    def release(self) -> None:
        """Let it go on."""
        self._passed.set()


class Reader:
    """Follows a task from a cursor, or waits for its end as a blocking call does."""

    def __init__(
        self, one: InProcessAgent, stored: StoredTask, cursor: int, *, is_waiting: bool = False
    ) -> None:
        self.events: list[LoggedEvent] = []
        read = (
            one.engine.wait(stored, cursor, TERMINAL)
            if is_waiting
            else self._read(one, stored, cursor)
        )
        self.task = asyncio.create_task(read)

    async def _read(self, one: InProcessAgent, stored: StoredTask, cursor: int) -> LoggedEvent:
        events = await one.engine.follow(one.scope, stored.wire_id, cursor)
        async with aclosing(events):
            async for event in events:
                self.events.append(event)
        return self.events[-1]

    async def wait_for(self, seq: int) -> None:
        """Wait until it has an event."""
        await wait_until(lambda: bool(self.events) and self.events[-1].seq >= seq)

    async def check_end(self) -> bool:
        """See that it gets the end of the task, or an error after which it begins anew; return
        whether it was the end.
        """
        try:
            last = await self.task
        except READER_ERRORS:
            return False
        assert last.state in TERMINAL
        return True

    def assemble(self) -> list[str | None]:
        """Put together what the events hold, as a client does."""
        chunks: list[str | None] = []
        for event in self.events:
            response = StreamResponse.model_validate_json(event.body)
            if response.task is not None:
                chunks = artifact_texts(response.task).get("result", [])
            if (update := response.artifact_update) is not None:
                chunks = chunks if update.append else []
                chunks = [*chunks, *(part.text for part in update.artifact.parts)]
        return chunks


class Stream:
    """A handler that yields chunks in bursts, and pauses after each but the last; a later run
    yields the bursts of ``later``.
    """

    def __init__(self, *bursts: int, later: Sequence[int] = (), name: str = "") -> None:
        self._bursts = bursts
        self._later = later or bursts
        self._name = name
        self.pauses = [Pause() for _ in bursts[1:]]
        self.runs = 0

    async def __call__(self, ctx: TaskContext) -> AsyncGenerator[str, None]:
        """Yield."""
        self.runs += 1
        bursts = self._bursts if self.runs == 1 else self._later
        for number, count in enumerate(bursts):
            for chunk in range(count):
                yield f"{self._name}{number}.{chunk}"
            if number < len(bursts) - 1:
                await ctx.flush()
                await self.pauses[number].wait()

    def skill(self, *, restartable: bool = True, accepts_messages: bool = False) -> Skill:
        """Make a skill of it."""
        return Skill("stream", self, restartable=restartable, accepts_messages=accepts_messages)

    @property
    def result(self) -> list[str | None]:
        """The chunks of the last run."""
        bursts = self._bursts if self.runs == 1 else self._later
        return [
            f"{self._name}{number}.{chunk}"
            for number, count in enumerate(bursts)
            for chunk in range(count)
        ]


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for something that has no event."""
    while not is_so():  # noqa: ASYNC110 - as it says
        await asyncio.sleep(0.01)


async def wait_for(
    one: InProcessAgent, stored: StoredTask, is_there: Callable[[StoredTask], bool]
) -> StoredTask:
    """Wait until a task is as expected, by looking at it again and again: readers are what is
    tested here.
    """
    while True:
        now = await one.engine.load(one.scope, stored.wire_id)
        if is_there(now):
            return now
        await asyncio.sleep(0.02)


async def wait_for_end(one: InProcessAgent, stored: StoredTask) -> Task:
    """Wait until a task has ended; its log must be whole."""
    ended = await wait_for(one, stored, lambda now: now.state in TERMINAL)
    events = await one.engine.store.read_events(ended.key, 0, ended.last_seq + 1)
    assert [event.seq for event in events] == list(range(1, ended.last_seq + 1))
    assert [event.seq for event in events if event.state in TERMINAL] == [ended.last_seq]
    return ended.task.model


async def check_whole(one: InProcessAgent, stored: StoredTask, stream: Stream) -> None:
    """See that a task ends with every chunk of one run."""
    task = await wait_for_end(one, stored)
    assert task.status.state.name == State.COMPLETED.name
    assert artifact_texts(task) == {"result": stream.result}
