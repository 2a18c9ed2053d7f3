"""Things that a process does later, or again and again for as long as it lives, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Generic, TypeVar

from a2a_runtime.clock import Clock

T = TypeVar("T")

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


class Later(Generic[T]):
    """Does the same for each of many objects, a fixed time after it was added: with one timer for all, because most need nothing by then."""

    def __init__(self, seconds: float, act: Callable[[T], object]) -> None:
        self._seconds, self._act = seconds, act
        self._waiting: deque[tuple[float, T]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, item: T) -> None:
        """Take an object."""
        loop = asyncio.get_running_loop()
        self._waiting.append((loop.time() + self._seconds, item))
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._look)

    def _look(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        now = loop.time()
        while self._waiting and self._waiting[0][0] <= now:
            self._act(self._waiting.popleft()[1])
        if self._waiting:
            self._timer = loop.call_at(self._waiting[0][0], self._look)
