"""Processes are killed at named points in the middle of a task.

What they had acknowledged stays, and the task comes to its one right end.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import LoggedEvent, StoredTask
from a2a_runtime.stores.sqlite import SqliteStore

from .engine_process import CHUNKS, SCOPE

PROGRAM = Path(__file__).with_name("engine_process.py")
SOME = ("before commit:4", "after commit:19", "before commit:41")
POINTS = [
    pytest.param(point, marks=() if point in SOME else pytest.mark.soak(share="drills"))
    for point in (
        f"{where} commit:{count}" for where in ("before", "after") for count in (4, 12, 19, 27, 41)
    )
]

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The store that the processes share."""
    if request.param == "sqlite":
        return str(tmp_path / "tasks.db")
    return request.getfixturevalue("postgres_url")


def start_process(url: str, *what: str, fault: str = "", pace: float = 0) -> subprocess.Popen[str]:
    """Start a process that dies at a point."""
    environment = {
        **os.environ,
        "A2A_FAULT": fault,
        "A2A_PACE": str(pace),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.Popen(
        [sys.executable, PROGRAM, url, *what],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish_process(process: subprocess.Popen[str], returncode: int = 0) -> list[str]:
    """Wait for a process and read what it said; one that was killed may have left half a line."""
    said, errors = process.communicate(timeout=180)
    assert process.returncode == returncode, errors[-3000:]
    return [
        line.removesuffix("\n") for line in said.splitlines(keepends=True) if line.endswith("\n")
    ]


def read_seen_events(lines: Iterable[str]) -> dict[int, str]:
    """Read which events a process has seen."""
    if lines:
        return {
            int(seq): digest
            for kind, seq, digest in (
                line.split(" ", 2) for line in lines if line.startswith("event ")
            )
        }
    return {}


def truth(url: str, wire_id: str) -> tuple[StoredTask, list[LoggedEvent]]:
    """Read a task and all of its events from the store itself."""

    async def read() -> tuple[StoredTask, list[LoggedEvent]]:
        store: Store = (
            PostgresStore(url) if url.startswith("postgresql") else SqliteStore(url, attach=True)
        )
        await store.open()
        try:
            stored = await store.load_task(SCOPE, wire_id)
            assert stored is not None
            return stored, list(await store.read_events(stored.key, 0, 1000))
        finally:
            await store.close()

    return asyncio.run(read())


def assert_right(url: str, *witnesses: Iterable[str]) -> None:
    """Hold the store against what the processes have seen, and the task against what it should have
    become.
    """
    stored, events = truth(url, "t-1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.seq for event in events if b"TASK_STATE_COMPLETED" in event.body] == [len(events)]
    digests = {event.seq: hashlib.sha256(event.body).hexdigest() for event in events}
    for lines in witnesses:
        assert read_seen_events(lines).items() <= digests.items()
    task = json.loads(stored.task.json)
    stream, result = task["artifacts"]
    assert [part["text"] for part in stream["parts"]] == [str(number) for number in range(CHUNKS)]
    assert result["parts"] == [
        {"data": {"price": 2**53 + 1, "first": "to First?", "second": "to Second?"}}
    ]
    assert [message["parts"][0]["text"] for message in task["history"]] == [
        "go",
        "First?",
        "to First?",
        "Second?",
        "to Second?",
    ]


@pytest.mark.parametrize("fault", POINTS)
def test_a_killed_process_loses_nothing(url: str, fault: str) -> None:
    """The process dies at its n-th commit; the next one goes on: log without gaps, one end, nothing
    doubled, both answers in place.
    """
    first = finish_process(start_process(url, fault=fault), -signal.SIGKILL)
    second = finish_process(start_process(url))
    assert second[-1].startswith("end ")
    assert_right(url, first, second)


def test_killed_again_and_again(url: str) -> None:
    """A task survives as many deaths as it takes, as long as each process gets a little further."""
    witnesses = [
        finish_process(start_process(url, fault=f"after commit:{count}"), -signal.SIGKILL)
        for count in (5, 9, 25)
    ]
    witnesses.append(finish_process(start_process(url)))
    assert_right(url, *witnesses)


def test_the_tasks_of_a_living_process_are_left_to_it(postgres_url: str) -> None:
    """Two processes on one database: one dies and the other finishes its task, while its own, which
    takes longer than a lease, is run once.
    """
    bystander = start_process(postgres_url, "bystander")
    assert bystander.stdout is not None
    assert bystander.stdout.readline() == "open\n"
    first = finish_process(start_process(postgres_url, fault="after commit:15"), -signal.SIGKILL)
    second = finish_process(start_process(postgres_url))
    assert json.loads(finish_process(bystander)[-1].removeprefix("end "))["artifacts"][0][
        "parts"
    ] == [{"text": "undisturbed"}]
    assert truth(postgres_url, "t-2")[0].epoch == 1
    assert_right(postgres_url, first, second)


def test_a_process_that_was_frozen_finds_its_task_done(postgres_url: str) -> None:
    """A process sleeps through its lease in the middle of a stream; another one finishes the task;
    what the first writes on waking is refused.
    """
    first = start_process(postgres_url, pace=0.2)
    assert first.stdout is not None
    before = [first.stdout.readline() for _ in range(6)]
    first.send_signal(signal.SIGSTOP)
    second = finish_process(start_process(postgres_url))
    first.send_signal(signal.SIGCONT)
    first_too = finish_process(first)
    assert first_too[-1] == second[-1]
    assert_right(postgres_url, [line.rstrip() for line in before], first_too, second)


def test_a_second_process_on_one_file_is_refused(tmp_path: Path) -> None:
    """SQLite has one runner process; another one is told so, clearly, and touches nothing."""
    url = str(tmp_path / "tasks.db")
    bystander = start_process(url, "bystander")
    assert bystander.stdout is not None
    assert bystander.stdout.readline() == "open\n"
    bystander.send_signal(signal.SIGSTOP)  # it may not end before the other one has begun
    process = start_process(url)
    _, errors = process.communicate(timeout=180)
    bystander.send_signal(signal.SIGCONT)
    assert process.returncode == 1
    assert "StoreInUseError" in errors.splitlines()[-1]
    assert finish_process(bystander)[-1].startswith("end ")
