"""Many tasks through one engine: every caller gets what is right, and the last tasks cost the CPU
that the first ones did.

Callers send, stream, answer, cancel, repeat a request under its key, and list, while the cleanup
deletes what has expired. A short run is in every run of the tests; ``make soak`` runs 300,000 on
each store, and says what it has measured.
"""

from __future__ import annotations

import asyncio
import os
import time
from array import array
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import pytest

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotCancelableError
from a2a_contract.lifecycle import TERMINAL, State
from a2a_contract.v1_0 import Task
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.models import IdempotencyKey, NewTask, TaskQuery
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import (
    FAST_SETTINGS,
    InProcessAgent,
    artifact_texts,
    build_user_message,
    run_agent,
)

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MANY = int(os.environ.get("A2A_SIMULATION_TASKS", "300000"))
SHORT = 600
CALLERS = 32
RETENTION_SECONDS = 5.0  # so that tasks expire from the second tenth on, also of a shorter run
CHUNKS = 3
SETTINGS = replace(
    FAST_SETTINGS,
    cleanup_interval=0.5,
    lease_renew_interval=1.0,
    lease_duration=15.0,
    cancel_timeout=30,
)
KINDS = {"stream": 7, "ask": 31, "cancel": 37, "repeat": 41, "list": 101}
"""Kinds of calls, and how many calls lie between two of a kind; the others are plain sends."""


async def work(ctx: TaskContext) -> object:
    """Do what the message says."""
    kind, _, number = ctx.text.partition(" ")
    if kind == "ask":
        return f"{number} {(await ctx.ask('more?')).text}"
    if kind == "stream":
        async with ctx.artifact("stream") as chunks:
            for each in range(CHUNKS):
                await chunks.text(str(each))
    if kind == "cancel":
        await asyncio.sleep(3600)
    return number


@dataclass
class Simulation:
    """Callers of one agent, and what they have seen."""

    one: InProcessAgent
    tasks: int
    began: array[float] = field(default_factory=lambda: array("d"))
    kinds: Counter[str] = field(default_factory=Counter[str])
    resident: list[int] = field(default_factory=list[int])
    cpu_seconds: list[float] = field(default_factory=list[float])
    """CPU time of this process and its database until each tenth began, and until the end."""

    async def run(self) -> None:
        """Make all calls."""
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(self._call())
        self.cpu_seconds.append(_read_cpu_seconds())

    async def _call(self) -> None:
        while len(self.began) < self.tasks:
            number = len(self.began)
            self.began.append(time.monotonic())
            if number % max(1, self.tasks // 10) == 0:
                self.resident.append(_read_resident_kilobytes())
                self.cpu_seconds.append(_read_cpu_seconds())
            kind = next((name for name, every in KINDS.items() if number % every == 0), "send")
            self.kinds[kind] += 1
            await self._make_call(kind, number)

    async def _make_call(self, kind: str, number: int) -> None:
        one = self.one
        context_id = f"c-{number % 1000}"
        key = IdempotencyKey(f"k-{number}", b"hash")
        new = NewTask(
            context_id,
            build_user_message(f"{kind} {number}", message_id=f"m-{number}"),
            "work",
            CANONICAL.name,
            idempotency_key=key,
        )
        accepted = await one.engine.start(one.scope, new)
        stored = accepted.stored
        if kind == "repeat":
            again = await one.engine.start(one.scope, new)
            assert (again.is_new, again.stored.wire_id) == (False, stored.wire_id)
        if kind == "cancel":
            try:
                await one.engine.cancel(one.scope, stored.wire_id)
            except TaskNotCancelableError as error:  # nothing else ends it
                raise AssertionError(stored.wire_id) from error
        settled = await one.engine.wait_settled(accepted)
        if kind == "ask":
            assert settled.state is State.INPUT_REQUIRED
            settled = await one.engine.wait_settled(
                await one.engine.send_message(
                    one.scope, stored.wire_id, build_user_message("enough")
                )
            )
        if kind == "list":
            page = await one.engine.store.list_tasks(one.scope, TaskQuery(page_size=20))
            assert len(page.tasks) == len({task.wire_id for task in page.tasks}) <= page.total_size
        await self._check(kind, number, settled.task.model)

    async def _check(self, kind: str, number: int, task: Task) -> None:
        expected = State.CANCELED if kind == "cancel" else State.COMPLETED
        assert State(task.status.state) is expected, (kind, task.status)
        if kind == "cancel":
            return
        texts = artifact_texts(task)
        assert texts["result"] == [f"{number} enough" if kind == "ask" else str(number)]
        if kind == "stream":
            assert texts["stream"] == [str(each) for each in range(CHUNKS)]
            events = await self.one.collect_events(task)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert [event.seq for event in events if event.state in TERMINAL] == [len(events)]

    def find_rates(self) -> tuple[float, float]:
        """Return the calls per second in the second and in the last tenth."""
        tenth = self.tasks // 10
        first = self.began[tenth : 2 * tenth]
        last = self.began[-tenth:]
        return tenth / (first[-1] - first[0]), tenth / (last[-1] - last[0])

    def find_costs(self) -> tuple[float, float]:
        """Return the milliseconds of CPU for a call in the second and in the last tenth."""
        seconds = [after - before for before, after in pairwise(self.cpu_seconds)]
        return seconds[1] * 10_000 / self.tasks, seconds[-1] * 10_000 / self.tasks


def _read_cpu_seconds() -> float:
    """Sum the CPU time of this process and of all that it has started, as the server of the
    database.
    """
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            pid, _, rest = path.read_text(encoding="utf-8", errors="replace").partition(" ")
            fields = rest.rpartition(")")[2].split()
            stats[int(pid)] = (
                int(fields[1]),
                sum(map(int, fields[11:15])),
            )  # the last two are those of children that have ended
    own = {os.getpid()}
    while more := {pid for pid, (parent, _) in stats.items() if parent in own} - own:
        own |= more
    return sum(stats[pid][1] for pid in own) / os.sysconf("SC_CLK_TCK")


def _read_resident_kilobytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0])


