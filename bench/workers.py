"""Skills on workers, beside plain procrastinate on the same server in the same run.

    sends    committed tasks per second with 1, 16 and 64 callers: in the process, deferred, and
             plain jobs of procrastinate
    start    time from the call to the first line of the handler, one at a time, on an idle worker
    drain    tasks per second from full queues to their stored ends, by one worker

The store waits for the disk at each commit, as in production.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from procrastinate import App, PsycopgConnector

from a2a_contract.dialects import CANONICAL
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.features.postgres import PostgresStore, upgrade, upgrade_queue
from a2a_runtime.features.workers.worker import serve_jobs
from a2a_runtime.settings import Settings
from a2a_runtime.stores.models import NewTask
from a2a_runtime.testing.agent import CALLER, SURFACE, build_user_message
from a2a_runtime.testing.embedded_postgres import PostgresServer

SECONDS = 3.0
STARTS = 100
SCOPE = CALLER.task_scope(SURFACE)
starts: list[float] = []


async def note(_ctx: TaskContext) -> None:
    """Note the time."""
    starts.append(time.perf_counter())


def build_engine(url: str, runs_on: str, *, is_worker: bool = False) -> tuple[Engine, Skills]:
    """Build an engine, and its registry."""
    skills = Skills()
    store = PostgresStore(url)
    skills.add(SURFACE, Skill("note", note))
    return Engine(
        store,
        skills,
        EngineOptions(
            replace(Settings(), runs_on=runs_on), notifier=store.notifier(), is_worker=is_worker
        ),
    ), skills


async def count_calls(call: Callable[[], Awaitable[object]], callers: int) -> float:
    """Call from many tasks for a while, and return the calls per second."""
    end = time.perf_counter() + SECONDS
    count = 0

    async def repeat() -> None:
        nonlocal count
        while time.perf_counter() < end:
            await call()
            count += 1

    begin = time.perf_counter()
    await asyncio.gather(*(repeat() for _ in range(callers)))
    return count / (time.perf_counter() - begin)


async def time_starts(call: Callable[[], Awaitable[object]]) -> tuple[float, float]:
    """Start one after the other, and return the median and the 95th percentile of the delays in
    ms.
    """
    delays: list[float] = []
    for _ in range(STARTS):
        starts.clear()
        begin = time.perf_counter()
        await call()
        while not starts:  # noqa: ASYNC110 - the event would be part of what is measured
            await asyncio.sleep(0.0005)
        delays.append((starts[0] - begin) * 1000)
        await asyncio.sleep(0.01)
    return statistics.median(delays), sorted(delays)[int(len(delays) * 0.95)]


async def drain(url: str) -> float:
    """Run what is in the queue, and return the tasks per second."""
    engine, skills = build_engine(url, "workers", is_worker=True)
    store = engine.store
    assert isinstance(store, PostgresStore)
    begin = time.perf_counter()
    async with serve_jobs(engine, engine, skills):
        jobs = "SELECT count(*) AS jobs FROM procrastinate_jobs WHERE task_name = 'a2a_gen.run'"
        # No call of the port counts jobs.
        total = int((await store._pool.fetch(jobs))[0]["jobs"])  # noqa: SLF001
        # As above, and the queue has no event.
        while int((await store._pool.fetch(jobs))[0]["jobs"]):  # noqa: ASYNC110, SLF001
            await asyncio.sleep(0.1)
    return total / (time.perf_counter() - begin)


async def compare(url: str) -> None:
    """Measure and print."""
    await upgrade(url)
    await upgrade_queue(url)
    app = App(connector=PsycopgConnector(conninfo=url, min_size=1, max_size=16))

    @app.task(name="plain", queue="plain")
    async def plain() -> None:
        starts.append(time.perf_counter())

    new = NewTask("c-1", build_user_message("hi"), "note", CANONICAL.name)
    print(f"\n{'sends per second':40} {'1':>8} {'16':>8} {'64':>8} callers")
    for name, runs_on in (
        ("in the process, with its run", "process"),
        ("deferred to workers", "workers"),
    ):
        engine, _ = build_engine(url, runs_on)
        async with engine:
            rates = [
                await count_calls(lambda engine=engine: engine.start(SCOPE, new, CALLER), callers)
                for callers in (1, 16, 64)
            ]
        print(f"{name:40}", *(f"{rate:8,.0f}" for rate in rates), flush=True)
    async with app.open_async():
        rates = [await count_calls(plain.defer_async, callers) for callers in (1, 16, 64)]
        print(
            f"{'plain jobs of procrastinate':40}", *(f"{rate:8,.0f}" for rate in rates), flush=True
        )
        print(
            f"\ntasks of the queue to their stored ends: {await drain(url):,.0f} per second, "
            "one worker process"
        )
        engine, _ = build_engine(url, "workers")
        worker, skills = build_engine(url, "workers", is_worker=True)
        print(f"\n{'to the start of the handler':40} {'median':>8} {'95 %':>8}")
        async with serve_jobs(worker, worker, skills), engine:
            print(
                f"{'deferred':40}",
                *(
                    f"{each:5.1f} ms"
                    for each in await time_starts(lambda: engine.start(SCOPE, new, CALLER))
                ),
                flush=True,
            )
        running = asyncio.create_task(
            app.run_worker_async(
                queues=["fresh"],
                concurrency=16,
                install_signal_handlers=False,
                delete_jobs="always",
            )
        )
        fresh = plain.configure(queue="fresh")
        print(
            f"{'plain procrastinate':40}",
            *(f"{each:5.1f} ms" for each in await time_starts(fresh.defer_async)),
            flush=True,
        )
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def main() -> None:
    """Start a server and compare."""
    with PostgresServer() as server:
        asyncio.run(compare(server.url))


if __name__ == "__main__":
    main()
