"""Things that a process does again and again for as long as it lives, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine

from a2a_runtime.clock import Clock

log = logging.getLogger(__name__)


class Loops:
    """Owns background work: what is started here is watched, and stopped with its owner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def every(self, seconds: float, step: Callable[[], Awaitable[object]]) -> None:
        """Do something now and then; when it fails, it is logged and done again the next time."""

        async def forever() -> None:
            while True:
                await self._try(step)
                await self._clock.sleep(seconds)

        self.start(forever())

    def start(self, work: Coroutine[object, object, None]) -> None:
        """Do something once."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Stop everything, and wait until it has stopped."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    async def _try(step: Callable[[], Awaitable[object]]) -> None:
        try:
            await step()
        except Exception:  # the edge of a background task: it has to go on
            log.exception("%s failed and will be tried again", step)
