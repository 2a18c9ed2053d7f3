"""Hearing that a client is gone while something is done for it.

A server says so in answer to ``receive``, so that somebody has to wait there; whoever works for the client is canceled like by a time limit, and the
end of the block swallows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

from litestar.types import Receive

from a2a_contract.errors import RequestTimeoutError
from a2a_runtime.auth.gate import BEARER, ChallengeError
from a2a_runtime.clock import Clock
from a2a_runtime.http.asgi import GoneError


class Listener:
    """``async with Listener(receive): …`` ends early when the client goes away. Every so often something may be done while nothing is heard."""

    def __init__(self, receive: Receive, meanwhile: Callable[[], Awaitable[float]] | None = None, first: float | None = None) -> None:
        self.is_gone = False
        self._receive = receive
        self._meanwhile, self._patience = meanwhile, first

    async def __aenter__(self) -> Self:
        worker = asyncio.current_task()
        if worker is None:
            raise RuntimeError("only a task can be told that its client is gone")
        self._worker = worker
        self._ear = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        self._ear.cancel()
        try:
            await asyncio.gather(self._ear, return_exceptions=True)
        except asyncio.CancelledError:
            if not self.is_gone:
                raise
        if not self.is_gone:
            return False
        self._worker.uncancel()
        return kind is asyncio.CancelledError

    async def _listen(self) -> None:
        while not self.is_gone:
            try:
                async with asyncio.timeout(self._patience):
                    while (await self._receive())["type"] != "http.disconnect":
                        pass
                self.leave()
            except TimeoutError:
                if self._meanwhile is not None:
                    self._patience = await self._meanwhile()

    def leave(self) -> None:
        """Take the client for gone."""
        self.is_gone = True
        self._worker.cancel()


# Noticing that something takes long: an answer whose client may be gone by now, or a request that does not arrive.
#
# A timer for each would cost more than most of them take. So nobody looks for the first while: a patrol passes by every now and then, among all who
# wait for the same kind of thing.
#

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


# The end of a stream whose reader's proof has run out.
#
# A request is answered as whoever its token says, for as long as the token holds. A stream may go on for longer; its reader goes on from the last
# event, with a new token.
#

_NAP = 3600.0
"""Seconds after which the time is looked at again: clocks are set, and machines sleep."""


class Expiry:
    """``async with Expiry(clock, until): …`` raises ``ChallengeError`` in the block when the time has come, which may be never (``None``)."""

    def __init__(self, clock: Clock, until: float | None) -> None:
        self._clock, self._until = clock, until
        self._watch: asyncio.Task[None] | None = None
        self._is_over = False

    async def __aenter__(self) -> Self:
        worker = asyncio.current_task()
        if self._until is not None and worker is not None:
            self._watch = asyncio.create_task(self._end(self._until, worker))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._watch is None:
            return
        self._watch.cancel()
        if self._is_over and kind is asyncio.CancelledError:
            self._worker.uncancel()
            raise ChallengeError(BEARER.title(), "What proves who is calling has expired; go on from the last event with a new proof")

    async def _end(self, until: float, worker: asyncio.Task[object]) -> None:
        self._worker = worker
        while (left := until - self._clock.millis() / 1000) > 0:
            await self._clock.sleep(min(left, _NAP))
        self._is_over = True
        worker.cancel()
