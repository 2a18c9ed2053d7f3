"""Agents for the fault deck: a skill that streams, on workers where the environment says so, and
one whose tasks are lost with its process.

The clock of a process steps by the seconds in the file that ``DECK_CLOCK`` names.
"""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from pathlib import Path

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext

CHUNKS = 10
PAUSE_SECONDS = 0.02
CLOCK_VARIABLE = "DECK_CLOCK"


async def stream(ctx: TaskContext) -> str:
    """Stream for a while; on workers every seventh task raises at its first attempt."""
    async with ctx.artifact("stream") as chunks:
        for number in range(CHUNKS):
            await chunks.text(str(number))
            await asyncio.sleep(PAUSE_SECONDS)
    if os.environ.get("A2A_RUNS_ON") and ctx.attempt == 1 and int(ctx.text) % 7 == 0:
        raise OSError
    return await ctx.once("result", partial(find_result, ctx.text))


async def find_result(text: str) -> str:
    """Compute something that is recorded."""
    return f"done {text}"


def follow_clock_file(path: Path) -> None:
    """Let the wall clock of this process follow a file."""
    read_clock = time.time_ns

    def read_stepped() -> int:
        text = path.read_text(encoding="utf-8").strip() if path.exists() else ""
        return read_clock() + int(text or 0) * 1_000_000_000

    time.time_ns = read_stepped


if name := os.environ.get(CLOCK_VARIABLE):
    follow_clock_file(Path(name))
agent = Agent("deck", "Streams", version="1")
agent.skill(
    "stream",
    description="Streams",
    **({"retries": 3, "retry_delay": 0.05} if os.environ.get("A2A_RUNS_ON") else {}),
)(stream)
app = create_app(agent)
forgetful = create_app(agent, store="memory")
