"""Killed servers and killed processes: what was acknowledged is there, and what was not is wholly
there or not at all.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.base.ids import IdGenerator
from a2a_runtime.base.logs import OutageLog
from a2a_runtime.errors import FencedError, StoreUnavailableError
from a2a_runtime.features.postgres import PostgresStore, upgrade
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import IdempotencyKey, StoredTask, TaskChange
from a2a_runtime.testing.embedded_postgres import PostgresServer
from a2a_runtime.testing.store_contract.case import (
    SCOPE,
    append_artifact,
    build_new_task,
    create_task,
    get_artifact_texts,
    load_task,
)

pytestmark = pytest.mark.anyio

WRITER = Path(__file__).with_name("postgres_writer.py")
LEASE = 1.0
DEADLINE = 30.0  # seconds, of which a quiet machine needs less than two


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[PostgresStore]:
    """Open a store for a test."""
    store = PostgresStore(url, StoreOptions(lease_seconds=LEASE))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


# --- the server dies ------------------------------------------------------------------------------


@dataclass
class Ledger:
    """The responses to one caller, with their times."""

    store: PostgresStore
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    errors: set[type[Exception]] = field(default_factory=set)
    last_at: float = 0.0

    async def keep(self, until: asyncio.Event) -> None:
        """Create tasks and write to them, whatever happens to the server."""
        ids = IdGenerator()
        while not until.is_set():
            key = ids.new()
            try:
                task = (
                    await self.store.create_task(
                        SCOPE, build_new_task(idempotency_key=IdempotencyKey(key, b""))
                    )
                ).stored
                chunks = self.acknowledged.setdefault(task.wire_id, [])
                for number in range(5):
                    await self.store.update_task(
                        SCOPE, task.key, TaskChange(chunks=[append_artifact("log", str(number))])
                    )
                    chunks.append(str(number))
                    self.last_at = time.monotonic()
            except StoreUnavailableError as error:
                self.errors.add(type(error))
                await asyncio.sleep(0.02)


async def test_a_killed_server_loses_nothing_that_was_acknowledged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After kill -9 of Postgres under load everything acknowledged is there, and writes flow again
    soon after its start.

    Each outage is one line in the log when it begins, and one when it has ended.
    """
    with PostgresServer() as server:
        await upgrade(server.url)
        async with open_store(server.url) as store:
            ledgers = [Ledger(store) for _ in range(16)]
            over = asyncio.Event()
            callers = [asyncio.create_task(ledger.keep(over)) for ledger in ledgers]
            for _ in range(2):
                await wait_for_writes(ledgers)
                server.kill()
                await wait_for_outage(store, is_open=True)
                server.restart()
                await wait_for_writes(ledgers)
                await wait_for_outage(store, is_open=False)
            over.set()
            await asyncio.gather(*callers)
            assert {error for ledger in ledgers for error in ledger.errors} == {
                StoreUnavailableError
            }
            outages = [
                record.getMessage()
                for record in caplog.records
                if record.name == OutageLog.__module__
            ]
            assert ["again" in message for message in outages] == [False, True] * 2
            for wire_id, chunks in [
                item for ledger in ledgers for item in ledger.acknowledged.items()
            ]:
                await check_whole(store, wire_id, chunks)


async def wait_for_writes(ledgers: list[Ledger]) -> None:
    """Wait for the next acknowledged write of every caller."""
    started = time.monotonic()
    async with asyncio.timeout(DEADLINE):
        # The ledgers have no event.
        while not all(ledger.last_at > started for ledger in ledgers):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def wait_for_outage(store: PostgresStore, *, is_open: bool) -> None:
    """Wait until an outage of the store has begun or ended."""
    async with asyncio.timeout(DEADLINE):
        while store._pool._outages.is_open is not is_open:  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)


async def check_whole(store: PostgresStore, wire_id: str, acknowledged: list[str]) -> None:
    """See that a task has every acknowledged chunk, at most the one more whose acknowledgement was
    lost, and all its events.
    """
    task = await store.load_task(SCOPE, wire_id)
    assert task is not None
    chunks = get_artifact_texts(task).get("log", [])
    assert chunks[: len(acknowledged)] == acknowledged
    assert len(chunks) <= len(acknowledged) + 1
    assert [event.seq for event in await store.read_events(task.key, 0)] == list(
        range(1, task.last_seq + 1)
    )
    assert task.last_seq == len(chunks) + 1


