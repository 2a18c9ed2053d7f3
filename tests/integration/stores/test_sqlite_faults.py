"""Durability of an SQLite file when processes die or share it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import StoreInUseError
from a2a_runtime.stores.models import StoredTask, TaskQuery
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.fail_points import FAULT_VARIABLE

pytestmark = pytest.mark.anyio

WRITING = Path(__file__).with_name("writing_process.py")
SCOPE = TaskScope("/agent", "acme", "ada")
EVENTS = {1: 1, 2: 2, 3: 4}  # of a task at each version
STATES = {1: State.SUBMITTED, 2: State.WORKING, 3: State.COMPLETED}


def start(path: Path, fault: str = "") -> subprocess.Popen[str]:
    """Start a writing process."""
    environment = {**os.environ, FAULT_VARIABLE: fault, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, str(WRITING), str(path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_acknowledged(process: subprocess.Popen[str]) -> dict[str, int]:
    """Return the last acknowledged version of each task after the death of the process."""
    out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err
    return versions(out.splitlines(keepends=True))


def versions(lines: Iterable[str]) -> dict[str, int]:
    """Read the last version of each task; half a line says nothing."""
    return {
        wire_id: int(version)
        for wire_id, version in (line.split() for line in lines if line.endswith("\n"))
    }


async def load_all_tasks(store: SqliteStore) -> dict[str, StoredTask]:
    """Load all tasks of the file with their artifacts."""
    tasks: dict[str, StoredTask] = {}
    token = ""
    while True:
        page = await store.list_tasks(
            SCOPE, TaskQuery(page_size=100, page_token=token, include_artifacts=True)
        )
        tasks |= {task.wire_id: task for task in page.tasks}
        token = page.next_page_token
        if not token:
            return tasks


async def check_file(path: Path, acknowledged: dict[str, int]) -> None:
    """Check that the file is intact, no acknowledged change is lost, and no change is partial."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    store = SqliteStore(path)
    await store.open()
    try:
        tasks = await load_all_tasks(store)
        for wire_id, version in acknowledged.items():
            assert tasks[wire_id].version >= version
        for task in tasks.values():
            events = await store.read_events(task.key, 0)
            assert [event.seq for event in events] == list(range(1, EVENTS[task.version] + 1))
            assert (task.last_seq, task.state) == (EVENTS[task.version], STATES[task.version])
            assert bool(task.task.model.artifacts) == (task.state is State.COMPLETED)
            assert len(task.task.model.history or []) == min(task.version, 2)
        # At most one call of each writer was under way.
        assert len(tasks) <= len(acknowledged) + 8
    finally:
        await store.close()


@pytest.mark.parametrize(
    "fault",
    [
        "begun:20",
        "call done:97",
        "before commit:1",
        "before commit:33",
        "after commit:1",
        "after commit:33",
    ],
)
async def test_a_process_that_dies_at_a_point_loses_nothing_acknowledged(
    tmp_path: Path, fault: str
) -> None:
    """At any point of a write, acknowledged changes are kept, and the current change is atomic."""
    path = tmp_path / "tasks.db"
    process = start(path, fault)
    await check_file(path, read_acknowledged(process))


@pytest.mark.slow
async def test_a_process_killed_again_and_again_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Six kills at random moments on one file."""
    path = tmp_path / "tasks.db"
    acknowledged: dict[str, int] = {}
    for round_ in range(6):
        with start(path) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(60 + 13 * round_)]
            process.kill()
            acknowledged |= versions([*lines, *process.stdout])
        assert process.returncode == -signal.SIGKILL
    assert len(acknowledged) > 100
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = SqliteStore(path)
    await store.open()
    try:
        tasks = await load_all_tasks(store)
        assert all(tasks[wire_id].version >= version for wire_id, version in acknowledged.items())
    finally:
        await store.close()


async def test_a_second_process_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    """The error contains the file and a fix; after a kill of the first process, the file is
    free.
    """
    path = tmp_path / "tasks.db"
    process = start(path)
    assert process.stdout is not None
    assert process.stdout.readline()
    second = SqliteStore(path)
    with pytest.raises(StoreInUseError, match=r"tasks\.db.*Postgres"):
        await second.open()
    process.kill()
    process.communicate(timeout=60)
    await second.open()
    await second.close()


async def test_an_attached_store_reads_and_deletes_beside_the_running_process(
    tmp_path: Path,
) -> None:
    """A command may list and delete tasks while the process writes."""
    path = tmp_path / "tasks.db"
    process = start(path)
    assert process.stdout is not None
    assert process.stdout.readline()
    attached = SqliteStore(path, attach=True)
    await attached.open()
    try:
        deleted = 0
        while deleted < 20:
            wire_id, version = process.stdout.readline().split()
            assert await attached.load_task(SCOPE, wire_id) is not None
            if version == "3":
                assert await attached.delete_task(SCOPE, wire_id)
                deleted += 1
        assert all(process.stdout.readline() for _ in range(50))
    finally:
        await attached.close()
        process.kill()
        _, err = process.communicate(timeout=60)
        assert "Error" not in err
