"""Plain generators as streams: each runs in one thread from its begin to its end.

    reader ── wants the next value ──► thread: goes on to its next ``yield``
           ◄── the value, or the end ──

The thread waits while the value before is written (back pressure). When the reader leaves, the
generator is closed in its thread, so that its ``finally`` runs. A reader that is canceled while the
generator blocks does not wait for it: the thread closes it at its next ``yield``.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from a2a_runtime.engine.background import run_in_thread


async def iterate_in_thread(
    function: Callable[[], Iterator[object]],
) -> AsyncGenerator[object, None]:
    """Yield the values of the generator that a function makes; both run in a thread."""
    loop = asyncio.get_running_loop()
    wanted: SimpleQueue[asyncio.Future[object] | None] = SimpleQueue()
    running = asyncio.ensure_future(run_in_thread(functools.partial(_work, function, wanted), loop))
    is_idle = True
    try:
        while True:
            value = loop.create_future()
            is_idle = False
            wanted.put(value)
            await asyncio.wait({value, running}, return_when=asyncio.FIRST_COMPLETED)
            if not value.done():
                await running
                return
            is_idle = True
            yield value.result()
    finally:
        wanted.put(None)
        if is_idle:
            await running
        else:
            running.cancel()


def _work(
    function: Callable[[], Iterator[object]],
    wanted: SimpleQueue[asyncio.Future[object] | None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Run a generator as far as its values are wanted."""
    try:
        values = iter(function())
        try:
            while (next_value := wanted.get()) is not None:
                with suppress(StopIteration):
                    loop.call_soon_threadsafe(_deliver, next_value, next(values))
                    continue
                return
        finally:
            # A plain iterator has none.
            close: Callable[[], None] | None = getattr(values, "close", None)
            if close is not None:
                close()
    except SystemExit as error:  # of the handler, which must not end the process
        raise RuntimeError("the handler raised SystemExit") from error


def _deliver(future: asyncio.Future[object], value: object) -> None:
    if not future.done():
        future.set_result(value)


class ThreadedStream:
    """Handler that is a plain generator, as one that is an async generator."""

    def __init__(self, handler: Callable[..., Any]) -> None:
        functools.update_wrapper(self, handler, updated=())
        self._handler = handler

    async def __call__(
        self, context: object, **dependencies: object
    ) -> AsyncGenerator[object, None]:
        """Run the generator."""
        values = iterate_in_thread(functools.partial(self._handler, context, **dependencies))
        try:
            async for value in values:
                yield value
        finally:
            await values.aclose()
