"""A process on a storage of nine methods is killed between, before and after its writes.

What it acknowledged is found, and is not running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_runtime.features.simple_stores.restored import LOST

PROGRAM = Path(__file__).with_name("storage_process.py")
SOME = ("before:9", "after:30")
POINTS = [
    pytest.param(point, marks=() if point in SOME else pytest.mark.soak(share="drills"))
    for point in (
        *SOME,
        *(
            f"{where}:{number}"
            for where in ("before", "after")
            for number in (2, 3, 5, 14, 18, 23, 45, 61, 100)
        ),
    )
]

pytestmark = pytest.mark.slow


def run(*words: str, fault: str = "", returncode: int = 0) -> list[str]:
    """Run the process to its end, and return what it said."""
    environment = {**os.environ, "A2A_FAULT": fault, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, PROGRAM, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == returncode, done.stderr[-3000:]
    return done.stdout.splitlines()


def select(lines: list[str], word: str) -> dict[str, str]:
    """Return what was said about each task with a word."""
    said = [line.split(" ", 2) for line in lines]
    return {task_id: " ".join(rest) for first, task_id, *rest in said if first == word}


@pytest.mark.parametrize("fault", POINTS)
def test_a_killed_process_loses_no_task(tmp_path: Path, fault: str) -> None:
    """Ends stay, questions can be answered, and what ran has failed; the list has the same."""
    file = str(tmp_path / "tasks")
    lines = run(file, "start", fault=fault, returncode=-signal.SIGKILL)
    acknowledged = select(lines, "task")
    after = run(file, "read", *acknowledged)
    found = select(after, "found")
    answered = select(after, "answered")
    assert found.keys() == acknowledged.keys()
    assert {found[task_id] for task_id in select(lines, "end")} <= {
        "COMPLETED done",
        "COMPLETED enough",
    }
    assert {found[task_id] for task_id in select(lines, "asks")} <= {"INPUT_REQUIRED More?"}
    assert set(found.values()) <= {"COMPLETED done", "INPUT_REQUIRED More?", f"FAILED {LOST}"}
    assert set(answered.values()) <= {"COMPLETED enough"}
    assert answered.keys() == {
        task_id for task_id, state in found.items() if state.startswith("INPUT_REQUIRED")
    }
    assert (
        0 <= int(after[-1].removeprefix("listed ")) - len(found) <= 1
    )  # one more may have been written, and not acknowledged