async def simulate(store: Store, tasks: int) -> Simulation:
    """Run an agent on a store, and callers."""
    async with run_agent(work, store=store, options=EngineOptions(settings=SETTINGS)) as one:
        simulation = Simulation(one, tasks)
        await simulation.run()
        assert await one.engine.store.find_orphans() == []
        return simulation


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store that deletes what has ended soon."""
    options = StoreOptions(
        retention_seconds=RETENTION_SECONDS, conversation_retention_seconds=RETENTION_SECONDS
    )
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "tasks.db", options)
    return PostgresStore(request.getfixturevalue("postgres_url"), options)


async def test_some_tasks_of_every_kind(store: Store) -> None:
    """The short run: every call gets what is right."""
    simulation = await simulate(store, SHORT)
    assert all(simulation.kinds[kind] for kind in (*KINDS, "send"))


@pytest.mark.soak(share="simulation")
async def test_many_tasks(
    store: Store, capsys: pytest.CaptureFixture[str], record_property: pytest.RecordProperty
) -> None:
    """A call in the last tenth takes less than twice the CPU of one in the second, whatever else
    the machine does, and the process does not grow.
    """
    simulation = await simulate(store, MANY)
    record_property("tasks", MANY)
    early, late = simulation.find_rates()
    first_ms, last_ms = simulation.find_costs()
    grown = simulation.resident[-1] / simulation.resident[1]
    rates = (
        f"{early:.0f} a second and {first_ms:.1f} ms of CPU a call in the second tenth, "
        f"{late:.0f} and {last_ms:.1f} in the last"
    )
    with capsys.disabled():
        print(f"\n{type(store).__name__}: {MANY} tasks, {rates}, memory times {grown:.2f}")  # noqa: T201 - the measurement
    assert last_ms < first_ms * 2
    assert grown < 1.5
