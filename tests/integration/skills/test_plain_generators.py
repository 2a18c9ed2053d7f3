"""Plain generators as handlers: they stream from a thread, wait for their reader, and are closed
with it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Task
from a2a_runtime.agent import Agent
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.thread_streams import iterate_in_thread
from a2a_runtime.testing.agent import run_agent

pytestmark = pytest.mark.anyio


def texts(task: Task) -> list[str | None]:
    """The texts of the result."""
    return [part.text for artifact in task.artifacts or [] for part in artifact.parts]


async def test_a_plain_generator_streams_from_one_thread() -> None:
    """Its values are chunks, it may run coroutines, and it never blocks the event loop."""
    threads = set()

    def words(ctx: TaskContext) -> Iterator[object]:
        for word in ctx.text.split():
            threads.add(threading.get_ident())
            ctx.block_on(asyncio.sleep(0))
            yield f"{word} "

    async with run_agent(words) as one, asyncio.timeout(30):
        assert texts(await one.send("a b c")) == ["a ", "b ", "c "]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_typed_functions_and_dependencies_stream_too() -> None:
    """Generators with annotated input and with dependencies stream."""
    agent = Agent("count")
    agent.provide_per_run(step=lambda: 2)

    @agent.skill
    def count(limit: int, step: "Step") -> Iterator[int]:  # type: ignore[name-defined]  # noqa: F821, UP037 - a dependency of any type
        """Count."""
        yield from range(0, limit, step)

    definition = agent.skills["count"]
    assert definition.streams
    bound = agent.build_dependencies().bind(definition.skill)
    async with run_agent(bound) as one, asyncio.timeout(30):
        task = await one.send(5)
    assert [part.data for artifact in task.artifacts or [] for part in artifact.parts] == [0, 2, 4]


@pytest.mark.parametrize(
    "error",
    [ValueError("no"), SystemExit(1), StopIteration()],
    ids=["ValueError", "SystemExit", "StopIteration"],
)
async def test_an_exception_fails_the_task(error: BaseException) -> None:
    """Chunks from before stay, and the process goes on."""

    def breaks(_ctx: TaskContext) -> Iterator[str]:
        yield "one"
        raise error

    async with run_agent(breaks) as one, asyncio.timeout(30):
        task = await one.send("hi")
    assert State(task.status.state) is State.FAILED
    assert texts(task) == ["one"]


async def test_a_rejection_ends_the_task() -> None:
    """The signals of a context cross from the thread."""

    def rejects(ctx: TaskContext) -> Iterator[str]:
        yield "one"
        ctx.reject("enough")

    async with run_agent(rejects) as one, asyncio.timeout(30):
        assert State((await one.send("hi")).status.state) is State.REJECTED


async def test_a_canceled_task_closes_the_generator() -> None:
    """Its ``finally`` runs in the thread, and it yields nothing more."""
    closed = threading.Event()

    def endless(_ctx: TaskContext) -> Iterator[str]:
        try:
            while True:
                yield "more"
        finally:
            closed.set()

    async with run_agent(endless) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        await one.engine.cancel(one.scope, stored.wire_id)
        assert State((await one.wait_terminal(stored)).status.state) is State.CANCELED
        assert await asyncio.to_thread(closed.wait, 10)


async def test_a_reader_that_is_canceled_does_not_wait_for_a_blocked_generator() -> None:
    """The thread closes the generator as soon as it comes back."""
    begun = threading.Event()
    go = threading.Event()
    closed = threading.Event()

    def blocks() -> Iterator[int]:
        begun.set()
        try:
            go.wait(10)
            yield 1
        finally:
            closed.set()

    reading = asyncio.ensure_future(anext(iterate_in_thread(blocks)))
    assert await asyncio.to_thread(begun.wait, 10)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not closed.is_set()
    go.set()
    assert await asyncio.to_thread(closed.wait, 10)


async def test_a_generator_waits_for_its_reader() -> None:
    """It makes no value that is not wanted yet, and is closed before the reader goes on."""
    made: list[int] = []

    def numbers() -> Iterator[int]:
        try:
            for number in range(1000):
                made.append(number)
                yield number
        finally:
            made.append(-1)

    values = iterate_in_thread(numbers)
    assert [await anext(values) for _ in range(3)] == [0, 1, 2]
    assert made == [0, 1, 2]
    await values.aclose()
    assert made == [0, 1, 2, -1]


async def test_an_exception_on_closing_is_raised() -> None:
    """A generator that raises while it is closed raises its error in the caller."""

    def grumbles() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise OSError("still open")

    values = iterate_in_thread(grumbles)
    await anext(values)
    with pytest.raises(OSError, match="still open"):
        await values.aclose()
