"""Handlers that do not stop: their process ends all the same, says whose task that was, and the next one goes on with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("stubborn_process.py")


def run(file: Path, handler: str) -> subprocess.CompletedProcess[str]:
    """Run the process to its end; one that does not come to an end fails the test."""
    return subprocess.run([sys.executable, str(SCRIPT), str(file), handler], capture_output=True, text=True, timeout=60, check=True)


@pytest.mark.parametrize("handler", ["deaf", "stone_deaf", "blocked"])
def test_a_handler_that_does_not_stop_holds_nobody_up(tmp_path: Path, handler: str) -> None:
    """Neither the loop nor the interpreter waits for it when they close; its task is named in the log, and done by the next process."""
    left = run(tmp_path / "tasks.db", handler)
    assert left.stdout.startswith("WORKING")
    said = "handler abandoned: task t-1, skill s ignores the stop request (shutdown); task released to another process"
    assert (said in left.stderr) is (handler != "blocked")  # nobody waits for a thread in the first place
    assert "Traceback" not in left.stderr
    done = run(tmp_path / "tasks.db", "sane")
    assert done.stdout.startswith("COMPLETED")
    assert "attempt 2" in done.stdout
