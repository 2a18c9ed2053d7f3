"""Cancel, time limits and shutdown: a task ends also when its handler would rather not."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_contract.errors import TaskNotCancelableError, TaskNotFoundError, UnavailableError
from a2a_contract.lifecycle import State
from a2a_runtime.caller import Scope
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import Engine, Parts
from a2a_runtime.execution.job import BackgroundJob
from a2a_runtime.execution.run import NOT_RESTARTABLE, OUT_OF_TIME, SHUT_DOWN, TOO_OFTEN
from a2a_runtime.execution.runner import Skills
from a2a_runtime.execution.skill import Skill
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.port import Change, NewTask, Store
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import QUICK, InProcessAgent, agent, texts_of, user_message
from a2a_runtime.testing.clock import FakeClock

from .conftest import MakeStore

pytestmark = pytest.mark.anyio


async def sleeps(_ctx: TaskContext) -> str:
    """Take very long."""
    await asyncio.sleep(1000)
    return "done"


async def ignores(ctx: TaskContext) -> str:
    """Go on whatever anybody says, and try to write all the time."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        try:
            await asyncio.sleep(0.01)
            await ctx.status("still here")
        except BaseException:  # noqa: BLE001, S112 - the worst of handlers
            continue
    return "done"


async def gives_up(ctx: TaskContext) -> str:
    """Look now and then whether to stop."""
    while not ctx.cancelled:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "gave up"


def blocks(ctx: TaskContext) -> str:
    """Block a thread, and write when it is too late."""
    time.sleep(0.5)
    ctx.block_on(ctx.status("too late"))
    return "done"


async def breaks_when_stopped(_ctx: TaskContext) -> None:
    """Fail while cleaning up."""
    try:
        await asyncio.sleep(1000)
    finally:
        raise OSError("cleaning up failed")


async def job(_ctx: TaskContext) -> BackgroundJob:
    """Hand back a job that takes very long."""
    return BackgroundJob(lambda _: asyncio.sleep(1000))


async def asks(ctx: TaskContext) -> str:
    """Ask."""
    return (await ctx.ask("Well?")).text


HANDLERS = [sleeps, ignores, gives_up, blocks, breaks_when_stopped, job]


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.__name__)
async def test_cancel_ends_the_task_whatever_the_handler_does(store: Store, handler: object) -> None:
    """The task is canceled, at once or after a short while, and nothing that the handler still writes changes that."""
    async with agent(handler, store=store) as one, asyncio.timeout(10):
        stored = await one.begin("hi")
        await one.reached(stored, State.WORKING)
        canceled = await one.engine.cancel(one.scope, stored.wire_id)
        assert canceled.state is State.CANCELED
        await asyncio.sleep(0.1)
        events = await one.events(stored)
        assert [event.state for event in events if event.state is not State.SUBMITTED][-1] is State.CANCELED
        assert (await one.engine.load(one.scope, stored.wire_id)).version == canceled.version


async def test_cancel_before_the_handler_has_begun(store: Store) -> None:
    """A task that is canceled right after it was accepted never runs."""
    ran = []

    async def notes(_ctx: TaskContext) -> None:
        ran.append(1)
        await asyncio.sleep(1000)

    async with agent(notes, store=store) as one, asyncio.timeout(5):
        stored = await one.begin("hi")
        one.engine.runner.cancel(stored.key)
        assert State((await one.ended(stored)).status.state) is State.CANCELED
        assert ran in ([], [1])


async def test_a_parked_task_is_canceled_directly(store: Store) -> None:
    """Nobody runs it, so nobody has to be told."""
    async with agent(asks, store=store) as one, asyncio.timeout(5):
        task = await one.send("hi")
        assert (await one.engine.cancel(one.scope, task.id)).state is State.CANCELED


async def test_canceling_while_the_handler_parks(store: Store) -> None:
    """A cancellation that meets a question ends the task all the same; no task stays parked for ever."""
    async with agent(asks, store=store) as one, asyncio.timeout(20):
        for delay in range(20):
            stored = await one.begin("hi")
            for _ in range(delay):
                await asyncio.sleep(0)
            assert (await one.engine.cancel(one.scope, stored.wire_id)).state is State.CANCELED


