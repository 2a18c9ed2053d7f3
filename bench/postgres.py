"""What the Postgres store makes of a server, beside plain SQLAlchemy core on the same tables of the
same server.

A cycle is a task's whole life in three durable commits: created (task, message, event), working
(task, event), completed with an artifact of 1 kB (task, chunk, two events). All rivals write the
same rows, have 16 connections and are measured in turns.

Commits wait for the disk, and disks have moods: hence many short turns in an order that changes,
and the median of the ratios within each turn.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol

import sqlalchemy as sa
from asyncpg import Record
from msgspec.structs import asdict, replace
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from a2a_contract.lifecycle import INITIAL, State
from a2a_contract.v1_0 import Artifact, Message, Part, Role
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.clock import SystemClock
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.features.postgres import PoolSettings, PostgresStore, upgrade
from a2a_runtime.features.postgres.pipeline import StatementPipeline
from a2a_runtime.stores import changes, fragments
from a2a_runtime.stores.models import NewTask, TaskChange
from a2a_runtime.testing.embedded_postgres import PostgresServer
from a2a_runtime.testing.store_contract.case import write_artifact

CALLERS = (1, 16, 64)
SECONDS = 0.7
ROUNDS = 9
CONNECTIONS = 16
GOAL = 5.0  # times SQLAlchemy core, at 16 callers
SCOPE = TaskScope("/bench", "acme", "ada")
RIVAL = "SQLAlchemy core"
ALONE = "the store, every call alone"
STORE = "the store"

MESSAGE = Message(message_id="m-1", role=Role.USER, parts=[Part(text="hello")])
NEW = NewTask(context_id="c-1", message=MESSAGE, skill="echo", dialect="v1_0")
WORKING = TaskChange(state=State.WORKING)
COMPLETED = TaskChange(
    state=State.COMPLETED,
    chunks=[write_artifact(Artifact(artifact_id="a-1", parts=[Part(text="x" * 1000)]))],
)


class Rival(Protocol):
    """Somebody who can do a cycle."""

    async def cycle(self) -> None:
        """Create a task, let it work, complete it."""


class Alone(StatementPipeline):
    """A pipeline without batches, for comparison."""

    async def fetchrow(self, statement: str, *arguments: object) -> Record:
        """Run a statement alone."""
        return await self._run_alone(statement, arguments)


class WithStore:
    """The store of the runtime."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def cycle(self) -> None:
        """Make the three calls."""
        created = await self._store.create_task(SCOPE, NEW)
        working = await self._store.update_task(SCOPE, created.stored.key, WORKING)
        await self._store.update_task(SCOPE, created.stored.key, COMPLETED)
        assert [event.seq for event in working.events] == [2]


class WithSqlAlchemy:
    """SQLAlchemy core as one would write it: a transaction for each call, a statement for each
    table.
    """

    def __init__(self, engine: AsyncEngine, tables: sa.MetaData) -> None:
        self._engine = engine
        self._tables = tables.tables
        self._clock = SystemClock()
        self._ids = IdGenerator()

    async def cycle(self) -> None:
        """Make the three calls."""
        key = self._ids.new()
        wire_id = self._ids.new()
        await self._create(key, wire_id)
        await self._update(key, wire_id, WORKING)
        await self._update(key, wire_id, COMPLETED)

    async def _create(self, key: str, wire_id: str) -> None:
        at = self._clock.millis()
        rows = changes.build_new_rows(replace(NEW, wire_id=wire_id), key, self._ids, at)
        names = {"scope": SCOPE.to_text(), "context_id": NEW.context_id}
        task = {
            "key": key,
            "wire_id": wire_id,
            "skill": NEW.skill,
            "dialect": NEW.dialect,
            "state": INITIAL,
            "state_before": INITIAL,
            "is_active": True,
        }
        async with self._engine.begin() as connection:
            await connection.execute(
                self._tables["a2a_tasks"].insert(),
                task | names | {"status": rows.status, "status_at": at, "metadata": rows.metadata},
            )
            await connection.execute(
                self._tables["a2a_messages"].insert(),
                names | {"task": key, "said_at": at, "body": rows.message},
            )
            created = fragments.encode_task_event(rows.encode_task())
            await connection.execute(
                self._tables["a2a_events"].insert(),
                {"task": key, "seq": 1, "state": INITIAL, "body": created},
            )

    async def _update(self, key: str, wire_id: str, change: TaskChange) -> None:
        at = self._clock.millis()
        rows = changes.build_change_rows(
            change, fragments.encode_ids(wire_id, NEW.context_id).joined, at
        )
        ends = change.state is State.COMPLETED
        tasks = self._tables["a2a_tasks"].c
        statement = (
            self._tables["a2a_tasks"]
            .update()
            .where(
                tasks.key == key, tasks.state.in_(list(changes.allowed_source_states(change) or ()))
            )
            .values(
                version=tasks.version + 1,
                last_seq=tasks.last_seq + rows.event_count,
                state=change.state,
                status=rows.status,
                status_at=at,
            )
            .values(is_active=not ends, ended_at=at if ends else None)
            .returning(tasks.version, tasks.last_seq)
        )
        async with self._engine.begin() as connection:
            version, last_seq = (await connection.execute(statement)).one()
            events = [
                {"task": key, "seq": each.seq, "state": each.state, "body": each.body}
                for each in changes.number_events(
                    rows.encode_events(), last_seq - rows.event_count, State.WORKING
                )
            ]
            await connection.execute(self._tables["a2a_events"].insert(), events)
            if rows.chunks:
                chunks = [
                    {
                        "task": key,
                        "place": version << 16,
                        "replaces": row.replaces,
                        **asdict(row.chunk),
                    }
                    for row in rows.chunks
                ]
                await connection.execute(self._tables["a2a_chunks"].insert(), chunks)


