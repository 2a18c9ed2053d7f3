"""A process is killed in the midst of a call to a source.

The work is repeated only where a repetition does no harm.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("source_process.py")

pytestmark = pytest.mark.slow


def start_process(*words: str) -> subprocess.Popen[str]:
    """Start the process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, PROGRAM, *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


GONE = (
    "FAILED Outcome unknown: the process that ran this task is gone, and its skill cannot be "
    "restarted"
)
NOT_OPEN = (
    "FAILED Outcome unknown: the call that has asked is not open any more; it may have had effects"
)


@pytest.mark.parametrize(
    ("words", "end", "lines"),
    [
        (("append",), GONE, 1),
        (("append-again",), "COMPLETED ", 2),
        (("append", "mcp"), GONE, 1),
        (("ask", "mcp"), NOT_OPEN, 0),
        (("files.append", "modules"), GONE, 1),
        pytest.param(
            ("files.append_again", "modules"),
            "COMPLETED ",
            2,
            marks=pytest.mark.soak(share="drills"),
        ),
    ],
    ids=[
        "local",
        "local, idempotent",
        "of a server",
        "of a server, asking",
        "a module",
        "a module, idempotent",
    ],
)
def test_side_effects_are_not_repeated(
    tmp_path: Path, words: tuple[str, ...], end: str, lines: int
) -> None:
    """A tool that writes a file writes once, and its task fails with an unknown outcome; one that
    says that it is idempotent is called again.

    The same goes for modules, for the tools of a server, and for a call that was open for the
    answer to a question.
    """
    store = str(tmp_path / "tasks.db")
    file = tmp_path / "file"
    process = start_process(store, str(file), "start", *words)
    assert process.stdout is not None
    said = {process.stdout.readline().strip() for _ in range(2)}
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=180)
    assert "written" in said
    task = next(line for line in said if line.startswith("task ")).removeprefix("task ")
    output, errors = start_process(store, str(file), "follow", task, *words[1:]).communicate(
        timeout=180
    )
    assert output.splitlines()[-1:] == [end], errors[-3000:]
    assert (file.read_text().count("line") if file.exists() else 0) == lines
