"""Handlers that ignore stop requests in different ways."""

from __future__ import annotations

import asyncio
import time

from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.jobs import BackgroundJob


async def sleeps(_ctx: TaskContext) -> str:
    """Take very long."""
    await asyncio.sleep(1000)
    return "done"


async def ignores(ctx: TaskContext) -> str:
    """Ignore the cancellation and write all the time."""
    until = time.monotonic() + 1
    while time.monotonic() < until:
        try:
            await asyncio.sleep(0.01)
            await ctx.status("still here")
        except BaseException:  # noqa: BLE001, S112 - the worst of handlers
            continue
    return "done"


async def gives_up(ctx: TaskContext) -> str:
    """Look now and then whether to stop."""
    while not ctx.is_cancelled:
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "gave up"


def blocks(ctx: TaskContext) -> str:
    """Block a thread, and write when it is too late."""
    time.sleep(0.5)
    ctx.block_on(ctx.status("too late"))
    return "done"


async def breaks_when_stopped(_ctx: TaskContext) -> None:
    """Fail while cleaning up."""
    try:
        await asyncio.sleep(1000)
    finally:
        raise OSError("cleaning up failed")


async def job(_ctx: TaskContext) -> BackgroundJob:
    """Return a long job."""
    return BackgroundJob(lambda _: asyncio.sleep(1000))


async def asks(ctx: TaskContext) -> str:
    """Ask."""
    return (await ctx.ask("Well?")).text
