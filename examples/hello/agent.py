"""An agent of a dozen lines: one skill that answers, and one that streams."""

import asyncio
from collections.abc import AsyncIterator

from a2a_runtime.agent import Agent
from a2a_runtime.engine.handlers.context import TaskContext

agent = Agent("hello", description="Greets people, and spells what they say.")


@agent.skill("greet", default=True, tags=["greeting"], examples=["Ada"])
async def greet(ctx: TaskContext) -> str:
    """Greet whoever is named."""
    return f"Hello, {ctx.text}!"


@agent.skill("spell", tags=["streaming"], examples=["Ada"])
async def spell(ctx: TaskContext) -> AsyncIterator[str]:
    """Say a text letter by letter."""
    for letter in ctx.text:
        yield letter
        await asyncio.sleep(0.2)
