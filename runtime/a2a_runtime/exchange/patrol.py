"""Noticing that something takes long: an answer whose client may be gone by now, or a request that does not arrive.

A timer for each would cost more than most of them take. So nobody looks for the first while: a patrol passes by every now and then, among all who
wait for the same kind of thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from litestar.types import Receive

from a2a_contract.errors import RequestTimeoutError
from a2a_runtime.exchange.body import GoneError

Answer = TypeVar("Answer")

_ROUND = 1.0
_ROUNDS_OF_A_DEADLINE = 4


class _Waiting:
    """Somebody who waits: the task that does, how often the patrol has seen it, and why it waits no more."""

    __slots__ = ("ear", "end", "seen", "worker")

    def __init__(self, worker: asyncio.Task[object]) -> None:
        self.worker = worker
        self.seen = 0
        self.ear: asyncio.Task[None] | None = None
        self.end: Exception | None = None

    def stop(self, reason: Exception) -> None:
        self.end = reason
        self.worker.cancel()

    async def listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.stop(GoneError())


class Patrol:
    """Goes round among those who wait for answers of a surface: after the first round it listens whether their clients are still there."""

    def __init__(self, seconds: float = _ROUND) -> None:
        self._round = seconds
        self._waiting: dict[Receive, _Waiting] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, receive: Receive, answer: Awaitable[Answer]) -> Answer:
        """Wait for an answer, or raise ``GoneError`` when there is nobody left to give it to."""
        worker = asyncio.current_task()
        if worker is None:
            raise RuntimeError("only a task can be told to wait no more")
        waiting = self._waiting[receive] = _Waiting(worker)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._round, self._go_round)
        try:
            return await answer
        except asyncio.CancelledError:
            if waiting.end is None:
                raise
            worker.uncancel()
            raise waiting.end from None
        finally:
            del self._waiting[receive]
            if waiting.ear is not None:
                waiting.ear.cancel()

    def _go_round(self) -> None:
        self._timer = None
        for receive, waiting in self._waiting.items():
            self._pass(receive, waiting)
            waiting.seen += 1
        if self._waiting:
            self._timer = asyncio.get_running_loop().call_later(self._round, self._go_round)

    def _pass(self, receive: Receive, waiting: _Waiting) -> None:
        if waiting.seen and waiting.ear is None:
            waiting.ear = asyncio.create_task(waiting.listen(receive))


class Deadline(Patrol):
    """Goes round among those who wait for a request to arrive, and raises ``RequestTimeoutError`` where it takes too long, or a quarter more."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds / _ROUNDS_OF_A_DEADLINE)
        self._seconds = seconds

    def _pass(self, receive: Receive, waiting: _Waiting) -> None:  # noqa: ARG002 - nobody else may hear what arrives
        if waiting.seen == _ROUNDS_OF_A_DEADLINE:
            waiting.stop(RequestTimeoutError(f"A request has {self._seconds:g} s to arrive", details={"limit": f"{self._seconds:g}"}))
