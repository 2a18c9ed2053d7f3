"""The doorbell between processes: what is rung is heard, and what cannot be heard is made up for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from uuid import uuid4

import asyncpg
import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.caller import TaskScope
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import Engine
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.streams.notifier import InProcessNotifier, Notifier
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.embedded_postgres import PostgresServer
from a2a_runtime.testing.store_contract.case import build_new_task

pytestmark = pytest.mark.anyio

TIMEOUT_SECONDS = 10.0


class RecordingListener:
    """Hears, and remembers."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.calls = 0
        self.reconnects = 0
        self._heard = asyncio.Event()

    def on_notification(self, keys: Iterable[str]) -> None:
        """Remember the keys."""
        self.keys.update(keys)
        self.calls += 1
        self._heard.set()

    def on_reconnect(self) -> None:
        """Count."""
        self.reconnects += 1
        self._heard.set()

    async def wait_until(self, enough: Callable[[RecordingListener], bool]) -> None:
        """Wait until enough was heard."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not enough(self):
                await self._heard.wait()
                self._heard.clear()


@asynccontextmanager
async def listening(*bells: Notifier) -> AsyncIterator[list[RecordingListener]]:
    """Let somebody listen to each doorbell, and wait until all of them hear."""
    ears = [RecordingListener() for _ in bells]
    tasks = [asyncio.create_task(bell.listen(each)) for bell, each in zip(bells, ears, strict=True)]
    for each in ears:
        if not isinstance(bells[0], InProcessNotifier):
            await each.wait_until(lambda now: now.reconnects == 1)
    await asyncio.sleep(0)
    yield ears
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def kill_all_others(url: str) -> None:
    """End every other session of the database."""
    connection = await asyncpg.connect(url)
    try:
        others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        await connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
    finally:
        await connection.close()


async def test_the_others_hear_and_the_ringer_does_not(postgres_url: str) -> None:
    """A bell reaches every other process; whoever rings has told its own readers already."""
    async with listening(*(PostgresNotifier(postgres_url) for _ in range(3))) as ears:
        bells = [PostgresNotifier(postgres_url)]
        async with listening(*bells) as (own,):
            bells[0].notify(["a", "b"])
            for each in ears:
                await each.wait_until(lambda now: now.keys == {"a", "b"})
            assert own.keys == set()


async def test_many_bells_become_few_notifications(postgres_url: str) -> None:
    """What is rung while a notification is under way goes with the next one, and payloads stay below the server's limit."""
    bell = PostgresNotifier(postgres_url)
    keys = [str(uuid4()) for _ in range(1_000)]
    async with listening(PostgresNotifier(postgres_url), bell) as (ears, _):
        for key in keys:
            bell.notify([key])
        await ears.wait_until(lambda now: now.keys == set(keys))
        assert ears.calls <= 10
        assert ears.reconnects == 1


async def test_too_many_keys_mean_everything(postgres_url: str) -> None:
    """Beyond some number of tasks, the bell says that any may have changed."""
    bell = PostgresNotifier(postgres_url)
    async with listening(PostgresNotifier(postgres_url), bell) as (ears, _):
        bell.notify(str(uuid4()) for _ in range(5_000))
        await ears.wait_until(lambda now: now.reconnects == 2)


async def test_after_a_lost_connection_everything_may_have_changed(postgres_url: str) -> None:
    """A killed listener comes back, says that bells may have been lost, and hears again; what was not sent yet is sent."""
    bell = PostgresNotifier(postgres_url, retry_seconds=0.05)
    async with listening(PostgresNotifier(postgres_url, retry_seconds=0.05), bell) as (ears, _):
        await kill_all_others(postgres_url)
        bell.notify(["rung-without-a-connection"])
        await ears.wait_until(lambda now: now.reconnects == 2)
        bell.notify(["rung-later"])
        await ears.wait_until(lambda now: "rung-later" in now.keys)


async def test_a_connection_that_is_half_open_is_given_up() -> None:
    """A server that answers no more is noticed by the sign of life that is asked for now and then."""
    with PostgresServer({"fsync": "off"}) as server:
        bell = PostgresNotifier(server.url, check_seconds=0.3, retry_seconds=0.05)
        async with listening(bell) as (ears,):
            server.freeze()
            await asyncio.sleep(1.0)
            server.thaw()
            await ears.wait_until(lambda now: now.reconnects >= 2)


async def test_a_server_that_is_away_is_waited_for() -> None:
    """The doorbell of a process that was started before its server rings as soon as there is one."""
    with PostgresServer({"fsync": "off"}) as server:
        server.stop()
        bell, other = (PostgresNotifier(server.url, retry_seconds=0.05) for _ in range(2))
        ears = RecordingListener()
        tasks = [asyncio.create_task(bell.listen(RecordingListener())), asyncio.create_task(other.listen(ears))]
        bell.notify(["early"])
        await asyncio.sleep(0.3)
        server.restart()
        await ears.wait_until(lambda now: now.reconnects >= 1)
        bell.notify(["late"])
        await ears.wait_until(lambda now: "late" in now.keys)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_local_bell_is_a_function_call() -> None:
    """In one process all who listen hear at once, and nobody hears after they have stopped."""
    bell = InProcessNotifier()
    async with listening(bell, bell) as ears:
        bell.notify(["a"])
        assert [each.keys for each in ears] == [{"a"}, {"a"}]
    bell.notify(["b"])
    assert ears[0].keys == {"a"}


@asynccontextmanager
async def app_engine(agent: Agent, store: Store | str) -> AsyncIterator[Engine]:
    """Run an app that never looks by itself whether there are news, and get at its engine."""
    app = create_app(agent, store=store, settings=FAST_SETTINGS)
    async with app.lifespan():
        assembly = app.plugins.get(A2APlugin).runtime
        assert assembly is not None
        assembly.engine._hub._poll_interval_seconds = 3600.0  # what a user cannot ask for
        yield assembly.engine


@pytest.mark.parametrize("store", [pytest.param(str, id="by-its-address"), pytest.param(PostgresStore, id="as-an-object")])
async def test_apps_that_share_a_store_hear_of_each_other(postgres_url: str, store: Callable[[str], Store | str]) -> None:
    """Whoever follows a task at one app hears what the other one does, however the app was given its store."""
    agent, go_on = Agent("one", description="Waits."), asyncio.Event()

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        """Wait."""
        await ctx.status("at it")
        await go_on.wait()
        return "done"

    scope = TaskScope(Surface(agent).storage_key, "", "ada")
    async with app_engine(agent, store(postgres_url)) as one, app_engine(agent, store(postgres_url)) as other, asyncio.timeout(TIMEOUT_SECONDS):
        accepted = await one.start(scope, build_new_task())
        await one.wait(accepted.stored.key, accepted.cursor, frozenset({State.WORKING}))
        async with aclosing(await other.follow(scope, accepted.stored.wire_id)) as events:
            heard = [(await anext(events)).state]
            go_on.set()
            heard += [event.state async for event in events]
    assert (heard[0], heard[-1]) == (State.WORKING, State.COMPLETED)
