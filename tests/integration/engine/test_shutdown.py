"""Tasks at the shutdown, the crash and the restart of their process."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_contract.errors import UnavailableError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.run import NOT_RESTARTABLE, SERVER_SHUTDOWN, TOO_MANY_RESTARTS
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import NewTask, TaskChange
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import (
    FAST_SETTINGS,
    InProcessAgent,
    artifact_texts,
    build_user_message,
    run_agent,
)
from a2a_runtime.testing.clock import FakeClock

from .conftest import MakeStore
from .uninterruptible import asks, blocks, breaks_when_stopped, ignores, job, sleeps

pytestmark = pytest.mark.anyio


async def test_a_shutdown_waits_for_running_handlers(make_store: MakeStore) -> None:
    """Within the grace period a handler ends normally; new messages are refused."""
    release = asyncio.Event()

    async def short(_ctx: TaskContext) -> str:
        await release.wait()
        return "done"

    engine = Engine(
        make_store(), Skills(Skill("short", short)), EngineOptions(settings=FAST_SETTINGS)
    )
    await engine.open()
    one = InProcessAgent(engine, "short", TaskScope("a"), None)
    stored = await one.start("hi")
    closing = asyncio.create_task(engine.close(60))
    await asyncio.sleep(0.01)
    with pytest.raises(UnavailableError):
        await one.start("hi")
    release.set()
    async with asyncio.timeout(30):
        await closing
    async with run_agent(Skill("short", short), store=make_store()) as after, asyncio.timeout(30):
        ended = await after.engine.load(stored.scope, stored.wire_id)
    assert (ended.state, ended.epoch) == (State.COMPLETED, stored.epoch)


@pytest.mark.parametrize(
    "handler", [sleeps, ignores, breaks_when_stopped], ids=lambda handler: handler.__name__
)
async def test_running_tasks_are_released_on_a_durable_store(
    make_store: MakeStore, handler: object
) -> None:
    """The next process resumes them; a job fails with that reason."""
    store = make_store()
    async with run_agent(Skill("s", handler), store=store) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)

    async def finishes(ctx: TaskContext) -> str:
        return f"attempt {ctx.attempt}"

    async with run_agent(Skill("s", finishes), store=make_store()) as one, asyncio.timeout(30):
        task = await one.wait_terminal(stored)
        if store.runs_again:
            assert artifact_texts(task) == {"result": ["attempt 2"]}
        else:
            assert (State(task.status.state), task.status.message.parts[0].text) == (
                State.FAILED,
                SERVER_SHUTDOWN,
            )


@pytest.mark.parametrize(
    "handler",
    [Skill("s", sleeps, restartable=False), Skill("s", job)],
    ids=["not restartable", "job"],
)
async def test_tasks_that_cannot_be_restarted_fail_at_shutdown(
    make_store: MakeStore, handler: Skill
) -> None:
    """No process could run them again."""
    async with run_agent(handler, store=make_store()) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        while any(run._can_release for run in one.engine.runner._running.values()):  # noqa: ASYNC110 - the handler hands its job back
            await asyncio.sleep(0.01)
    async with run_agent(handler, store=make_store()) as one, asyncio.timeout(30):
        task = await one.wait_terminal(stored)
        assert (State(task.status.state), task.status.message.parts[0].text) == (
            State.FAILED,
            SERVER_SHUTDOWN,
        )


async def test_suspended_tasks_survive_a_restart(make_store: MakeStore) -> None:
    """A shutdown does not touch them; the answer comes to the next process."""
    async with run_agent(asks, store=make_store()) as one, asyncio.timeout(30):
        task = await one.send("hi")
    async with run_agent(asks, store=make_store()) as one, asyncio.timeout(30):
        assert State((await one.engine.load(one.scope, task.id)).state) is State.INPUT_REQUIRED
        assert artifact_texts(await one.answer(task, "still here")) == {"result": ["still here"]}


async def test_a_task_that_must_not_run_twice_fails_when_its_process_is_gone() -> None:
    """A task that was working is not restarted; one that was only answered is."""
    clock = FakeClock()
    store = MemoryStore()

    async def works(_ctx: TaskContext) -> str:
        return "done"

    skill = Skill("s", works, restartable=False)
    async with (
        run_agent(
            skill, store=store, options=EngineOptions(settings=FAST_SETTINGS, clock=clock)
        ) as one,
        asyncio.timeout(30),
    ):
        begun, fresh = [await idle(one) for _ in range(2)]
        await store.update_task(one.scope, begun, TaskChange(state=State.WORKING))
        clock.advance(FAST_SETTINGS.orphan_scan_interval + 1)
        ends = {}
        for key in (begun, fresh):
            event = await one.engine.hub.wait_for(key, 1, TERMINAL)
            ends[key] = (event.state, NOT_RESTARTABLE.encode() in event.body)
        assert ends == {begun: (State.FAILED, True), fresh: (State.COMPLETED, False)}


async def test_a_task_fails_after_too_many_crashes(tmp_path: Path) -> None:
    """Runs that follow on an answer or a handover do not count."""

    async def starts_only(ctx: TaskContext) -> None:
        await ctx.ask("Well?")
        await ctx.status(f"attempt {ctx.attempt}")
        await asyncio.sleep(1000)

    def restart_agent() -> AbstractAsyncContextManager[InProcessAgent]:
        return run_agent(
            Skill("s", starts_only, max_restarts=2), store=SqliteStore(tmp_path / "tasks.db")
        )

    async with restart_agent() as one, asyncio.timeout(30):
        given = await one.send_to_task(await one.send("hi"), "ok")
        cursor = (await one.engine.wait(given.stored, given.cursor, frozenset({State.WORKING}))).seq
    for _ in range(3):
        async with restart_agent() as one, asyncio.timeout(30):
            cursor = (await one.engine.wait(given.stored, cursor, frozenset({State.WORKING}))).seq
    store = SqliteStore(tmp_path / "tasks.db")
    await store.open()
    for number in range(3):
        assert await store.claim(given.stored.key, f"dead-{number}") is not None
    await store.close()
    async with restart_agent() as one, asyncio.timeout(30):
        task = await one.wait_terminal(given.stored)
        assert task.status.message.parts[0].text == TOO_MANY_RESTARTS


async def idle(one: InProcessAgent) -> str:
    """Create a task that a dead process has claimed."""
    created = await one.engine.store.create_task(
        one.scope, NewTask("c", build_user_message("hi"), "s", "v1_0", process="gone")
    )
    return created.stored.key


async def test_threads_of_abandoned_handlers_end_by_themselves() -> None:
    """The writes of such a thread are refused, and the thread ends."""
    async with run_agent(blocks) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        await one.engine.cancel(one.scope, stored.wire_id)
        await asyncio.to_thread(
            lambda: [each.join(2) for each in threading.enumerate() if each.name == "a2a-handler"]
        )
        assert not [each for each in threading.enumerate() if each.name == "a2a-handler"]


async def test_a_shutdown_abandons_handlers_that_ignore_the_stop_request() -> None:
    """The process waits no longer than the grace period; the handler ends only after the
    shutdown.
    """
    over = asyncio.Event()

    async def continues(_ctx: TaskContext) -> None:
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()

    quick = replace(FAST_SETTINGS, cancel_grace=0.05)
    async with asyncio.timeout(30):
        async with run_agent(continues, options=EngineOptions(settings=quick)) as one:
            stored = await one.start("hi")
            await one.wait_for_state(stored, State.WORKING)
        assert not over.is_set()
    over.set()
