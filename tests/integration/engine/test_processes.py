"""Several processes on one store: each is an engine of its own, with nothing in common but the store and a doorbell that cannot be relied upon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import EngineOptions
from a2a_runtime.stores.base import ChangeResult, Store, StoreOptions, TaskChange
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.streams.notifier import InProcessNotifier, Notifier
from a2a_runtime.testing.agent import FAST_SETTINGS, InProcessAgent, artifact_texts, run_agent
from a2a_runtime.testing.bells import UnreliableNotifier

pytestmark = pytest.mark.anyio

LEASE = 1.0
Replicas = tuple[InProcessAgent, InProcessAgent]


async def slow_stream(_ctx: TaskContext):  # noqa: ANN201 - what a user may leave out
    """Stream for a while."""
    for number in range(40):
        yield str(number)
        await asyncio.sleep(0.01)


async def asks(ctx: TaskContext) -> str:
    """Ask."""
    return (await ctx.ask("Well?")).text


async def waits(_ctx: TaskContext) -> None:
    """Take long."""
    await asyncio.sleep(1000)


@pytest.fixture(params=["memory", "postgres"])
def bells_and_stores(request: pytest.FixtureRequest) -> tuple[list[Notifier], list[Store]]:
    """Two doorbells and two stores that belong together; two of three bells get lost."""
    if request.param == "memory":
        store = MemoryStore(StoreOptions(lease_seconds=LEASE))
        shared = InProcessNotifier()
        return [UnreliableNotifier(shared, should_drop=lambda n: n % 3 > 0) for _ in range(2)], [store, store]
    url = request.getfixturevalue("postgres_url")
    stores: list[Store] = [PostgresStore(url, StoreOptions(lease_seconds=LEASE)) for _ in range(2)]
    return [UnreliableNotifier(PostgresNotifier(url), should_drop=lambda n: n % 3 > 0) for _ in range(2)], stores


@pytest.fixture
async def replicas(bells_and_stores: tuple[list[Notifier], list[Store]]) -> AsyncIterator[Replicas]:
    """Two processes with the same agent."""
    bells, stores = bells_and_stores
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(
                run_agent(slow_stream, asks, waits, store=store, options=EngineOptions(settings=FAST_SETTINGS, notifier=bell))
            )
            for bell, store in zip(bells, stores, strict=True)
        ]
        yield one, other


async def test_a_stream_is_followed_from_elsewhere(replicas: Replicas, bells_and_stores: tuple[list[UnreliableNotifier], list[Store]]) -> None:
    """Readers in another process see every event once and in order, while bells get lost and listeners are cut off."""
    one, other = replicas
    async with asyncio.timeout(30):
        stored = await one.start("go")
        readers = [asyncio.create_task(other.collect_events(stored)) for _ in range(10)]
        for _ in range(5):
            await asyncio.sleep(0.05)
            for bell in bells_and_stores[0]:
                bell.disconnect_all()
        for reader in readers:
            events = await reader
            assert [event.seq for event in events] == list(range(1, 44))
            assert events[-1].state is State.COMPLETED


async def test_a_task_is_canceled_from_elsewhere(replicas: Replicas) -> None:
    """The process that runs the handler hears of it, by the bell or by itself within a beat."""
    one, other = replicas
    async with asyncio.timeout(10):
        stored = await one.start("go", skill="waits")
        await one.wait_for_state(stored, State.WORKING)
        assert (await other.engine.cancel(other.scope, stored.wire_id)).state is State.CANCELED


async def test_an_answer_may_come_to_another_process(replicas: Replicas) -> None:
    """Whoever gets the answer goes on with the task, and whoever waited for it hears of the end."""
    one, other = replicas
    async with asyncio.timeout(10):
        stored = await one.start("go", skill="asks")
        task = await one.wait_settled(stored)
        ended = asyncio.create_task(one.wait_terminal(stored))
        assert artifact_texts(await other.answer(task, "there")) == {"result": ["there"]}
        assert artifact_texts(await ended) == {"result": ["there"]}


async def test_tasks_of_a_live_process_are_never_taken(replicas: Replicas) -> None:
    """However long it takes: as long as the process renews its lease, its tasks are its own."""
    one, other = replicas
    async with asyncio.timeout(10):
        stored = await one.start("go", skill="waits")
        await asyncio.sleep(LEASE * 2)
        now = await other.engine.load(other.scope, stored.wire_id)
        assert (now.epoch, now.process) == (1, one.engine.runner.process)


async def test_a_process_that_wakes_up_too_late_can_write_no_more(replicas: Replicas) -> None:
    """A process that slept through its lease finds its task run by another; its own run ends quietly, and the log has one end."""
    one, other = replicas
    async with asyncio.timeout(20):
        stored = await one.start("go", skill="slow_stream")
        await one.wait_for_state(stored, State.WORKING)
        await one.engine._store.unregister(one.engine.runner.process or "")
        while (now := await other.engine.load(other.scope, stored.wire_id)).epoch == 1 and now.state is State.WORKING:
            await other.engine.runner.resume(stored.key)
        task = await other.wait_terminal(stored)
        events = await other.collect_events(stored)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.state for event in events].count(State.COMPLETED) == 1
        assert artifact_texts(task) == {"result": [str(number) for number in range(40)]}


async def test_tasks_of_other_agents_are_left_to_them() -> None:
    """A process that does not have a skill does not touch its tasks, whether their process lives or not."""
    store = MemoryStore(StoreOptions(lease_seconds=0.1))
    async with run_agent(asks, store=store) as other, asyncio.timeout(10):
        async with run_agent(waits, store=store) as one:
            stored = await one.start("go")
            await one.wait_for_state(stored, State.WORKING)
            for run in one.engine.runner._running.values():
                run._can_release = True
        await asyncio.sleep(0.3)
        assert (await other.engine.load(other.scope, stored.wire_id)).state is State.WORKING


class Moody(MemoryStore):
    """A store that is away now and then, and sometimes commits without being able to say so."""

    calls = 0

    async def update_task(self, scope: object, key: str, change: TaskChange) -> ChangeResult:
        """Fail before or after the fact."""
        self.calls += 1
        if self.calls % 3 == 1:
            raise StoreUnavailableError("away")
        written = await super().update_task(scope, key, change)
        if self.calls % 3 == 0 and written.events:
            raise StoreUnavailableError("the answer was lost")
        return written


async def test_writes_wait_for_a_store_that_is_away() -> None:
    """A handler only notices that it takes longer; a chunk whose commit was answered by an error is not written twice."""

    async def streams(_ctx: TaskContext):  # noqa: ANN202 - as above
        for number in range(6):
            yield str(number)

    async with run_agent(streams, store=Moody()) as one, asyncio.timeout(20):
        task = await one.wait_terminal(await one.start("go"))
        assert artifact_texts(task) == {"result": ["0", "1", "2", "3", "4", "5"]}
        assert [event.seq for event in await one.collect_events(task)] == list(range(1, 10))
