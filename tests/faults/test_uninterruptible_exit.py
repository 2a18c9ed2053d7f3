"""Exit of a process whose handler ignores the stop request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("uninterruptible_process.py")


def run(file: Path, handler: str) -> subprocess.CompletedProcess[str]:
    """Run the process to its end; one that does not come to an end fails the test."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(file), handler],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


@pytest.mark.parametrize("handler", ["ignores_cancel", "ignores_everything", "blocked"])
def test_a_process_exits_despite_a_handler_that_ignores_the_stop_request(
    tmp_path: Path, handler: str
) -> None:
    """Neither the event loop nor the interpreter waits for the handler; the log names its task, and
    the next process completes it.
    """
    left = run(tmp_path / "tasks.db", handler)
    assert left.stdout.startswith("WORKING")
    said = (
        "handler abandoned: task t-1, skill s ignores the stop request (shutdown); task released "
        "to another process"
    )
    assert (said in left.stderr) is (handler != "blocked")  # a thread does not delay the exit
    assert "Traceback" not in left.stderr
    done = run(tmp_path / "tasks.db", "sane")
    assert done.stdout.startswith("COMPLETED")
    assert "attempt 2" in done.stdout
