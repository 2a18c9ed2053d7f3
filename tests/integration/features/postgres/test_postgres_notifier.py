"""Notifiers between processes: delivery, batching, and reconnects."""

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
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import Engine
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.plugin import A2APlugin
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.notifier import InProcessNotifier, Notifier
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import FAST_SETTINGS
from a2a_runtime.testing.embedded_postgres import PostgresServer
from a2a_runtime.testing.store_contract.case import build_new_task

pytestmark = pytest.mark.anyio

TIMEOUT_SECONDS = 10.0


class RecordingListener:
    """Records notifications."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.calls = 0
        self.reconnects = 0
        self._received = asyncio.Event()

    def on_notification(self, keys: Iterable[str]) -> None:
        """Record the keys."""
        self.keys.update(keys)
        self.calls += 1
        self._received.set()

    def on_reconnect(self) -> None:
        """Count reconnects."""
        self.reconnects += 1
        self._received.set()

    async def wait_until(self, is_done: Callable[[RecordingListener], bool]) -> None:
        """Wait until a condition holds."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not is_done(self):
                await self._received.wait()
                self._received.clear()


@asynccontextmanager
async def start_listeners(*notifiers: Notifier) -> AsyncIterator[list[RecordingListener]]:
    """Start a listener for each notifier, and wait until all are connected."""
    listeners = [RecordingListener() for _ in notifiers]
    tasks = [
        asyncio.create_task(notifier.listen(each))
        for notifier, each in zip(notifiers, listeners, strict=True)
    ]
    for each in listeners:
        if not isinstance(notifiers[0], InProcessNotifier):
            await each.wait_until(lambda now: now.reconnects == 1)
    await asyncio.sleep(0)
    yield listeners
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def kill_all_others(url: str) -> None:
    """End every other session of the database."""
    connection = await asyncpg.connect(url)
    try:
        others = (
            "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        await connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
    finally:
        await connection.close()


async def test_the_other_processes_are_notified(postgres_url: str) -> None:
    """A notification reaches every process but its sender, which has notified its own readers
    already.
    """
    async with start_listeners(*(PostgresNotifier(postgres_url) for _ in range(3))) as others:
        notifier = PostgresNotifier(postgres_url)
        async with start_listeners(notifier) as (own,):
            notifier.notify(["a", "b"])
            for each in others:
                await each.wait_until(lambda now: now.keys == {"a", "b"})
            assert own.keys == set()


async def test_notifications_are_batched(postgres_url: str) -> None:
    """Keys that arrive during a notification go into the next one, and payloads stay below the
    limit of the server.
    """
    notifier = PostgresNotifier(postgres_url)
    keys = [str(uuid4()) for _ in range(1_000)]
    async with start_listeners(PostgresNotifier(postgres_url), notifier) as (listener, _):
        for key in keys:
            notifier.notify([key])
        await listener.wait_until(lambda now: now.keys == set(keys))
        assert listener.calls <= 10
        assert listener.reconnects == 1


async def test_what_is_pending_is_sent_before_the_end(postgres_url: str) -> None:
    """A process that stops tells the others of its last changes, which may be that it has given its
    tasks away.
    """
    notifier = PostgresNotifier(postgres_url)
    async with start_listeners(PostgresNotifier(postgres_url)) as (listener,):
        async with start_listeners(notifier):
            for n in range(5):  # the next one waits a little after each
                notifier.notify([str(n)])
                await listener.wait_until(lambda now, n=n: str(n) in now.keys)
            notifier.notify(["last"])
        await listener.wait_until(lambda now: "last" in now.keys)
        assert not notifier.is_connected


async def test_too_many_keys_mean_all_tasks(postgres_url: str) -> None:
    """Beyond a limit, one notification says that any task may have changed."""
    notifier = PostgresNotifier(postgres_url)
    async with start_listeners(PostgresNotifier(postgres_url), notifier) as (listener, _):
        notifier.notify(str(uuid4()) for _ in range(5_000))
        await listener.wait_until(lambda now: now.reconnects == 2)


async def test_after_a_reconnect_all_tasks_may_have_changed(postgres_url: str) -> None:
    """A listener reconnects after a lost connection, reports it, and receives notifications
    again.
    """
    notifier = PostgresNotifier(postgres_url, retry_seconds=0.05)
    async with start_listeners(PostgresNotifier(postgres_url, retry_seconds=0.05), notifier) as (
        listener,
        _,
    ):
        await kill_all_others(postgres_url)
        notifier.notify(["sent-without-a-connection"])
        await listener.wait_until(lambda now: now.reconnects == 2)
        notifier.notify(["sent-later"])
        await listener.wait_until(lambda now: "sent-later" in now.keys)


async def test_a_half_open_connection_is_replaced() -> None:
    """A silent server is detected by the periodic check."""
    with PostgresServer({"fsync": "off"}) as server:
        notifier = PostgresNotifier(server.url, check_seconds=0.3, retry_seconds=0.05)
        async with start_listeners(notifier) as (listener,):
            server.freeze()
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while not notifier._outages.is_open:  # noqa: ASYNC110 - it has no event
                    await asyncio.sleep(0.05)
            server.thaw()
            await listener.wait_until(lambda now: now.reconnects >= 2)


async def test_a_notifier_waits_for_its_server() -> None:
    """It connects as soon as the server is there."""
    with PostgresServer({"fsync": "off"}) as server:
        server.stop()
        notifier, other = (PostgresNotifier(server.url, retry_seconds=0.05) for _ in range(2))
        listener = RecordingListener()
        tasks = [
            asyncio.create_task(notifier.listen(RecordingListener())),
            asyncio.create_task(other.listen(listener)),
        ]
        notifier.notify(["early"])
        await asyncio.sleep(0.3)
        server.restart()
        await listener.wait_until(lambda now: now.reconnects >= 1)
        notifier.notify(["late"])
        await listener.wait_until(lambda now: "late" in now.keys)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_in_process_notifier_calls_its_listeners() -> None:
    """All listeners are called at once, until they stop listening."""
    notifier = InProcessNotifier()
    async with start_listeners(notifier, notifier) as listeners:
        notifier.notify(["a"])
        assert [each.keys for each in listeners] == [{"a"}, {"a"}]
    notifier.notify(["b"])
    assert listeners[0].keys == {"a"}


@asynccontextmanager
async def app_engine(agent: Agent, store: Store | str) -> AsyncIterator[Engine]:
    """Run an app without polling, and return its engine."""
    app = create_app(agent, store=store, settings=FAST_SETTINGS)
    async with app.lifespan():
        runtime = app.plugins.get(A2APlugin).runtime
        assert runtime is not None
        runtime.engine.hub._poll_interval_seconds = 3600.0  # no setting allows this
        yield runtime.engine


@pytest.mark.parametrize(
    "store", [pytest.param(str, id="as-a-url"), pytest.param(PostgresStore, id="as-an-object")]
)
async def test_apps_that_share_a_store_notify_each_other(
    postgres_url: str, store: Callable[[str], Store | str]
) -> None:
    """A reader at one app receives the events of the other one, for a store given as URL or as
    object.
    """
    agent = Agent("one", description="Waits.")
    go_on = asyncio.Event()

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        """Wait."""
        await ctx.status("at it")
        await go_on.wait()
        return "done"

    scope = TaskScope(Surface(agent).storage_key, "", "ada")
    async with (
        app_engine(agent, store(postgres_url)) as one,
        app_engine(agent, store(postgres_url)) as other,
        asyncio.timeout(TIMEOUT_SECONDS),
    ):
        accepted = await one.start(scope, build_new_task())
        await one.wait(accepted.stored, accepted.cursor, frozenset({State.WORKING}))
        async with aclosing(await other.follow(scope, accepted.stored.wire_id)) as events:
            states = [(await anext(events)).state]
            go_on.set()
            states += [event.state async for event in events]
    assert (states[0], states[-1]) == (State.WORKING, State.COMPLETED)