# --- a process dies, another one lives beside it --------------------------------------------------


@contextmanager
def writer(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that writes, and see to its end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, str(WRITER), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


async def read_report(process: subprocess.Popen[str]) -> tuple[str, list[int]]:
    """Read what a process that has died was told: its task's wire id, and the numbers of its
    changes.
    """
    assert process.stdout is not None
    wire_id, *numbers = (await asyncio.to_thread(process.stdout.read)).split()
    return wire_id, [int(number) for number in numbers]


async def await_changes(
    store: PostgresStore, process: subprocess.Popen[str]
) -> tuple[StoredTask, list[int]]:
    """Wait until a process has been told of some changes; its task as it is now, and their
    numbers.
    """
    assert process.stdout is not None
    wire_id, *numbers = [await asyncio.to_thread(process.stdout.readline) for _ in range(6)]
    task = await store.load_task(SCOPE, wire_id.strip())
    assert task is not None
    return task, [int(number) for number in numbers]


async def take_over(store: PostgresStore, task: StoredTask) -> None:
    """Claim the task of a dead process as soon as its lease has run out."""
    deadline = time.monotonic() + 10 * LEASE
    while task.key not in await store.find_orphans():
        assert time.monotonic() < deadline
        await store.renew_lease("survivor")
        await asyncio.sleep(0.05)
    run = await store.claim(task.key, "survivor")
    assert run is not None
    assert run.attempt == task.epoch + 1


@pytest.mark.parametrize(
    ("point", "is_made"),
    [
        pytest.param("before commit", False, id="before-the-commit"),
        pytest.param("after commit", True, id="after-the-commit-before-the-answer"),
    ],
)
async def test_a_process_that_dies_in_a_write_leaves_all_of_it_or_nothing(
    postgres_url: str, point: str, *, is_made: bool
) -> None:
    """The change that a process died in is there or not, never in part; repeated under its key it
    is there once, and the dead run is fenced off.
    """
    async with open_store(postgres_url) as store:
        await store.register("survivor")
        with writer(postgres_url, "victim", point, "12") as process:
            wire_id, acknowledged = await read_report(process)
        assert acknowledged == list(
            range(1, 10)
        )  # the first two writes made the task and let it work
        task = await store.load_task(SCOPE, wire_id)
        assert task is not None
        assert get_artifact_texts(task)["log"] == [
            str(number) for number in range(1, 11 if is_made else 10)
        ]
        assert [event.seq for event in await store.read_events(task.key, 0)] == list(
            range(1, task.last_seq + 1)
        )
        await take_over(store, task)
        with pytest.raises(FencedError):
            await store.update_task(
                SCOPE, task.key, TaskChange(chunks=[append_artifact("log", "zombie")], epoch=1)
            )
        repeated = TaskChange(
            chunks=[append_artifact("log", "10")],
            idempotency_key=IdempotencyKey("victim-10", b""),
            epoch=2,
        )
        written = await store.update_task(SCOPE, task.key, repeated)
        assert written.is_new is not is_made
        assert get_artifact_texts(await load_task(store, task))["log"] == [
            str(number) for number in range(1, 11)
        ]


async def test_only_the_tasks_of_the_dead_process_are_taken_over(postgres_url: str) -> None:
    """While one process is killed in mid-stream, the tasks of a second one that lives are never up
    for grabs, and it finishes its own.
    """
    async with open_store(postgres_url) as store:
        await store.register("survivor")
        mine = await create_task(store, build_new_task(process="survivor"))
        with (
            writer(postgres_url, "victim") as victim,
            writer(postgres_url, "neighbour") as neighbour,
        ):
            dead, written = await await_changes(store, victim)
            living, _ = await await_changes(store, neighbour)
            victim.kill()
            await take_over(store, dead)
            for _ in range(10):
                await store.renew_lease("survivor")
                assert await store.find_orphans() == []
                assert await store.claim(living.key, "survivor") is None
                await asyncio.sleep(LEASE / 5)
            assert victim.stdout is not None
            written += [int(number) for number in victim.stdout.read().split()]
            kept = get_artifact_texts(await load_task(store, dead))["log"]
            assert kept[: len(written)] == [str(number) for number in written]
            now = await load_task(store, living)
            assert now.epoch == 1
            assert now.version > living.version
        ended = await store.update_task(SCOPE, mine.key, TaskChange(state=State.COMPLETED, epoch=1))
        assert ended.state is State.COMPLETED
