"""Agents in processes of their own are killed, frozen and cut off under load, with the deck that
ships for users. Every promise is kept.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import asyncpg
import pytest

from a2a_contract.v1_0 import Task
from a2a_runtime.features.postgres import upgrade, upgrade_queue
from a2a_runtime.testing.agent import artifact_texts
from a2a_runtime.testing.embedded_postgres import PostgresServer
from a2a_runtime.testing.faults import BuildDeck, FaultDeck, fault_deck

from .deck_agent import CHUNKS, CLOCK_VARIABLE

pytestmark = pytest.mark.slow

__all__ = ["fault_deck"]

APP = "faults.deck_agent:app"
WORKERS = {"A2A_RUNS_ON": "workers"}
END_SECONDS = 180.0
"""A busy machine starts a process in ten seconds; a quiet one needs none of this time."""
CLOCK_STEPS = (3600, -3600, 0)
_CUT_LISTENERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'LISTEN %' AND pid "
    "<> pg_backend_pid()"
)
_TABLES = (
    "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = "
    "'public'::regnamespace AND NOT relispartition"
)
_BEFORE_WRITE = (
    "CREATE OR REPLACE FUNCTION before_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {}; "
    "END $$"
)
_REFUSE = "RAISE 'no space left on device' USING ERRCODE = 'disk_full'"
_ALLOW = "RETURN NULL"


def check(task: Task) -> None:
    """Compare a completed task with what its skill writes."""
    texts = artifact_texts(task)
    assert texts["stream"] == [str(number) for number in range(CHUNKS)]
    assert str(texts["result"][0]).startswith("done ")


class Victims:
    """The faults of a deployment on Postgres, those of the database and of the clock among them."""

    def __init__(self, deck: FaultDeck, server: PostgresServer, clock: Path) -> None:
        self.deck = deck
        self._server = server
        self._clock = clock

    def kill_database(self) -> None:
        """Kill the database, and start it again."""
        self._server.kill()
        self._server.restart()

    def freeze_database(self) -> None:
        """Freeze the database for longer than a lease."""
        self._server.freeze()
        try:
            self.deck.pause_leases(1.5)
        finally:
            self._server.thaw()

    def drop_notifications(self) -> None:
        """Cut the connections on which notifications arrive, again and again."""

        async def cut_notifications() -> None:
            connection = await asyncpg.connect(self._server.url)
            for _ in range(20):
                await connection.execute(_CUT_LISTENERS)
                await asyncio.sleep(0.05)
            await connection.close()

        asyncio.run(cut_notifications())

    def fill_database(self) -> None:
        """Let no write to any table succeed for a lease, as on a full disk."""

        async def fill() -> None:
            connection = await asyncpg.connect(self._server.url)
            await connection.execute(_BEFORE_WRITE.format(_REFUSE))
            try:
                # One transaction a table, and none at the end: locks on several would wait for
                # writers that wait for them.
                for (table,) in await connection.fetch(_TABLES):
                    await connection.execute(
                        f"CREATE OR REPLACE TRIGGER disk BEFORE INSERT OR UPDATE ON {table} "
                        "EXECUTE FUNCTION before_write()"
                    )
                await asyncio.to_thread(self.deck.pause_leases, 1)
            finally:
                await connection.execute(_BEFORE_WRITE.format(_ALLOW))
                await connection.close()

        asyncio.run(fill())

    def step_clock(self) -> None:
        """Step the clock of the machine of the agent: by an hour forward, back, and to the right
        time.
        """
        for seconds in CLOCK_STEPS:
            self._clock.write_text(str(seconds), encoding="utf-8")
            self.deck.pause_leases(0.25)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that may die."""
    with PostgresServer({"fsync": "off"}) as server:
        asyncio.run(upgrade(server.url))
        asyncio.run(upgrade_queue(server.url))
        yield server


@pytest.fixture
def victims(fault_deck: BuildDeck, server: PostgresServer, tmp_path: Path) -> Iterator[Victims]:
    """One process that accepts tasks, and two workers."""
    clock = tmp_path / "clock"
    environment = {**WORKERS, CLOCK_VARIABLE: str(clock)}
    with fault_deck(
        APP,
        server.url,
        workers=2,
        message=str,
        environment=environment,
        check=check,
        end_seconds=END_SECONDS,
    ) as deck:
        yield Victims(deck, server, clock)


def test_workers_and_their_database_lose_nothing(victims: Victims) -> None:
    """Killed, frozen and cut off, one after the other; the database dies too, notifications are
    lost, and its disk is full.
    """
    deck = victims.deck
    of_the_database = (victims.kill_database, victims.drop_notifications, victims.fill_database)
    report = deck.run(
        deck.kill_worker, deck.kill, deck.cut_store, deck.freeze_worker, *of_the_database
    )
    assert report.completed
    assert report.canceled


