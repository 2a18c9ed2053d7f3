"""Web processes and workers are killed, frozen and cut off under load. Every acknowledged task comes to its one right end."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import asyncpg
import pytest

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.stores.postgres import PostgresStore
from a2a_runtime.testing.agent import artifact_texts

from .worker_process import CHUNKS, LEASE, SCOPE

PROGRAM = Path(__file__).with_name("worker_process.py")
END_SECONDS = 60.0

pytestmark = pytest.mark.slow


class Process:
    """A process whose words are collected while it runs."""

    def __init__(self, url: str, role: str, log: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with log.open("a", encoding="utf-8") as errors:  # a pipe that is full would stop the process
            self._process = subprocess.Popen([sys.executable, PROGRAM, url, role], env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        self.said: list[str] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        while "open" not in self.said:
            assert self._process.poll() is None, log.read_text(encoding="utf-8")[-3000:]
            time.sleep(0.01)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as words:
            self.said.extend(line.removesuffix("\n") for line in words if line.endswith("\n"))

    def send(self, what: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(what)

    def kill(self) -> None:
        """Kill the process, if it lives."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


class Deployment:
    """One process that accepts tasks and two workers on one database, and the faults that they suffer."""

    def __init__(self, url: str, log: Path, stack: ExitStack) -> None:
        self._url, self._log, self._stack = url, log, stack
        self._processes: list[Process] = []
        self.web, self.workers = self.start("web"), [self.start("worker"), self.start("worker")]

    def start(self, role: str) -> Process:
        """Start a process."""
        process = Process(self._url, role, self._log)
        self._stack.callback(process.kill)
        self._processes.append(process)
        return process

    @property
    def acknowledged(self) -> list[str]:
        """Ids of all tasks that were acknowledged."""
        return [line.removeprefix("ack ") for process in self._processes for line in process.said if line.startswith("ack ")]

    def kill_web(self) -> None:
        """Kill the process that accepts tasks, and start another one."""
        self.web.kill()
        self.web = self.start("web")

    def kill_worker(self) -> None:
        """Kill a worker, and start another one."""
        self.workers.pop(0).kill()
        self.workers.append(self.start("worker"))

    def freeze_worker(self) -> None:
        """Freeze a worker for longer than its lease."""
        self.workers[-1].send(signal.SIGSTOP)
        time.sleep(LEASE * 1.5)
        self.workers[-1].send(signal.SIGCONT)

    def stop_worker(self) -> None:
        """Stop a worker as a deployment does, and start another one."""
        worker = self.workers.pop(0)
        worker.send(signal.SIGTERM)
        self.workers.append(self.start("worker"))

    def cut_connections(self) -> None:
        """End all connections to the database."""

        async def cut() -> None:
            connection = await asyncpg.connect(self._url)
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            await connection.close()

        asyncio.run(cut())


@pytest.fixture
def deployment(postgres_url: str, tmp_path: Path) -> Iterator[Deployment]:
    """A running deployment."""
    with ExitStack() as stack:
        yield Deployment(postgres_url, tmp_path / "log", stack)


async def read_ends(url: str, wire_ids: list[str]) -> None:
    """Wait until all tasks have ended, and compare each with what it should have become."""
    store = PostgresStore(url)
    await store.open()
    try:
        deadline = time.monotonic() + END_SECONDS
        for wire_id in wire_ids:
            stored = await store.load_task(SCOPE, wire_id)
            while stored is not None and stored.state not in TERMINAL:
                assert time.monotonic() < deadline, f"{wire_id} has not ended: {stored.state}, run {stored.epoch} of {stored.process}"
                await asyncio.sleep(0.05)
                stored = await store.load_task(SCOPE, wire_id)
            assert stored is not None, f"{wire_id} was acknowledged and is lost"
            events = await store.read_events(stored.key, 0, 10_000)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert [event.seq for event in events if event.state in TERMINAL] == [len(events)]
            assert stored.state is State.COMPLETED
            texts = artifact_texts(stored.task.model)
            assert texts["stream"] == [str(number) for number in range(CHUNKS)]
            assert texts["result"][0].startswith("done ")
    finally:
        await store.close()


def run_drill(deployment: Deployment, url: str, faults: list[Callable[[Deployment], None]]) -> None:
    """Apply faults under load, one after the other, and check all tasks."""
    for fault in faults:
        time.sleep(0.5)
        fault(deployment)
    time.sleep(0.5)
    deployment.web.kill()
    acknowledged = deployment.acknowledged
    assert len(acknowledged) > 5 * len(faults)
    asyncio.run(read_ends(url, acknowledged))


def test_no_acknowledged_task_is_lost(deployment: Deployment, postgres_url: str) -> None:
    """One fault of each kind, for web processes and workers."""
    faults = [Deployment.kill_worker, Deployment.kill_web, Deployment.cut_connections, Deployment.freeze_worker]
    run_drill(deployment, postgres_url, faults)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_no_acknowledged_task_is_lost_in_a_long_drill(deployment: Deployment, postgres_url: str, seed: int) -> None:
    """Twenty faults in a random order."""
    kinds = [Deployment.kill_worker, Deployment.kill_web, Deployment.cut_connections, Deployment.freeze_worker, Deployment.stop_worker]
    faults = random.Random(seed).choices(kinds, k=20)  # noqa: S311 - an order of faults
    run_drill(deployment, postgres_url, faults)
