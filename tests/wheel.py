"""The installed wheel: an environment with nothing of this repository, and projects in it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from peers.environments import interpreter

from a2a_runtime.testing.ports import find_free_port

ROOT = Path(__file__).parents[1]
DEPENDENCIES = "wheel-dependencies"
"""The environment with the dependencies of the wheel, installed once on a machine."""


def find_dependencies() -> Path:
    """Find the installed dependencies of the wheel."""
    (packages,) = (interpreter(DEPENDENCIES).parents[1] / "lib").glob("python3*/site-packages")
    return packages


def command(words: list[str], folder: Path, code: int = 0) -> str:
    """Run a command without the environment of this process, and return its output."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("A2A_", "PYTEST", "PYTHON", "VIRTUAL_ENV", "COV_"))
    }
    done = subprocess.run(
        words, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


class InstalledProject:
    """A project folder with the commands of an environment that has only the wheel."""

    def __init__(self, commands: Path, folder: Path) -> None:
        self.commands = commands
        self.folder = folder

    def gen(self, *words: str, code: int = 0) -> str:
        """Run ``a2a-gen``."""
        return command([str(self.commands / "a2a-gen"), *words], self.folder, code)

    def python(self, *words: str, code: int = 0) -> str:
        """Run Python, or one of its tools with ``-m``."""
        return command([str(self.commands / "python"), *words], self.folder, code)

    @contextmanager
    def serving(self, word: str = "serve") -> Iterator[str]:
        """Serve the project as its README says, on a free port."""
        port = find_free_port()
        started = [str(self.commands / "a2a-gen"), word, "--port", str(port)]
        with (
            (self.folder / "served.log").open("wb") as log,
            subprocess.Popen(started, cwd=self.folder, stdout=log, stderr=log) as process,
        ):
            try:
                yield wait_for_card(f"http://127.0.0.1:{port}")
            finally:
                process.terminate()

    @property
    def log(self) -> str:
        """Output of the server."""
        return (self.folder / "served.log").read_text(encoding="utf-8")


def wait_for_card(url: str) -> str:
    """Wait until a server serves its card."""
    for _ in range(100):
        try:
            httpx.get(f"{url}/.well-known/agent-card.json", trust_env=False)
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return url
    raise TimeoutError(url)
