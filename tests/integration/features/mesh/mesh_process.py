"""A producer in a process of its own, on a store that outlives it: ``mesh_process.py PORT
STORE``.
"""

from __future__ import annotations

import asyncio
import sys

import uvicorn

from a2a_contract.dialects import MESH
from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.jobs import BackgroundJob
from a2a_runtime.surface import Surface

agent = Agent("restarting producer")


@agent.skill("report")
async def report(ctx: TaskContext) -> object:
    """Answer at once, begin a job that never ends, or work for as long as one lets it and end in
    the second life.
    """
    if ctx.text == "job":
        return BackgroundJob(lambda _: asyncio.Event().wait())
    if ctx.text == "long" and ctx.attempt == 1:
        await ctx.status("at it", progress=0.5)
        await asyncio.Event().wait()
    return f"{ctx.text} done"


def main(port: str, store: str) -> None:
    """Serve."""
    app = create_app(
        Surface(agent, "/agents/report", frozenset((MESH.name,)), answer_within=0.5), store=store
    )
    uvicorn.run(app, port=int(port), log_level="error")


if __name__ == "__main__":
    main(*sys.argv[1:])
