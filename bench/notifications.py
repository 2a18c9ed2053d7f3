"""Streams that another process runs: with NOTIFY, and with notifications that cost nothing.

Two engines share a Postgres database. One runs the tasks, the other follows them, as a replica does
whose client came to it. The second notifier is a function call between both, so it is the limit of
what any other notifier can bring. Both are measured in turn, and each reader must have seen every
event once and in order, or there is no table.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

from a2a_contract.dialects import CANONICAL
from a2a_runtime.engine.engine import Engine, EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.skill_registry import Skills
from a2a_runtime.features.postgres import PostgresStore, upgrade
from a2a_runtime.settings import Settings
from a2a_runtime.stores.models import NewTask
from a2a_runtime.stores.notifier import InProcessNotifier, Notifier
from a2a_runtime.testing.agent import CALLER, SURFACE, build_user_message
from a2a_runtime.testing.embedded_postgres import PostgresServer

SCOPE = CALLER.task_scope(SURFACE)
NEW = NewTask("c-1", build_user_message("hi"), "paced", CANONICAL.name)
CHUNKS = 100
OTHER_EVENTS = 3  # submitted, working, completed
PAUSE_SECONDS = 0.01
STREAMS = (1, 16, 64)
ROUNDS = 3


@dataclass(frozen=True)
class Measured:
    """What the readers of some streams saw."""

    per_second: float
    delays: list[float]
    """Milliseconds from a chunk to its reader, sorted."""

    def percentile(self, percent: int) -> float:
        """Return a percentile of the delays."""
        return self.delays[len(self.delays) * percent // 100]


async def stream_paced(_ctx: TaskContext) -> AsyncIterator[str]:
    """Stream; each chunk says when it was made."""
    for _ in range(CHUNKS):
        yield f"{time.perf_counter():.7f}"
        await asyncio.sleep(PAUSE_SECONDS)


async def follow(runs: Engine, follows: Engine, delays: list[float]) -> int:
    """Start a task in one engine, read its events in the other, and return their number."""
    wire_id = (await runs.start(SCOPE, NEW, CALLER)).stored.wire_id
    numbers: list[int] = []
    async with aclosing(await follows.follow(SCOPE, wire_id, 0)) as events:
        async for event in events:
            now = time.perf_counter()
            numbers.append(event.seq)
            made = event.body.partition(b'"parts":[{"text":"')[2].partition(b'"')[0]
            if made and b"artifactUpdate" in event.body:
                delays.append((now - float(made)) * 1000)
    assert numbers == list(range(1, CHUNKS + OTHER_EVENTS + 1)), numbers
    return len(numbers)


async def measure(url: str, streams: int, notifier: Notifier | None) -> Measured:
    """Follow some streams at once; without a notifier, those of the stores are used."""
    async with AsyncExitStack() as stack:
        engines: list[Engine] = []
        for _ in range(2):
            store = PostgresStore(url)
            skills = Skills()
            skills.add(SURFACE, Skill("paced", stream_paced))
            options = EngineOptions(Settings(), notifier=notifier or store.notifier())
            engines.append(await stack.enter_async_context(Engine(store, skills, options)))
        runs, follows = engines
        await follow(runs, follows, [])
        delays: list[float] = []
        begin = time.perf_counter()
        events = sum(await asyncio.gather(*(follow(runs, follows, delays) for _ in range(streams))))
        return Measured(events / (time.perf_counter() - begin), sorted(delays))


async def compare(url: str) -> None:
    """Measure and print."""
    await upgrade(url)
    print(
        f"\n{'events of another process, one every 10 ms':44} {'streams':>8} {'events/s':>9} "
        f"{'p50':>9} {'p99':>9}"
    )
    for streams in STREAMS:
        found: dict[str, list[Measured]] = {"NOTIFY": [], "a function call": []}
        for _ in range(ROUNDS):
            found["NOTIFY"].append(await measure(url, streams, None))
            found["a function call"].append(await measure(url, streams, InProcessNotifier()))
        for name, rounds in found.items():
            p50, p99 = (
                statistics.median(each.percentile(percent) for each in rounds)
                for percent in (50, 99)
            )
            rate = statistics.median(each.per_second for each in rounds)
            print(f"{name:44} {streams:8} {rate:9,.0f} {p50:6.1f} ms {p99:6.1f} ms", flush=True)


def main() -> int:
    """Start a server and compare."""
    with PostgresServer() as server:
        asyncio.run(compare(server.url))
    return 0


if __name__ == "__main__":
    sys.exit(main())
