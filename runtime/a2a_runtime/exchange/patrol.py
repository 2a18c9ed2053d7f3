"""Hearing that a client is gone that waits long for one answer.

To listen costs a task, and most answers come at once. So nobody listens for the first seconds: a patrol passes by every now and then, and only who
was waiting already when it last came is listened for from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from litestar.types import Receive

from a2a_runtime.exchange.body import GoneError

Answer = TypeVar("Answer")

_ROUND = 1.0


class _Waiting:
    """Somebody who waits: the task that works for them, and whether they are still there."""

    __slots__ = ("ear", "is_gone", "was_seen", "worker")

    def __init__(self, worker: asyncio.Task[object]) -> None:
        self.worker = worker
        self.ear: asyncio.Task[None] | None = None
        self.was_seen = self.is_gone = False

    async def listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        self.worker.cancel()


class Patrol:
    """Goes round among those who wait for the answers of a surface."""

    def __init__(self) -> None:
        self._waiting: dict[Receive, _Waiting] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, receive: Receive, answer: Awaitable[Answer]) -> Answer:
        """Wait for an answer, or raise ``GoneError`` when there is nobody left to give it to."""
        worker = asyncio.current_task()
        if worker is None:
            raise RuntimeError("only a task can be told that its client is gone")
        waiting = self._waiting[receive] = _Waiting(worker)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_ROUND, self._go_round)
        try:
            return await answer
        except asyncio.CancelledError:
            if not waiting.is_gone:
                raise
            worker.uncancel()
            raise GoneError from None
        finally:
            del self._waiting[receive]
            if waiting.ear is not None:
                waiting.ear.cancel()

    def _go_round(self) -> None:
        self._timer = None
        for receive, waiting in self._waiting.items():
            if waiting.was_seen and waiting.ear is None:
                waiting.ear = asyncio.create_task(waiting.listen(receive))
            waiting.was_seen = True
        if self._waiting:
            self._timer = asyncio.get_running_loop().call_later(_ROUND, self._go_round)