@asynccontextmanager
async def rivals(url: str) -> AsyncIterator[dict[str, Rival]]:
    """Connect everybody."""
    async with AsyncExitStack() as stack:
        engine = create_async_engine(
            url.replace("postgresql://", "postgresql+asyncpg://"),
            pool_size=CONNECTIONS,
            max_overflow=0,
        )
        stack.push_async_callback(engine.dispose)
        tables = sa.MetaData()
        async with engine.begin() as connection:
            await connection.run_sync(tables.reflect)
        stores = [PostgresStore(url, pool=PoolSettings(size=CONNECTIONS)) for _ in range(2)]
        for store in stores:
            await store.open()
            stack.push_async_callback(store.close)
        alone = stores[0]
        alone._inserts = Alone(alone._pool)  # noqa: SLF001 - no setting allows it
        alone._updates = Alone(alone._pool)  # noqa: SLF001 - no setting allows it
        yield {
            RIVAL: WithSqlAlchemy(engine, tables),
            ALONE: WithStore(stores[0]),
            STORE: WithStore(stores[1]),
        }


async def measure_cycles(rival: Rival, callers: int) -> tuple[float, list[float]]:
    """Let some callers do cycles for a while: cycles in a second, and the seconds of each."""
    took: list[float] = []
    start = time.perf_counter()

    async def call() -> None:
        while time.perf_counter() < start + SECONDS:
            begun = time.perf_counter()
            await rival.cycle()
            took.append(time.perf_counter() - begun)

    await asyncio.gather(*(call() for _ in range(callers)))
    return len(took) / (time.perf_counter() - start), took


async def table(everybody: dict[str, Rival], callers: int) -> dict[str, float]:
    """Measure everybody in turns and print a table; how many times as fast as the rival each one
    is.
    """
    rates: dict[str, list[float]] = {name: [] for name in everybody}
    times: dict[str, list[float]] = {name: [] for name in everybody}
    for _ in range(ROUNDS):
        for name in random.sample(sorted(everybody), len(everybody)):
            rate, took = await measure_cycles(everybody[name], callers)
            rates[name].append(rate)
            times[name] += took
    print(
        f"\n{f'{callers} callers' if callers > 1 else 'a lone caller':40} cycles/s       p50 "
        f"      p99  times {RIVAL} (worst - best turn)"
    )
    medians: dict[str, float] = {}
    for name, own in rates.items():
        ordered = sorted(times[name])
        p50, p99 = (ordered[int(len(ordered) * part)] * 1000 for part in (0.5, 0.99))
        ratios = [rate / rival for rate, rival in zip(own, rates[RIVAL], strict=True)]
        medians[name] = statistics.median(ratios)
        print(
            (
                f"{name:40} {statistics.median(own):8,.0f}  {p50:5.1f} ms  {p99:5.1f} ms  "
                f"{medians[name]:6.1f} ({min(ratios):.1f} - {max(ratios):.1f})"
            ),
            flush=True,
        )
    return medians


async def check(store: PostgresStore) -> None:
    """See that every task of every rival is whole: its life, its events without a hole, its
    artifact.
    """
    # No call of the port counts across tasks.
    rows: Sequence[dict[str, int]] = await store._pool.fetch(  # noqa: SLF001
        """SELECT (SELECT count(*) FROM a2a_tasks) AS tasks,
        (SELECT count(*) FROM a2a_tasks WHERE ended_at IS NOT NULL AND last_seq = 4) AS ended,
        (SELECT count(*) FROM a2a_events) AS events,
        (SELECT count(*) FROM a2a_events e
            JOIN a2a_tasks t ON t.key = e.task AND e.seq <= t.last_seq) AS known,
        (SELECT count(*) FROM a2a_chunks) AS chunks,
        (SELECT count(*) FROM a2a_messages) AS messages"""
    )
    counts = dict(rows[0])
    tasks = counts["tasks"]
    assert counts == {
        "tasks": tasks,
        "ended": tasks,
        "events": 4 * tasks,
        "known": 4 * tasks,
        "chunks": tasks,
        "messages": tasks,
    }, counts
    print(
        f"\nAll {tasks:,} tasks are whole: ended, four events each without a hole, one "
        "message, one artifact."
    )


async def compare(url: str) -> None:
    """Measure, print, check."""
    await upgrade(url)
    async with rivals(url) as everybody:
        for rival in everybody.values():
            await measure_cycles(
                rival, CONNECTIONS
            )  # warms connections, statements and the tables up
        ratios = {callers: await table(everybody, callers) for callers in CALLERS}
    store = PostgresStore(url)
    await store.open()
    await check(store)
    await store.close()
    ratio = ratios[16][STORE]
    print(
        f"At 16 callers {ratio:.1f} times {RIVAL} (goal {GOAL:.0f}: "
        f"{'kept' if ratio >= GOAL else 'MISSED'})."
    )
    print(
        f"A lone caller keeps {ratios[1][STORE] / ratios[1][ALONE]:.0%} of the pace that it "
        "would have without the lanes."
    )


def main() -> None:
    """Start a server and compare."""
    with PostgresServer() as server:
        asyncio.run(compare(server.url))


if __name__ == "__main__":
    main()
