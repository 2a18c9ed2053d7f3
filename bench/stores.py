"""What the stores in memory and in a file make of this machine, beside a plain writer on the same
tables of the same disk.

A cycle is a task's whole life in three durable commits: created (task, message, event), working
(event), completed with an artifact of 1 kB (chunk, two events). The plain writer makes the same
rows with the same statements in a thread of its own, with one transaction for each call. All are
measured in turns.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from a2a_contract.dialects import CANONICAL
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Artifact, Message, Part, Role
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.stores import Store
from a2a_runtime.stores.base import DEFAULT_OPTIONS
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import ChangeResult, ChunkWrite, CreateResult, NewTask, TaskChange
from a2a_runtime.stores.sqlite import SqliteStore, connection, tasks
from a2a_runtime.stores.sqlite.connection import connect
from a2a_runtime.testing.store_contract.case import write_artifact

CALLERS = (1, 16, 64)
SECONDS = 0.4
ROUNDS = 9
GOAL = 4.0  # times the plain writer, at 64 callers
CHUNKS = 1600
PROBES = 200
STEADY = 1.2  # times the first chunk, for the last
TASKS = 10_000
BYTES = 2000  # of a finished task in memory
LOAD_MS = 1.0  # to load one of many
KILOBYTE = 1000
PLAIN = "file, a transaction for each call"
SCOPE = TaskScope("/bench", "acme", "ada")
T = TypeVar("T")


def new_task(n: int = 0) -> NewTask:
    """Ask for something."""
    message = Message(
        message_id=f"m-{n}",
        role=Role.USER,
        parts=[Part(text="What is the weather like in Utrecht today?")],
    )
    return NewTask(f"c-{n}", message, "echo", CANONICAL.name)


def result(append: bool = False) -> ChunkWrite:  # noqa: FBT001, FBT002 - a flag of the value
    """Answer with 1 kB."""
    return write_artifact(
        Artifact(artifact_id="result", parts=[Part(text="x" * KILOBYTE)]), append=append
    )


class Writer(Protocol):
    """Somebody who can do a cycle."""

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task."""

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task."""


class Plain:
    """Makes one transaction of each call, as most programs do."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path)
        connection.upgrade(self._connection, path)
        self._thread = ThreadPoolExecutor(1)
        self._writing = tasks.TaskWriting(IdGenerator(), DEFAULT_OPTIONS)

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task."""
        return await self._call(lambda db: tasks.insert_task(db, scope, new, self._writing))

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task."""
        return await self._call(
            lambda db: tasks.apply_change(db, scope, key, change, self._writing)
        )

    async def _call(self, call: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._transaction, call
        )

    def _transaction(self, call: Callable[[sqlite3.Connection], T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        value = call(self._connection)
        self._connection.execute("COMMIT")
        return value


async def cycle(writer: Writer, n: int = 0) -> str:
    """Run a task from beginning to end."""
    task = (await writer.create_task(SCOPE, new_task(n))).stored
    await writer.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
    await writer.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED, chunks=[result()]))
    return task.wire_id


async def check(store: Store) -> None:
    """See that a cycle does what it should before it is timed."""
    task = await store.load_task(SCOPE, await cycle(store))
    assert task is not None
    assert (task.state, task.version, task.last_seq) == (State.COMPLETED, 3, 4)
    assert [event.seq for event in await store.read_events(task.key, 0)] == [1, 2, 3, 4]
    assert len((task.task.model.artifacts or [])[0].parts[0].text or "") == KILOBYTE


async def rate(writer: Writer, callers: int) -> tuple[float, float]:
    """Count the cycles a second of so many callers, and the 99th percentile of one in
    milliseconds.
    """
    taken: list[float] = []
    end = time.perf_counter() + SECONDS

    async def call() -> None:
        while (start := time.perf_counter()) < end:
            await cycle(writer)
            taken.append(time.perf_counter() - start)

    start = time.perf_counter()
    await asyncio.gather(*[call() for _ in range(callers)])
    return len(taken) / (time.perf_counter() - start), statistics.quantiles(taken, n=100)[-1] * 1000


@asynccontextmanager
async def stores(folder: Path) -> AsyncIterator[dict[str, Writer]]:
    """Open everybody who takes part."""
    async with AsyncExitStack() as stack:
        rivals: dict[str, Writer] = {}
        for name, store in (("memory", MemoryStore()), ("file", SqliteStore(folder / "tasks.db"))):
            await store.open()
            stack.push_async_callback(store.close)
            await check(store)
            rivals[name] = store
        rivals[PLAIN] = Plain(folder / "plain.db")
        yield rivals


