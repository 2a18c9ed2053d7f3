"""Calling a handler, whatever its style."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from types import CoroutineType
from typing import TypeVar

from a2a_runtime.execution.context import Context
from a2a_runtime.execution.skill import Skill, Style

T = TypeVar("T")


async def call(skill: Skill, context: Context, chunk: Callable[[object], Awaitable[None]]) -> object:
    """Run a handler to its end, and give back its answer; what it yields on the way goes to ``chunk``."""
    handler: Callable[[Context], object] = skill.handler  # type: ignore[assignment]  # one that answers with a message is content with a Context
    answer = await in_thread(handler, context) if skill.style is Style.THREAD else handler(context)
    if skill.style is not Style.ASYNC and isinstance(answer, AsyncGenerator):
        async with aclosing(answer) as values:
            async for value in values:
                await chunk(value)
        return None
    return await answer if isinstance(answer, CoroutineType) or inspect.isawaitable(answer) else answer


async def in_thread(function: Callable[[T], object], argument: T) -> object:
    """Call a plain function in a thread of its own.

    Not in a pool: handlers may block for minutes, and one that never comes back must keep neither others from running nor the process from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[object] = loop.create_future()
    inherited = contextvars.copy_context()

    def deliver(result: object, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(RuntimeError("a handler raised StopIteration") if isinstance(error, StopIteration) else error)

    def work() -> None:
        result, error = None, None
        try:
            result = inherited.run(function, argument)
        except BaseException as raised:  # noqa: BLE001  # the edge of a thread: whoever waits for it gets whatever it was
            error = raised
        with suppress(RuntimeError):  # the loop has been closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(deliver, result, error)

    threading.Thread(target=work, name="a2a-handler", daemon=True).start()
    return await done
