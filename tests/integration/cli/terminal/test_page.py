"""The page about agents in a terminal: its commands run, and print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from integration.outcome_agent import serve_on_socket
from style.source_files import ROOT

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext

PAGE = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8")
BLOCKS = "".join(re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
EXAMPLES = re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", BLOCKS, re.MULTILINE)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of an agent with the skills of the page."""
    agent = Agent("hello", description="Greets people.")

    @agent.skill("greet")
    async def greet(ctx: TaskContext) -> str:
        return f"Hello, {ctx.text.strip()}!"

    @agent.skill("count")
    async def count(ctx: TaskContext) -> AsyncGenerator[str, None]:
        for number in range(int(ctx.text)):
            yield f"{number + 1} "

    @agent.skill("order")
    async def order(ctx: TaskContext) -> str:
        return f"One {(await ctx.ask('Which one?')).text} {ctx.text}"

    with serve_on_socket(create_app(agent, store="memory")) as client:
        yield str(client.base_url).rstrip("/")


@pytest.mark.parametrize(
    ("command", "output"), EXAMPLES, ids=[str(number) for number, _ in enumerate(EXAMPLES, 1)]
)
def test_commands_of_the_page_run(url: str, command: str, output: str) -> None:
    """Each prints what stands below it."""
    folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    line = command.replace("http://127.0.0.1:8000", url)
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.rstrip(), done.stderr) == (0, output.rstrip(), "")
