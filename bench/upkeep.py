"""What keeps a store going, beside traffic: the cleanup of 200,000 expired tasks, the takeover of
1,000 orphans, and a start with a million tasks.

Traffic is 8 callers that send one message after another to a handler that ends at once. The first
row is their sends without any cleanup.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
from fill import SCOPE, fill_postgres, fill_sqlite

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.features.postgres import upgrade
from a2a_runtime.settings import Settings
from a2a_runtime.stores import Store
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.factory import create_store
from a2a_runtime.stores.models import NewTask, TaskQuery
from a2a_runtime.stores.sql_store import SqlStore
from a2a_runtime.testing.embedded_postgres import PostgresServer

EXPIRED = 200_000
ORPHANS = 1_000
MANY = 1_000_000
CALLERS = 8
CALM_SECONDS = 5.0
HOUR_MILLIS = 3_600_000
HOURS_KEPT = 1.0
TAKEOVER_GOAL = 3.0  # seconds
ENDED = TaskQuery(state=State.COMPLETED, page_size=1)
NEW = NewTask(
    "c-1",
    Message(message_id="m-1", role=Role.USER, parts=[Part(text="hello")]),
    "echo",
    CANONICAL.name,
)


async def echo(ctx: TaskContext) -> str:
    """End at once."""
    return ctx.text


@asynccontextmanager
async def run_engine(store: Store) -> AsyncIterator[Engine]:
    """Run an engine that cleans up at once."""
    async with Engine(store, Skills(Skill("echo", echo)), EngineOptions(Settings())) as engine:
        yield engine


async def send_until(engine: Engine, is_over: Callable[[], bool]) -> list[float]:
    """Send from all callers until something is over, and return the seconds of each send."""
    took: list[float] = []

    async def call(n: int) -> None:
        while not is_over():
            begun = time.perf_counter()
            await engine.wait_settled(
                await engine.start(SCOPE, replace(NEW, context_id=f"traffic-{n}"))
            )
            took.append(time.perf_counter() - begun)

    await asyncio.gather(*map(call, range(CALLERS)))
    return took


def show(name: str, seconds: float, took: list[float]) -> None:
    """Print the rate and the times of sends."""
    p50, p99 = (sorted(took)[int(len(took) * part)] * 1000 for part in (0.5, 0.99))
    print(
        (
            f"{name:44} {len(took) / seconds:8,.0f} sends/s   p50 {p50:6.1f} ms   p99 {p99:6.1f} "
            f"ms   max {max(took) * 1000:7.1f} ms"
        ),
        flush=True,
    )


async def measure_cleanup(name: str, store: SqlStore) -> None:
    """Let the cleanup of an engine delete what has expired, beside traffic."""
    async with run_engine(store) as engine:
        begun = time.perf_counter()
        deleted = asyncio.Event()

        async def watch() -> None:
            while (await store.list_tasks(SCOPE, TaskQuery(state=State.FAILED, page_size=1))).tasks:  # noqa: ASYNC110 - the cleanup publishes nothing
                await asyncio.sleep(0.1)
            deleted.set()

        watching = asyncio.create_task(watch())
        took = await send_until(engine, deleted.is_set)
        seconds = time.perf_counter() - begun
        await watching
        until = time.perf_counter() + CALM_SECONDS
        show(
            f"{name}, no cleanup",
            CALM_SECONDS,
            await send_until(engine, lambda: time.perf_counter() > until),
        )
    show(f"{name}, {EXPIRED:,} expired in {seconds:,.0f} s", seconds, took)


async def measure_takeover(name: str, store: Store) -> None:
    """Start an engine on a store with the tasks of a process that died."""
    await store.open()
    for n in range(ORPHANS):
        await store.create_task(SCOPE, replace(NEW, context_id=f"c-{n}", process="dead"))
    await store.close()
    begun = time.perf_counter()
    async with run_engine(store):
        # The tasks end in the store.
        while (await store.list_tasks(SCOPE, ENDED)).total_size < ORPHANS:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        seconds = time.perf_counter() - begun
    kept = "kept" if seconds <= TAKEOVER_GOAL else "MISSED"
    print(
        (
            f"{name}: {ORPHANS:,} orphans ended {seconds:.2f} s after the start (goal "
            f"{TAKEOVER_GOAL:g}: {kept})"
        ),
        flush=True,
    )


async def measure_start(name: str, store: Store) -> None:
    """Open an engine on a store with many tasks."""
    seconds: list[float] = []
    for _ in range(5):
        begun = time.perf_counter()
        async with run_engine(store):
            seconds.append(time.perf_counter() - begun)
    print(
        f"{name}: an engine opens in {statistics.median(seconds) * 1000:.0f} ms on {MANY:,} tasks",
        flush=True,
    )


async def main() -> None:
    """Fill, measure, print."""
    now = SystemClock().millis()
    options = StoreOptions(retention_seconds=HOURS_KEPT * HOUR_MILLIS / 1000)
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        connection = await asyncpg.connect(server.url)
        for name in ("expired", "orphans", "many"):
            await connection.execute(f"CREATE DATABASE {name}")
        await connection.close()

        def urls(name: str) -> tuple[tuple[str, str], ...]:
            return ("SQLite", f"sqlite:///{folder}/{name}.db"), (
                "Postgres",
                server.url.rpartition("/")[0] + f"/{name}",
            )

        async def fill(url: str, size: int, at: int) -> None:
            if url.startswith("sqlite"):
                file = create_store(url)
                await file.open()
                await file.close()
                await asyncio.to_thread(fill_sqlite, Path(url.removeprefix("sqlite:///")), size, at)
            else:
                await upgrade(url)
                await fill_postgres(url, size, at)

        for name, url in urls("orphans"):
            await fill(url, 0, now)
            await measure_takeover(name, create_store(url))
        for name, url in urls("expired"):
            await fill(url, EXPIRED, now - 2 * HOUR_MILLIS)
            store = create_store(url, options)
            assert isinstance(store, SqlStore)
            await store.open()
            await store.correct_totals()
            await store.close()
            await measure_cleanup(name, store)
        for name, url in urls("many"):
            await fill(url, MANY, now)
            await measure_start(name, create_store(url))


if __name__ == "__main__":
    asyncio.run(main())
