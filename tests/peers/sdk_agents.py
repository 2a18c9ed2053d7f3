"""Agents made with the official SDKs, each in an environment and a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers.environments import interpreter


@contextmanager
def peer_agent(distribution: str, script: str) -> Iterator[str]:
    """Start an agent, give its URL, and stop it."""
    path = str(Path(__file__).with_name(script))
    place = interpreter(distribution)
    command = ["node", path, str(place.parent)] if script.endswith(".mjs") else [str(place), path]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, "the agent did not start"
        yield url
    finally:
        process.terminate()
        process.communicate(timeout=10)