async def test_what_has_ended_cannot_be_canceled(store: Store) -> None:
    """A finished task stays what it is, and a stranger's task is not there."""

    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    async with agent(echo, store=store) as one, asyncio.timeout(5):
        task = await one.send("hi")
        with pytest.raises(TaskNotCancelableError):
            await one.engine.cancel(one.scope, task.id)
        with pytest.raises(TaskNotFoundError):
            await one.engine.cancel(Scope("/agent", "acme", "eve"), task.id)


async def test_cancel_twice_at_once(store: Store) -> None:
    """Repeating a cancel that is under way gives the task."""
    async with agent(sleeps, store=store) as one, asyncio.timeout(5):
        stored = await one.begin("hi")
        ends = await asyncio.gather(*(one.engine.cancel(one.scope, stored.wire_id) for _ in range(3)), return_exceptions=True)
        assert {getattr(end, "state", TaskNotCancelableError) for end in ends} <= {State.CANCELED, TaskNotCancelableError}


@pytest.mark.parametrize("handler", [sleeps, ignores, gives_up, blocks, breaks_when_stopped], ids=lambda handler: handler.__name__)
async def test_a_run_has_a_time_limit(store: Store, handler: object) -> None:
    """Out of time the task fails, also when the handler does not stop."""
    async with agent(Skill("slow", handler, timeout=0.05), store=store) as one, asyncio.timeout(10):
        task = await one.ended(await one.begin("hi"))
        assert State(task.status.state) is State.FAILED
        assert task.status.message.parts[0].text == OUT_OF_TIME


async def test_the_limit_counts_one_run_by_the_clock() -> None:
    """Time spent waiting for an answer does not count; the deadline is the clock's, to the second."""
    clock = FakeClock()

    async def asks_then_works(ctx: TaskContext) -> str:
        await ctx.ask("Well?")
        await asyncio.sleep(1000)
        return str(ctx.deadline)

    async with agent(Skill("slow", asks_then_works, timeout=60), parts=Parts(settings=QUICK, clock=clock)) as one, asyncio.timeout(10):
        task = await one.send("hi")
        clock.advance(3600)
        stored = (await one.give(task, "ok")).stored
        for _ in range(58):
            clock.advance(1)
            await asyncio.sleep(0.001)
        assert (await one.engine.load(one.scope, task.id)).state is State.WORKING
        for _ in range(4):
            clock.advance(1)
            await asyncio.sleep(0.001)
        assert State((await one.ended(stored)).status.state) is State.FAILED


async def test_a_shutdown_waits_for_those_who_are_nearly_done(store: Store) -> None:
    """Within the grace period a handler ends as if nothing were; new work is refused meanwhile."""

    async def short(_ctx: TaskContext) -> str:
        await asyncio.sleep(0.2)
        return "done"

    engine = Engine(store, Skills(Skill("short", short)), Parts(settings=QUICK))
    await engine.open()
    one = InProcessAgent(engine, "short", Scope("a"), None)
    stored = await one.begin("hi")
    closing = asyncio.create_task(engine.close(5))
    await asyncio.sleep(0.01)
    with pytest.raises(UnavailableError):
        await one.begin("hi")
    assert State((await one.ended(stored)).status.state) is State.COMPLETED
    async with asyncio.timeout(5):
        await closing


@pytest.mark.parametrize("handler", [sleeps, ignores, breaks_when_stopped], ids=lambda handler: handler.__name__)
async def test_a_durable_store_hands_running_tasks_over(make_store: MakeStore, handler: object) -> None:
    """What is not done when the process must go is gone on with by the next one; what cannot outlive the process fails with that reason."""
    store = make_store()
    async with agent(Skill("s", handler), store=store) as one, asyncio.timeout(10):
        stored = await one.begin("hi")
        await one.reached(stored, State.WORKING)

    async def finishes(ctx: TaskContext) -> str:
        return f"attempt {ctx.attempt}"

    async with agent(Skill("s", finishes), store=make_store()) as one, asyncio.timeout(10):
        task = await one.ended(stored)
        if store.durable:
            assert texts_of(task) == {"result": ["attempt 2"]}
        else:
            assert (State(task.status.state), task.status.message.parts[0].text) == (State.FAILED, SHUT_DOWN)


