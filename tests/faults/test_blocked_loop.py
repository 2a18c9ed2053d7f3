"""A coroutine blocks the event loops of all processes, one after another, for longer than a
lease.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_contract.lifecycle import TERMINAL, State
from a2a_runtime.engine.run import TOO_MANY_RESTARTS
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.models import StoredTask, TaskQuery

from .blocking_process import LEASE_SECONDS, SCOPE

PROGRAM = Path(__file__).with_name("blocking_process.py")
NEIGHBOURS = 6

pytestmark = pytest.mark.slow


def start(url: str, tasks: int) -> subprocess.Popen[str]:
    """Start a process, and wait until it runs."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(PROGRAM), url, str(tasks)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


async def wait_terminal(url: str) -> dict[str, StoredTask]:
    """Wait until all tasks have ended."""
    store = PostgresStore(url)
    await store.open()
    try:
        async with asyncio.timeout(180):
            while True:
                tasks = (await store.list_tasks(SCOPE, TaskQuery())).tasks
                if len(tasks) == NEIGHBOURS + 1 and all(task.state in TERMINAL for task in tasks):
                    return {task.wire_id: task for task in tasks}
                await asyncio.sleep(0.1)
    finally:
        await store.close()


def test_only_the_task_that_blocks_fails(postgres_url: str) -> None:
    """Its neighbours, which must not crash once, complete elsewhere; each process warns once, with
    the skill and the seconds.
    """
    others = [start(postgres_url, 0) for _ in range(2)]
    processes = [start(postgres_url, NEIGHBOURS), *others]
    try:
        tasks = asyncio.run(wait_terminal(postgres_url))
    finally:
        for process in processes:
            process.kill()
        logs = [process.communicate()[1] for process in processes]
    assert tasks["t-0"].state is State.FAILED
    assert TOO_MANY_RESTARTS in tasks["t-0"].task.json.decode()
    assert {tasks[f"t-{number}"].state for number in range(1, NEIGHBOURS + 1)} == {State.COMPLETED}
    warnings = re.findall(
        (
            r"event loop blocked: for (\S+) s by skill blocks, "
            r"task t-0, at \S+blocking_process.py:\d+;"
        ),
        logs[0],
    )
    assert len(warnings) == 1
    assert 0 < float(warnings[0]) < LEASE_SECONDS