def test_a_file_loses_nothing(fault_deck: BuildDeck, tmp_path: Path) -> None:
    """One process on SQLite is killed, its callers are cut off, its disk is full for a while, and
    its clock steps.
    """
    clock = tmp_path / "clock"
    environment = {CLOCK_VARIABLE: str(clock)}
    with fault_deck(
        APP,
        f"sqlite:///{tmp_path}/tasks.db",
        message=str,
        environment=environment,
        check=check,
        end_seconds=END_SECONDS,
    ) as deck:
        report = deck.run(
            deck.kill,
            deck.cut,
            deck.fill_disk,
            *(lambda step=step: clock.write_text(str(step)) for step in CLOCK_STEPS),
        )
        assert "available again after" in deck.processes[0].read_log()
    assert report.completed
    assert report.canceled


def test_a_broken_promise_is_found(fault_deck: BuildDeck, tmp_path: Path) -> None:
    """An agent with a memory store loses its tasks with its process; the deck says which, and that
    it cannot use such a store.
    """
    with (
        fault_deck(
            "faults.deck_agent:forgetful", f"sqlite:///{tmp_path}/tasks.db", message=str
        ) as deck,
        pytest.raises(
            AssertionError,
            match=r"broken promises:\ntask \S+: AssertionError: acknowledged, and lost",
        ),
    ):
        deck.run(deck.kill)
    with pytest.raises(
        ValueError, match=r"a memory store does not outlive its process; use sqlite"
    ):
        fault_deck(APP, "memory")
    with pytest.raises(
        RuntimeError, match=r"(?s)the agent did not start; its log ends with:.*missing"
    ):
        fault_deck("faults.deck_agent:missing", f"sqlite:///{tmp_path}/tasks.db").__enter__()


def test_the_deck_is_a_plugin_of_pytest(tmp_path: Path) -> None:
    """Its fixture is there as soon as the plugin is named."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "a2a_runtime.testing.faults",
        "--fixtures",
        "-c",
        os.devnull,
        str(tmp_path),
    ]
    done = subprocess.run(
        words,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "fault_deck" in done.stdout, done.stderr


def run_long(
    deck: FaultDeck,
    kinds: Sequence[Callable[[], object]],
    seed: int,
    faults: int,
    record_property: pytest.RecordProperty,
) -> None:
    """Run a deck of faults in a random order, and record what it has checked."""
    order = random.Random(seed)  # noqa: S311 - an order of faults
    report = deck.run(*order.choices(kinds, k=faults))
    record_property("faults", faults)
    record_property("tasks", report.acknowledged)


@pytest.mark.soak(share="drills")
@pytest.mark.parametrize("seed", range(4))
def test_workers_lose_nothing_in_a_long_drill(
    victims: Victims, seed: int, record_property: pytest.RecordProperty
) -> None:
    """Twenty faults of all kinds in a random order."""
    deck = victims.deck
    kinds: list[Callable[[], object]] = [
        deck.kill_worker,
        deck.kill,
        deck.cut,
        deck.cut_store,
        deck.freeze,
        deck.freeze_worker,
        deck.stop_worker,
    ]
    kinds += [
        victims.kill_database,
        victims.freeze_database,
        victims.drop_notifications,
        victims.fill_database,
        victims.step_clock,
    ]
    run_long(deck, kinds, seed, 20, record_property)


@pytest.mark.soak(share="drills")
@pytest.mark.parametrize("seed", range(2))
def test_three_processes_lose_nothing_in_a_long_drill(
    fault_deck: BuildDeck,
    server: PostgresServer,
    tmp_path: Path,
    seed: int,
    record_property: pytest.RecordProperty,
) -> None:
    """Three processes share a database, and each runs its tasks; they take over from each other."""
    clock = tmp_path / "clock"
    environment = {CLOCK_VARIABLE: str(clock)}
    with fault_deck(
        APP,
        server.url,
        processes=3,
        message=str,
        environment=environment,
        check=check,
        end_seconds=END_SECONDS,
    ) as deck:
        victims = Victims(deck, server, clock)
        kinds: list[Callable[[], object]] = [
            deck.kill,
            deck.freeze,
            deck.stop,
            deck.cut,
            deck.cut_store,
        ]
        kinds += [
            victims.kill_database,
            victims.freeze_database,
            victims.drop_notifications,
            victims.fill_database,
            victims.step_clock,
        ]
        run_long(deck, kinds, seed, 15, record_property)


@pytest.mark.soak(share="drills")
@pytest.mark.parametrize("seed", range(2))
def test_a_file_loses_nothing_in_a_long_drill(
    fault_deck: BuildDeck, tmp_path: Path, seed: int, record_property: pytest.RecordProperty
) -> None:
    """One process on SQLite, and what happens to it."""
    with fault_deck(
        APP, f"sqlite:///{tmp_path}/tasks.db", message=str, check=check, end_seconds=END_SECONDS
    ) as deck:
        kinds: list[Callable[[], object]] = [
            deck.kill,
            deck.freeze,
            deck.stop,
            deck.cut,
            deck.fill_disk,
        ]
        run_long(deck, kinds, seed, 15, record_property)
