"""``a2a-gen serve`` in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SHOUTING_AGENT = """
[agent]
name = "shouter"
description = "Shouts."
version = "1"

[skills.shout]
description = "Shouts."
handler = "shouting:shout"
"""
_START_SECONDS = 30


def write_project(folder: Path, tables: str) -> None:
    """Write a project whose only skill shouts; ``tables`` come before those of the agent."""
    (folder / "a2a.toml").write_text(f"{tables}\n{SHOUTING_AGENT}")
    (folder / "shouting.py").write_text("def shout(ctx):\n    return ctx.text.upper()\n")


def build_command(*arguments: str) -> Sequence[str]:
    """Build the command."""
    return [
        sys.executable,
        "-c",
        "from a2a_runtime.cli.serve import command; command()",
        *arguments,
    ]


@contextmanager
def run_serve(
    folder: Path,
    ask: Callable[[], T],
    unanswered: type[Exception],
    *arguments: str,
    descriptors: int | None = None,
) -> Iterator[T]:
    """Serve the project of a folder, and yield its first answer, which is no error of the kind
    ``unanswered``; the process ends without an error.
    """
    command = build_command(*arguments)
    if descriptors is not None:
        command = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
    server = subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    try:
        yield _wait_for_answer(server, ask, unanswered)
    finally:
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=30)
    assert server.returncode == 0, errors


def _wait_for_answer(
    server: subprocess.Popen[str], ask: Callable[[], T], unanswered: type[Exception]
) -> T:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            return ask()
        except unanswered:
            assert server.poll() is None, server.communicate()[1]
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
