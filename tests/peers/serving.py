"""Agents made with the official SDKs, each in an environment and a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers.peer import ENVIRONMENTS


@contextmanager
def peer_agent(distribution: str, script: str) -> Iterator[str]:
    """Start an agent, give its URL, and stop it."""
    python = ENVIRONMENTS / distribution / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{distribution} is not installed: run `make .venv-peers/{distribution}/.installed` (`make test` does)")
    process = subprocess.Popen([str(python), str(Path(__file__).with_name(script))], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the agent did not start"
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=10)
