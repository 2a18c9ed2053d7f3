"""Several processes on one store: engines that share nothing but the store and an unreliable
notifier.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskState
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import ChangeResult, NewTask, StoredTask, TaskChange, TaskQuery
from a2a_runtime.stores.notifier import InProcessNotifier, Notifier
from a2a_runtime.testing.agent import (
    FAST_SETTINGS,
    InProcessAgent,
    artifact_texts,
    build_user_message,
    run_agent,
)
from a2a_runtime.testing.notifiers import UnreliableNotifier

pytestmark = pytest.mark.anyio

LEASE = 1.0
Replicas = tuple[InProcessAgent, InProcessAgent]


async def slow_stream(_ctx: TaskContext):  # noqa: ANN201 - what a user may leave out
    """Stream for a while."""
    for number in range(40):
        yield str(number)
        await asyncio.sleep(0.01)


async def ask_once(ctx: TaskContext) -> str:
    """Ask."""
    return (await ctx.ask("Well?")).text


async def echoes(ctx: TaskContext) -> str:
    """Answer."""
    return ctx.text


async def waits(_ctx: TaskContext) -> None:
    """Take long."""
    await asyncio.sleep(1000)


@pytest.fixture(params=["memory", "postgres"])
def notifiers_and_stores(request: pytest.FixtureRequest) -> tuple[list[Notifier], list[Store]]:
    """Two notifiers and two stores of one database; two of three notifications are lost."""
    if request.param == "memory":
        store = MemoryStore(StoreOptions(lease_seconds=LEASE))
        shared = InProcessNotifier()
        return [UnreliableNotifier(shared, should_drop=lambda n: n % 3 > 0) for _ in range(2)], [
            store,
            store,
        ]
    url = request.getfixturevalue("postgres_url")
    stores: list[Store] = [PostgresStore(url, StoreOptions(lease_seconds=LEASE)) for _ in range(2)]
    return [
        UnreliableNotifier(PostgresNotifier(url), should_drop=lambda n: n % 3 > 0) for _ in range(2)
    ], stores


@pytest.fixture
async def replicas(
    notifiers_and_stores: tuple[list[Notifier], list[Store]],
) -> AsyncIterator[Replicas]:
    """Two processes with the same agent."""
    bells, stores = notifiers_and_stores
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(
                run_agent(
                    slow_stream,
                    ask_once,
                    waits,
                    store=store,
                    options=EngineOptions(settings=FAST_SETTINGS, notifier=notifier),
                )
            )
            for notifier, store in zip(bells, stores, strict=True)
        ]
        yield one, other


async def test_a_stream_is_followed_from_elsewhere(
    replicas: Replicas, notifiers_and_stores: tuple[list[UnreliableNotifier], list[Store]]
) -> None:
    """Readers in another process get every event once and in order, while notifications are lost
    and listeners disconnected.
    """
    one, other = replicas
    async with asyncio.timeout(30):
        stored = await one.start("go")
        readers = [asyncio.create_task(other.collect_events(stored)) for _ in range(10)]
        for _ in range(5):
            await asyncio.sleep(0.05)
            for notifier in notifiers_and_stores[0]:
                notifier.disconnect_all()
        for reader in readers:
            events = await reader
            assert [event.seq for event in events] == list(range(1, 44))
            assert events[-1].state is State.COMPLETED


async def test_a_task_is_canceled_from_elsewhere(replicas: Replicas) -> None:
    """The process of the handler applies the cancellation after a notification, or when it renews
    its lease.
    """
    one, other = replicas
    async with asyncio.timeout(30):
        stored = await one.start("go", skill="waits")
        await one.wait_for_state(stored, State.WORKING)
        assert (await other.engine.cancel(other.scope, stored.wire_id)).state is State.CANCELED


async def test_an_answer_may_come_to_another_process(replicas: Replicas) -> None:
    """The process that gets the answer runs the task, and readers elsewhere get its end."""
    one, other = replicas
    async with asyncio.timeout(30):
        stored = await one.start("go", skill="ask_once")
        task = await one.wait_settled(stored)
        ended = asyncio.create_task(one.wait_terminal(stored))
        assert artifact_texts(await other.answer(task, "there")) == {"result": ["there"]}
        assert artifact_texts(await ended) == {"result": ["there"]}


async def test_tasks_of_a_live_process_are_never_claimed(replicas: Replicas) -> None:
    """A process that renews its lease keeps its tasks."""
    one, other = replicas
    async with asyncio.timeout(30):
        stored = await one.start("go", skill="waits")
        await asyncio.sleep(LEASE * 2)
        now = await other.engine.load(other.scope, stored.wire_id)
        assert (now.epoch, now.process) == (1, one.engine.runner.process)


async def test_a_claimed_task_that_does_not_run_is_released(replicas: Replicas) -> None:
    """The process that claimed it may have lost the answer of the store; it notices when it renews
    its lease, and the task is run.
    """
    one, _ = replicas
    async with asyncio.timeout(30):
        message = build_user_message("go", message_id="m-1")
        new = NewTask(
            "c-1", message, "slow_stream", CANONICAL.name, process=one.engine.runner.process
        )
        lost = (await one.engine.store.create_task(one.scope, new)).stored
        task = await one.wait_terminal(lost)
        assert artifact_texts(task) == {"result": [str(number) for number in range(40)]}


async def test_orphans_are_taken_over_as_fast_as_they_can_be_run(
    notifiers_and_stores: tuple[list[Notifier], list[Store]],
) -> None:
    """A scan goes on until there are no orphans left, also of skills that no process knows."""
    _, (store, _) = notifiers_and_stores
    await store.open()
    message = build_user_message("go", message_id="m-1")
    scope = TaskScope("/agent", "", "ada")
    new = [
        NewTask("c-1", message, "echoes" if n % 10 else "unknown", CANONICAL.name)
        for n in range(300)
    ]
    for each in new:
        await store.create_task(scope, each)
    await store.close()
    settings = replace(FAST_SETTINGS, orphan_scan_interval=1000.0)
    async with (
        run_agent(echoes, store=store, options=EngineOptions(settings=settings)),
        asyncio.timeout(20),
    ):
        while (await store.list_tasks(scope, TaskQuery(state=State.COMPLETED))).total_size < 270:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.02)


async def test_many_orphans_are_shared_by_the_living(postgres_url: str) -> None:
    """A process that finds many notifies the others, which take part at once, and not only at their
    next scan.
    """
    counts = Counter[int]()

    def count_runs(number: int) -> Skill:
        async def echoes(_ctx: TaskContext) -> None:
            counts[number] += 1
            await asyncio.sleep(0)

        return Skill("echoes", echoes)

    dying = PostgresStore(postgres_url, StoreOptions(lease_seconds=600))
    await dying.open()
    await dying.register("dying")
    scope = TaskScope("/agent", "", "ada")
    new = NewTask("c-1", build_user_message("go"), "echoes", CANONICAL.name, process="dying")
    await asyncio.gather(*[dying.create_task(scope, new) for _ in range(600)])
    async with AsyncExitStack() as stack, asyncio.timeout(30):
        for number, interval in enumerate((1000.0, 1000.0, 0.1)):
            options = EngineOptions(
                replace(FAST_SETTINGS, orphan_scan_interval=interval),
                notifier=PostgresNotifier(postgres_url),
            )
            await stack.enter_async_context(
                run_agent(count_runs(number), store=PostgresStore(postgres_url), options=options)
            )
        await dying.unregister("dying")
        await dying.close()
        while sum(counts.values()) < 600:  # noqa: ASYNC110 - the counts have no event
            await asyncio.sleep(0.02)
    assert min(counts[number] for number in range(3)) >= 20, (
        counts
    )  # without a notification those with a long interval get none


async def test_the_cleanup_goes_on_until_nothing_is_due() -> None:
    """Its interval does not limit how much it deletes."""
    store = MemoryStore(StoreOptions(retention_seconds=0, conversation_retention_seconds=0))
    scope = TaskScope("/agent", "", "ada")
    for n in range(1000):
        stored = (
            await store.create_task(
                scope,
                NewTask(
                    f"c-{n}", build_user_message("go", message_id="m-1"), "echoes", CANONICAL.name
                ),
            )
        ).stored
        await store.update_task(scope, stored.key, TaskChange(state=State.COMPLETED))
    settings = replace(FAST_SETTINGS, cleanup_interval=1000.0)
    async with (
        run_agent(echoes, store=store, options=EngineOptions(settings=settings)),
        asyncio.timeout(20),
    ):
        while await store.list_scopes():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.02)


async def test_writes_after_a_lost_lease_are_refused(replicas: Replicas) -> None:
    """Another process has claimed the task; the first run stops, and the log has one terminal
    event.
    """
    one, other = replicas
    async with asyncio.timeout(30):
        stored = await one.start("go", skill="slow_stream")
        await one.wait_for_state(stored, State.WORKING)
        await one.engine.store.unregister(one.engine.runner.process or "")
        while (
            now := await other.engine.load(other.scope, stored.wire_id)
        ).epoch == 1 and now.state is State.WORKING:
            await other.engine.runner.resume(stored.key)
        task = await other.wait_terminal(stored)
        events = await other.collect_events(stored)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.state for event in events].count(State.COMPLETED) == 1
        assert artifact_texts(task) == {"result": [str(number) for number in range(40)]}


async def leave_a_task(store: MemoryStore) -> StoredTask:
    """Begin a task in a process that ends, and give others time to claim it."""
    async with run_agent(waits, store=store) as one:
        stored = await one.start("go")
        await one.wait_for_state(stored, State.WORKING)
        for run in one.engine.runner._running.values():
            run._can_release = True
    await asyncio.sleep(0.3)
    return stored


async def test_tasks_with_unknown_skills_are_released() -> None:
    """A process without the skill of a task does not run it, whether its process lives or not."""
    store = MemoryStore(StoreOptions(lease_seconds=0.1))
    async with run_agent(ask_once, store=store) as other, asyncio.timeout(30):
        stored = await leave_a_task(store)
        assert (await other.engine.load(other.scope, stored.wire_id)).state is State.WORKING


async def test_a_task_runs_as_soon_as_its_skill_is_known() -> None:
    """A source may list its skills after the process has found their tasks."""
    store = MemoryStore(StoreOptions(lease_seconds=0.1))
    async with run_agent(ask_once, store=store) as other, asyncio.timeout(30):
        stored = await leave_a_task(store)
        other.engine.runner._skills.add(None, Skill("waits", echoes))
        assert (await other.wait_terminal(stored)).status.state == TaskState.COMPLETED


class FlakyStore(MemoryStore):
    """Store that raises before some commits and after others."""

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


async def test_writes_are_retried_while_the_store_is_unavailable() -> None:
    """The handler is only delayed; a chunk that was committed despite an error is not written
    twice.
    """

    async def streams(_ctx: TaskContext):  # noqa: ANN202 - as above
        for number in range(6):
            yield str(number)

    async with run_agent(streams, store=FlakyStore()) as one, asyncio.timeout(30):
        task = await one.wait_terminal(await one.start("go"))
        assert artifact_texts(task) == {"result": ["0", "1", "2", "3", "4", "5"]}
        assert [event.seq for event in await one.collect_events(task)] == list(range(1, 10))


class AwayStore(MemoryStore):
    """Store that cannot be written while it is away."""

    is_away = False

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Raise while the store is away."""
        if self.is_away:
            raise StoreUnavailableError("away")
        return await super().update_task(scope, key, change)


async def test_a_task_is_handed_over_when_the_store_is_away_for_too_long() -> None:
    """A crash would have had the handler run again, and so has an outage: the task does not
    fail.
    """
    store = AwayStore()
    attempts = list[int]()

    async def works(ctx: TaskContext) -> str:
        attempts.append(ctx.attempt)
        store.is_away = ctx.attempt == 1
        try:
            await ctx.status("half")
        finally:
            store.is_away = False
        return "done"

    options = EngineOptions(settings=replace(FAST_SETTINGS, store_retry_timeout=0.2))
    async with run_agent(works, store=store, options=options) as one, asyncio.timeout(20):
        assert (await one.send("go")).status.state == TaskState.COMPLETED
        assert attempts == [1, 2]