@pytest.mark.parametrize("handler", [Skill("s", sleeps, restartable=False), Skill("s", job)], ids=["not restartable", "job"])
async def test_what_cannot_be_run_again_fails_at_shutdown(make_store: MakeStore, handler: Skill) -> None:
    """Handing it over would be a promise that nobody can keep."""
    async with agent(handler, store=make_store()) as one, asyncio.timeout(10):
        stored = await one.begin("hi")
        await one.reached(stored, State.WORKING)
        await asyncio.sleep(0.05)
    async with agent(handler, store=make_store()) as one, asyncio.timeout(10):
        task = await one.ended(stored)
        assert (State(task.status.state), task.status.message.parts[0].text) == (State.FAILED, SHUT_DOWN)


async def test_parked_tasks_outlive_a_restart(make_store: MakeStore) -> None:
    """A shutdown does not touch them; the answer comes to the next process."""
    async with agent(asks, store=make_store()) as one, asyncio.timeout(5):
        task = await one.send("hi")
    async with agent(asks, store=make_store()) as one, asyncio.timeout(5):
        assert State((await one.engine.load(one.scope, task.id)).state) is State.INPUT_REQUIRED
        assert texts_of(await one.answer(task, "still here")) == {"result": ["still here"]}


async def test_a_task_that_must_not_run_twice_fails_when_its_process_is_gone() -> None:
    """It had begun, so it is not begun again; one that had only been answered is."""
    clock = FakeClock()
    store = MemoryStore()

    async def works(_ctx: TaskContext) -> str:
        return "done"

    skill = Skill("s", works, restartable=False)
    async with agent(skill, store=store, parts=Parts(settings=QUICK, clock=clock)) as one, asyncio.timeout(5):
        begun, fresh = [await idle(one) for _ in range(2)]
        await store.update_task(one.scope, begun, Change(state=State.WORKING))
        clock.advance(QUICK.sweep + 1)
        ends = {}
        for key in (begun, fresh):
            event = await one.engine.wait(key, 1)
            ends[key] = (event.state, NOT_RESTARTABLE.encode() in event.body)
        assert ends == {begun: (State.FAILED, True), fresh: (State.COMPLETED, False)}


async def test_a_task_that_never_comes_to_an_end_is_given_up(tmp_path: Path) -> None:
    """After a number of restarts the task fails; runs that follow on an answer do not count."""

    async def starts_only(ctx: TaskContext) -> None:
        await ctx.ask("Well?")
        await ctx.status(f"attempt {ctx.attempt}")
        await asyncio.sleep(1000)

    def restarted() -> AbstractAsyncContextManager[InProcessAgent]:
        return agent(Skill("s", starts_only, restarts=2), store=SqliteStore(tmp_path / "tasks.db"))

    async with restarted() as one, asyncio.timeout(10):
        given = await one.give(await one.send("hi"), "ok")
        cursor = (await one.engine.wait(given.stored.key, given.cursor, frozenset({State.WORKING}))).seq
    for _ in range(2):
        async with restarted() as one, asyncio.timeout(10):
            cursor = (await one.engine.wait(given.stored.key, cursor, frozenset({State.WORKING}))).seq
    async with restarted() as one, asyncio.timeout(10):
        task = await one.ended(given.stored)
        assert task.status.message.parts[0].text == TOO_OFTEN


async def idle(one: InProcessAgent) -> str:
    """Create a task that a process has claimed which is no more."""
    created = await one.engine._store.create_task(one.scope, NewTask("c", user_message("hi"), "s", "v1_0", process="gone"))
    return created.stored.key


async def test_threads_of_abandoned_handlers_end_by_themselves() -> None:
    """What such a thread still wants to write is refused, and the thread ends."""
    async with agent(blocks) as one, asyncio.timeout(5):
        stored = await one.begin("hi")
        await one.reached(stored, State.WORKING)
        await one.engine.cancel(one.scope, stored.wire_id)
        await asyncio.to_thread(lambda: [each.join(2) for each in threading.enumerate() if each.name == "a2a-handler"])
        assert not [each for each in threading.enumerate() if each.name == "a2a-handler"]


async def test_a_shutdown_leaves_stubborn_handlers_behind() -> None:
    """The process does not wait longer than it was told to."""
    quick = replace(QUICK, stubborn_after=0.05)
    started = time.monotonic()
    async with agent(ignores, parts=Parts(settings=quick)) as one:
        stored = await one.begin("hi")
        await one.reached(stored, State.WORKING)
    assert time.monotonic() - started < 0.9
