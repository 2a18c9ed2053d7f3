"""Streams and runs: how soon 50 readers of one task see an event, and what a blocking start-to-end
cycle costs on each store.

Correctness first: every reader must have seen every event once and in order, every task must have
ended, or there is no table.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message, Part, Role
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.embedded_postgres import DatabaseFactory, PostgresServer

SCOPE = TaskScope("/agent", "acme", "ada")
READERS = 50
EVENTS = 2_000
PER_SECOND = 1_000
WANTED_P99_MS = 20.0
CYCLES = 1_000
CALLERS = (1, 32)


async def echo(ctx: TaskContext) -> str:
    """Be done at once."""
    return ctx.text


async def stream_paced(_ctx: TaskContext) -> AsyncIterator[str]:
    """Stream events at a pace; each says when it was made."""
    begun = time.perf_counter()
    for number in range(EVENTS):
        wait = begun + number / PER_SECOND - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        yield f"{time.perf_counter():.7f}"


def new(skill: str, text: str = "hello") -> NewTask:
    """Ask for something."""
    return NewTask(
        "c-1",
        Message(message_id="m-1", role=Role.USER, parts=[Part(text=text)]),
        skill,
        CANONICAL.name,
    )


async def fan_out(engine: Engine) -> list[float]:
    """Let readers follow one task; say, in milliseconds, how long after it was made each of them
    had each event.
    """
    late: list[float] = []

    async def read(wire_id: str) -> list[int]:
        seen = []
        async with aclosing(await engine.follow(SCOPE, wire_id, 0)) as events:
            async for event in events:
                now = time.perf_counter()
                seen.append(event.seq)
                made = event.body.partition(b'"parts":[{"text":"')[2].partition(b'"')[0]
                if made and b"artifactUpdate" in event.body:
                    late.append((now - float(made)) * 1000)
        return seen

    wire_id = (await engine.start(SCOPE, new("paced"))).stored.wire_id
    seen = await asyncio.gather(*(read(wire_id) for _ in range(READERS)))
    assert all(each == list(range(1, EVENTS + 4)) for each in seen)
    return late


async def cycle(engine: Engine) -> None:
    """Start a task and wait for its end."""
    stored = await engine.wait_settled(await engine.start(SCOPE, new("echo")))
    assert stored.state is State.COMPLETED


async def cycles(engine: Engine, count: int, callers: int) -> float:
    """Run many cycles; how many there were in a second."""

    async def run(share: int) -> None:
        for _ in range(share):
            await cycle(engine)

    begun = time.perf_counter()
    await asyncio.gather(*(run(count // callers) for _ in range(callers)))
    return (count // callers) * callers / (time.perf_counter() - begun)


async def entries(engine: Engine) -> float:
    """Count the function entries of one cycle: the difference that 200 of them make under a
    profiler.
    """
    counts = []
    for number in (0, 200):
        with cProfile.Profile() as profile:
            for _ in range(number):
                await cycle(engine)
        # The attribute is missing in the stubs.
        counts.append(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]
    return (counts[1] - counts[0]) / 200


@asynccontextmanager
async def engine_on(store: Store) -> AsyncIterator[Engine]:
    """Run an engine on a store."""
    skills = Skills(Skill("echo", echo), Skill("paced", stream_paced))
    async with Engine(store, skills, EngineOptions(settings=Settings(shutdown_grace=0))) as engine:
        yield engine


@contextmanager
def stores() -> Iterator[dict[str, Store]]:
    """Make one store of each kind."""
    # Only this case needs the import.
    from a2a_runtime.features.postgres import PostgresStore, upgrade  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        databases = DatabaseFactory(server.url, upgrade)
        yield {
            "memory": MemoryStore(),
            "sqlite, FULL": SqliteStore(Path(folder) / "tasks.db"),
            "postgres": PostgresStore(asyncio.run(databases.create())),
        }


async def measure_store(name: str, store: Store) -> dict[str, float]:
    """Measure one store."""
    async with engine_on(store) as engine:
        await cycles(engine, 200, 4)
        late = sorted(await fan_out(engine))
        found = {"entries": await entries(engine)} if name == "memory" else {}
        for callers in CALLERS:
            found[f"c={callers}"] = statistics.median(
                [await cycles(engine, CYCLES, callers) for _ in range(3)]
            )
        return found | {"p50": late[len(late) // 2], "p99": late[len(late) * 99 // 100]}


def main() -> int:
    """Print the tables."""
    with stores() as each:
        rows = {name: asyncio.run(measure_store(name, store)) for name, store in each.items()}
    memory = rows["memory"]
    print(
        f"\nOne task, {READERS} readers, {PER_SECOND} events/s; each of {EVENTS} events was "
        "seen once and in order by all of them"
    )
    for name, row in rows.items():
        print(f"{name:14} p50 {row['p50']:7.2f} ms   p99 {row['p99']:7.2f} ms")
    print("\nBlocking start-to-end cycle of a handler that is done at once: 2 commits, 1 read")
    for name, row in rows.items():
        rates = "   ".join(
            f"{callers:2} callers {row[f'c={callers}']:7.0f} /s" for callers in CALLERS
        )
        print(f"{name:14} {rates}   {row['c=32'] / memory['c=32']:.2f} of memory")
    kept = memory["p99"] < WANTED_P99_MS
    print(f"\nfunction entries of a cycle in memory: {memory['entries']:.0f}")
    print(f"p99 under {WANTED_P99_MS:.0f} ms in memory: {'kept' if kept else 'MISSED'}")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
