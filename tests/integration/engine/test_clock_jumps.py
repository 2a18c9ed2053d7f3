"""Wall clocks that jump and files that others hold: a process runs each of its tasks once."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, InProcessAgent, run_agent
from a2a_runtime.testing.clock import JumpingClock

pytestmark = pytest.mark.anyio

HOUR = 3600
SETTINGS = replace(FAST_SETTINGS, lease_renew_interval=2.0, orphan_scan_interval=0.005)
"""Other tasks are looked for much more often than the lease is renewed."""

HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
for line in sys.stdin:
    db.execute(line)
    print("done", flush=True)
"""


class Calls:
    """Counts what a handler and its side effect have done, by task."""

    def __init__(self) -> None:
        self.handler = Counter[str]()
        self.effect = Counter[str]()

    async def works(self, ctx: TaskContext) -> str:
        """Have an effect once, before and after which others get their turn."""
        self.handler[ctx.task_id] += 1
        await asyncio.sleep(0)

        async def have_effect() -> int:
            self.effect[ctx.task_id] += 1
            await asyncio.sleep(0.002)
            return 1

        await ctx.once("effect", have_effect)
        return "done"

    def find_repeated(self) -> list[str]:
        """List the tasks that ran twice or had their effect twice."""
        return [
            task
            for counts in (self.handler, self.effect)
            for task, number in counts.items()
            if number > 1
        ]


@asynccontextmanager
async def under_load(agent: InProcessAgent, clients: int) -> AsyncIterator[None]:
    """Send tasks one after another from several clients."""

    async def send() -> None:
        while not is_over:
            with contextlib.suppress(StoreUnavailableError):
                await agent.send("go")

    is_over = False
    senders = [asyncio.create_task(send()) for _ in range(clients)]
    try:
        yield
    finally:
        is_over = True
        await asyncio.gather(*senders)


async def wait_for_tasks(calls: Calls, number: int) -> None:
    """Wait until so many more tasks have begun."""
    number += len(calls.handler)
    while len(calls.handler) < number:  # noqa: ASYNC110 - the counts have no event
        await asyncio.sleep(0.005)


def answer_late(point: str) -> None:
    """Give other threads time to see what was committed before its caller knows of it."""
    if point == "after commit":
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("clients", "jumps", "tasks_between"),
    [
        (8, (HOUR, -HOUR), 120),
        pytest.param(
            16, (HOUR, -HOUR) * 5, 500, marks=[pytest.mark.soak(share="drills"), pytest.mark.slow]
        ),
    ],
)
async def test_a_wall_clock_that_jumps_makes_no_task_run_twice(
    tmp_path: Path, clients: int, jumps: tuple[int, ...], tasks_between: int
) -> None:
    """A suspended machine wakes up an hour later, and its time is corrected, while clients send
    tasks.
    """
    clock = JumpingClock()
    calls = Calls()
    options = StoreOptions(clock=clock, lease_seconds=15, fail_point=answer_late)
    store = SqliteStore(tmp_path / "tasks.db", options)
    agents = run_agent(calls.works, store=store, options=EngineOptions(settings=SETTINGS))
    async with agents as agent, asyncio.timeout(60), under_load(agent, clients):
        for seconds in jumps:
            await wait_for_tasks(calls, tasks_between)
            clock.jump(seconds)
        await wait_for_tasks(calls, tasks_between)
    assert calls.find_repeated() == []


@contextmanager
def run_holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run another program on a file."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        yield holder
        assert holder.stdin is not None
        holder.stdin.close()


async def execute(holder: subprocess.Popen[str], statement: str) -> None:
    """Run a statement in the other program."""
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(f"{statement}\n")
    holder.stdin.flush()
    assert await asyncio.to_thread(holder.stdout.readline) == "done\n"


@pytest.mark.parametrize(
    ("lease_seconds", "holds"),
    [(0.2, 2), pytest.param(15, 1, marks=[pytest.mark.soak(share="drills"), pytest.mark.slow])],
)
async def test_a_file_that_another_program_holds_makes_no_task_run_twice(
    tmp_path: Path, lease_seconds: float, holds: int
) -> None:
    """A backup holds its write lock for longer than the lease of the process, which cannot be
    renewed meanwhile.
    """
    path = tmp_path / "tasks.db"
    calls = Calls()
    store = SqliteStore(path, StoreOptions(lease_seconds=lease_seconds, fail_point=answer_late))
    settings = replace(SETTINGS, lease_renew_interval=lease_seconds / 3)
    agents = run_agent(calls.works, store=store, options=EngineOptions(settings=settings))
    async with agents as agent, asyncio.timeout(120):
        with run_holder(path) as holder:
            async with under_load(agent, 16):
                for _ in range(holds):
                    await wait_for_tasks(calls, 50)
                    await execute(holder, "BEGIN IMMEDIATE")
                    await asyncio.sleep(lease_seconds * 1.3)  # the lease is measured by this clock
                    await execute(holder, "ROLLBACK")
                await wait_for_tasks(calls, 50)
    assert calls.find_repeated() == []
