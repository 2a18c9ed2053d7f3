"""The tutorial, command by command, with the installed wheel."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from wheel import ROOT, wait_for_card

from a2a_runtime.testing.ports import find_free_port

pytestmark = [pytest.mark.peer, pytest.mark.slow]

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
GIT = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.com"))
}


class Reader:
    """A reader who types each command of the tutorial."""

    def __init__(self, commands: Path, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("A2A_", "PYTEST", "PYTHON", "VIRTUAL_ENV", "COV_"))
        }
        self.environment = {
            **kept,
            **GIT,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "no_proxy": "*",
        }

    def run(self, line: str) -> str:
        """Run a line to its end, and return its output."""
        if line.startswith("cd "):
            self.folder /= line.removeprefix("cd ")
            return ""
        line = (
            line.replace("http://localhost:8000", self.url)
            .replace("localhost:8000", self.url)
            .replace("https://agent.example.com", self.url)
        )
        done = subprocess.run(
            ["/bin/bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def serve(self, line: str) -> Iterator[None]:
        """Start a server line on a free port of this machine, for the lines after it."""
        port = find_free_port()
        variables = dict(
            word.split("=", 1) for word in shlex.split(line) if re.match(r"[A-Z_]+=", word)
        )
        store = {
            name: value.replace("/var/lib/my-agent", str(self.folder))
            for name, value in variables.items()
        }
        words = ["a2a-gen", "serve", "--port", str(port)]
        with (
            (self.folder.parent / "served.log").open("ab") as log,
            subprocess.Popen(
                words, cwd=self.folder, env={**self.environment, **store}, stdout=log, stderr=log
            ) as process,
        ):
            try:
                self.url = wait_for_card(f"http://127.0.0.1:{port}")
                yield
            finally:
                process.terminate()


def test_each_command_of_the_tutorial_works(bin_folder: Path, tmp_path: Path) -> None:
    """Installations are skipped, since the wheel is installed; servers run until the next one
    starts.
    """
    reader = Reader(bin_folder, tmp_path)
    with ExitStack() as servers:
        for line in COMMANDS:
            if "a2a-gen serve" in line:
                servers.close()
                servers.enter_context(reader.serve(line))
            elif not line.startswith("pip install"):
                reader.run(line)
        assert (reader.folder / "tasks.db").exists()


def test_the_tables_of_the_tutorial_are_valid(bin_folder: Path, tmp_path: Path) -> None:
    """The project with the authentication of the tutorial can be served."""
    reader = Reader(bin_folder, tmp_path)
    reader.run("a2a-gen init my-agent --template report")
    reader.run("cd my-agent")
    reader.run("a2a-gen build")
    (block,) = re.findall(r"^```toml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    project = reader.folder / "a2a.toml"
    assert "surfaces" not in tomllib.loads(project.read_text())
    project.write_text(f"{project.read_text()}\n{block}")
    reader.run("a2a-gen build")
    reader.run("a2a-gen serve --check")
