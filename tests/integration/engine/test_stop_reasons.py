"""Cancellation and timeouts, also of handlers that ignore them."""

from __future__ import annotations

import asyncio

import pytest

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.run import TIMED_OUT
from a2a_runtime.testing.agent import FAST_SETTINGS, run_agent
from a2a_runtime.testing.clock import FakeClock

from .conftest import RunAgent
from .uninterruptible import asks, blocks, breaks_when_stopped, gives_up, ignores, job, sleeps

pytestmark = pytest.mark.anyio

HANDLERS = [sleeps, ignores, gives_up, blocks, breaks_when_stopped, job]


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.__name__)
async def test_cancel_ends_the_task_with_any_handler(run: RunAgent, handler: object) -> None:
    """The task is canceled, at once or after a short while, and nothing that the handler still
    writes changes that.
    """
    async with run(handler) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        canceled = await one.engine.cancel(one.scope, stored.wire_id)
        assert canceled.state is State.CANCELED
        await asyncio.sleep(0.1)
        events = await one.collect_events(stored)
        assert [event.state for event in events if event.state is not State.SUBMITTED][
            -1
        ] is State.CANCELED
        assert (await one.engine.load(one.scope, stored.wire_id)).version == canceled.version


async def test_cancel_before_the_handler_starts(run: RunAgent) -> None:
    """A task that is canceled right after it was accepted never runs."""
    ran = []

    async def notes(_ctx: TaskContext) -> None:
        ran.append(1)
        await asyncio.sleep(1000)

    async with run(notes) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        assert (await one.engine.cancel(one.scope, stored.wire_id)).state is State.CANCELED
        assert ran in ([], [1])


async def test_a_suspended_task_is_canceled_directly(run: RunAgent) -> None:
    """No process runs it, so one commit cancels it."""
    async with run(asks) as one, asyncio.timeout(30):
        task = await one.send("hi")
        assert (await one.engine.cancel(one.scope, task.id)).state is State.CANCELED


async def test_cancel_during_a_question(run: RunAgent) -> None:
    """A cancellation at the moment of a question cancels the task."""
    async with run(asks) as one, asyncio.timeout(30):
        for delay in range(20):
            stored = await one.start("hi")
            for _ in range(delay):
                await asyncio.sleep(0)
            assert (await one.engine.cancel(one.scope, stored.wire_id)).state is State.CANCELED


async def test_a_task_that_has_ended_cannot_be_canceled(run: RunAgent) -> None:
    """A task that has ended is unchanged, and a task of another scope does not exist."""

    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    async with run(echo) as one, asyncio.timeout(30):
        task = await one.send("hi")
        with pytest.raises(TaskNotCancelableError):
            await one.engine.cancel(one.scope, task.id)
        with pytest.raises(TaskNotFoundError):
            await one.engine.cancel(TaskScope("/agent", "acme", "eve"), task.id)


async def test_cancel_twice_at_once(run: RunAgent) -> None:
    """Repeating a cancel that is under way gives the task."""
    async with run(sleeps) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        ends = await asyncio.gather(
            *(one.engine.cancel(one.scope, stored.wire_id) for _ in range(3)),
            return_exceptions=True,
        )
        assert {getattr(end, "state", TaskNotCancelableError) for end in ends} <= {
            State.CANCELED,
            TaskNotCancelableError,
        }


@pytest.mark.parametrize(
    "handler",
    [sleeps, ignores, gives_up, blocks, breaks_when_stopped],
    ids=lambda handler: handler.__name__,
)
async def test_a_run_times_out(run: RunAgent, handler: object) -> None:
    """The task fails, also if the handler ignores the stop request."""
    async with run(Skill("slow", handler, timeout=0.05)) as one, asyncio.timeout(30):
        task = await one.wait_terminal(await one.start("hi"))
        assert State(task.status.state) is State.FAILED
        assert task.status.message.parts[0].text == TIMED_OUT


async def test_the_timeout_applies_to_one_run() -> None:
    """Time spent waiting for an answer does not count; the deadline is the clock's, to the
    second.
    """
    clock = FakeClock()
    has_begun = asyncio.Event()

    async def asks_then_works(ctx: TaskContext) -> str:
        await ctx.ask("Well?")
        has_begun.set()
        await asyncio.sleep(1000)
        return str(ctx.deadline)

    async with (
        run_agent(
            Skill("slow", asks_then_works, timeout=60),
            options=EngineOptions(settings=FAST_SETTINGS, clock=clock),
        ) as one,
        asyncio.timeout(30),
    ):
        task = await one.send("hi")
        clock.advance(3600)
        stored = (await one.send_to_task(task, "ok")).stored
        await has_begun.wait()
        await one.wait_for_state(stored, State.WORKING)
        for _ in range(58):
            clock.advance(1)
            await asyncio.sleep(0.001)
        assert (await one.engine.load(one.scope, task.id)).state is State.WORKING
        while (state := (await one.engine.load(one.scope, task.id)).state) is State.WORKING:
            clock.advance(1)
            await asyncio.sleep(0.001)
        assert state is State.FAILED
