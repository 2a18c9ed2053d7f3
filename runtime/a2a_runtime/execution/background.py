"""Things that a process does later, or again and again for as long as it lives, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Generic, TypeVar

from a2a_runtime.clock import Clock

T = TypeVar("T")

log = logging.getLogger(__name__)


class BackgroundTasks:
    """Owns background work: what is started here is watched, and stopped with its owner."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def run_every(self, interval_seconds: float, function: Callable[[], Awaitable[object]]) -> None:
        """Do something now and then; when it fails, it is logged and done again the next time."""

        async def forever() -> None:
            while True:
                await self._run_logged(function)
                await self._clock.sleep(interval_seconds)

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
    async def _run_logged(function: Callable[[], Awaitable[object]]) -> None:
        try:
            await function()
        except Exception:  # the edge of a background task: it has to go on
            log.exception("%s failed and will be tried again", function)


class DelayedCalls(Generic[T]):
    """Does something with each of many objects that stays for a while: when it has stayed for a period, and before it has stayed for two.

    Most do not stay so long. They cost next to nothing, and nothing of them is kept: there is one timer for all, which looks only at what is left.
    """

    def __init__(self, delay_seconds: float, callback: Callable[[T], object]) -> None:
        self._delay_seconds, self._callback = delay_seconds, callback
        self._current: dict[T, None] = {}
        self._previous: dict[T, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, item: T) -> None:
        """Take an object."""
        self._current[item] = None
        if self._timer is None:
            self._start_timer()

    def discard(self, item: T) -> None:
        """Let go of an object that does not stay."""
        self._current.pop(item, None)
        self._previous.pop(item, None)

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._delay_seconds, self._fire)

    def _fire(self) -> None:
        due, self._previous, self._current = self._previous, self._current, {}
        self._timer = None
        for item in due:
            self._callback(item)
        if self._previous:
            self._start_timer()
