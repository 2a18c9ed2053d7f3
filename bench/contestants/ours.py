"""Our own server, on the store that ``A2A_STORE`` names."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.app import create_app
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.settings import Settings

agent = Agent("ours", description="Says the same.", capabilities=Capabilities(streaming=True))


@agent.skill("echo", default=True)
async def echo(ctx: TaskContext) -> str:
    """Say the same."""
    return ctx.text


@agent.skill("wait")
async def wait(ctx: TaskContext) -> str:
    """Say the same a little later."""
    await asyncio.sleep(0.05)
    return ctx.text


@agent.skill("count")
async def count(ctx: TaskContext) -> AsyncIterator[str]:
    """Stream as many chunks as one says."""
    for _ in range(int(ctx.text.split()[1])):
        yield "chunk"


@agent.skill("pace")
async def pace(ctx: TaskContext) -> AsyncIterator[str]:
    """Stream as many chunks as one says, fifty a second."""
    for _ in range(int(ctx.text.split()[1])):
        await asyncio.sleep(0.02)
        yield "chunk"


settings = Settings.from_environment(os.environ)
app = create_app(agent, store=settings.store, settings=settings)