async def cycles(folder: Path) -> bool:
    """Print cycles a second for everybody, and whether the goal is kept: by the median of the
    rounds, in each of which all have their turn.
    """
    print(
        (
            f"\ncycles a second (99th percentile in ms), the median of {ROUNDS} rounds in "
            f"turns\n{'':36}"
        )
        + "".join(f"{n:>20} callers" for n in CALLERS)
    )
    async with stores(folder) as rivals:
        rounds: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for _ in range(ROUNDS):
            for callers in CALLERS:
                for name, writer in rivals.items():
                    gc.collect()
                    rounds.setdefault((name, callers), []).append(await rate(writer, callers))
    for name in rivals:
        middle = [
            [statistics.median(values) for values in zip(*rounds[name, n], strict=True)]
            for n in CALLERS
        ]
        print(f"{name:36}" + "".join(f"{cycles_:18.0f} ({p99:6.1f})" for cycles_, p99 in middle))
    pairs = zip(rounds["file", CALLERS[-1]], rounds[PLAIN, CALLERS[-1]], strict=True)
    ratio = statistics.median(ours / theirs for (ours, _), (theirs, _) in pairs)
    print(
        f"the file with {CALLERS[-1]} callers: {ratio:.1f} times a transaction for each "
        f"call; goal {GOAL}: {'kept' if ratio >= GOAL else 'MISSED'}"
    )
    return ratio >= GOAL


async def chunks(folder: Path) -> bool:
    """Print what appending costs at the end of a long artifact and at the beginning of a new one,
    in turns.
    """
    kept = True
    for name, store in (("memory", MemoryStore()), ("file", SqliteStore(folder / "chunks.db"))):
        await store.open()
        fresh = [(await store.create_task(SCOPE, new_task())).stored for _ in range(PROBES)]
        long = (await store.create_task(SCOPE, new_task())).stored
        await asyncio.gather(
            *[
                store.update_task(SCOPE, long.key, TaskChange(chunks=[result(append=True)]))
                for _ in range(CHUNKS - PROBES)
            ]
        )
        first: list[float] = []
        last: list[float] = []
        for new in fresh:
            for task, taken in ((new, first), (long, last)):
                start = time.perf_counter()
                await store.update_task(SCOPE, task.key, TaskChange(chunks=[result(append=True)]))
                taken.append(time.perf_counter() - start)
        found = await store.load_task(SCOPE, long.wire_id)
        await store.close()
        assert found is not None
        assert len((found.task.model.artifacts or [])[0].parts) == CHUNKS
        one, many = (
            statistics.quantiles(taken, n=4)[0] for taken in (first, last)
        )  # what the disk does beside adds to both
        print(
            f"{name:8} append of chunk {CHUNKS} to that of chunk 1: {many / one:5.2f} "
            f"({one * 1e6:.0f} µs, then {many * 1e6:.0f} µs); goal {STEADY}"
        )
        kept &= many / one <= STEADY
    return kept


async def memory() -> bool:
    """Print what a finished task takes in memory, and how long it takes to load one of many."""
    gc.collect()
    tracemalloc.start()
    store = MemoryStore()
    await store.open()
    before, _ = tracemalloc.get_traced_memory()
    ids: list[str] = []
    for n in range(TASKS):
        task = (await store.create_task(SCOPE, new_task(n))).stored
        await store.update_task(SCOPE, task.key, TaskChange(state=State.COMPLETED))
        ids.append(task.wire_id)
    gc.collect()
    size = (tracemalloc.get_traced_memory()[0] - before - sys.getsizeof(ids)) / TASKS
    tracemalloc.stop()
    taken: list[float] = []
    as_json = 0
    for wire_id in ids:
        start = time.perf_counter()
        found = await store.load_task(SCOPE, wire_id)
        taken.append(time.perf_counter() - start)
        assert found is not None
        as_json = len(found.task.json)
    p99 = statistics.quantiles(taken, n=100)[-1] * 1000
    print(
        f"memory   a finished task with one message takes {size:.0f} bytes at {TASKS} tasks "
        f"({as_json} as JSON); goal {BYTES}"
    )
    print(
        f"memory   load_task of one of {TASKS}: median {statistics.median(taken) * 1e6:.1f} "
        f"µs, 99th percentile {p99:.4f} ms; goal {LOAD_MS} ms"
    )
    return size <= BYTES and p99 < LOAD_MS


async def main() -> int:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept = [await cycles(folder), await chunks(folder), await memory()]
    if all(kept):
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
