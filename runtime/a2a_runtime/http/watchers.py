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
from a2a_runtime.http.asgi import ClientDisconnectError


class DisconnectWatcher:
    """``async with Listener(receive): …`` ends early when the client goes away. Every so often something may be done while nothing is heard."""

    def __init__(self, receive: Receive, on_idle: Callable[[], Awaitable[float]] | None = None, idle_timeout: float | None = None) -> None:
        self.is_disconnected = False
        self._receive = receive
        self._on_idle, self._idle_timeout = on_idle, idle_timeout

    async def __aenter__(self) -> Self:
        worker = asyncio.current_task()
        if worker is None:
            raise RuntimeError("only a task can be told that its client is gone")
        self._worker = worker
        self._listening = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        self._listening.cancel()
        try:
            await asyncio.gather(self._listening, return_exceptions=True)
        except asyncio.CancelledError:
            if not self.is_disconnected:
                raise
        if not self.is_disconnected:
            return False
        self._worker.uncancel()
        return kind is asyncio.CancelledError

    async def _listen(self) -> None:
        while not self.is_disconnected:
            try:
                async with asyncio.timeout(self._idle_timeout):
                    while (await self._receive())["type"] != "http.disconnect":
                        pass
                self.disconnect()
            except TimeoutError:
                if self._on_idle is not None:
                    self._idle_timeout = await self._on_idle()

    def disconnect(self) -> None:
        """Take the client for gone."""
        self.is_disconnected = True
        self._worker.cancel()


# Noticing that something takes long: an answer whose client may be gone by now, or a request that does not arrive.
#
# A timer for each would cost more than most of them take. So nobody looks for the first while: a patrol passes by every now and then, among all who
# wait for the same kind of thing.
#

Answer = TypeVar("Answer")

_CHECK_INTERVAL = 1.0
_CHECKS_PER_TIMEOUT = 4


class _Waiter:
    """Somebody who waits: the task that does, how often the patrol has seen it, and why it waits no more."""

    __slots__ = ("checks", "failure", "listening", "worker")

    def __init__(self, worker: asyncio.Task[object]) -> None:
        self.worker = worker
        self.checks = 0
        self.listening: asyncio.Task[None] | None = None
        self.failure: Exception | None = None

    def fail(self, failure: Exception) -> None:
        self.failure = failure
        self.worker.cancel()

    async def listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.fail(ClientDisconnectError())


class SharedDisconnectWatcher:
    """Goes round among those who wait for answers of a surface: after the first round it listens whether their clients are still there."""

    def __init__(self, interval_seconds: float = _CHECK_INTERVAL) -> None:
        self._interval_seconds = interval_seconds
        self._waiters: dict[Receive, _Waiter] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, receive: Receive, operation: Awaitable[Answer]) -> Answer:
        """Wait for an answer, or raise ``GoneError`` when there is nobody left to give it to."""
        worker = asyncio.current_task()
        if worker is None:
            raise RuntimeError("only a task can be told to wait no more")
        waiting = self._waiters[receive] = _Waiter(worker)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._interval_seconds, self._check_all)
        try:
            return await operation
        except asyncio.CancelledError:
            if waiting.failure is None:
                raise
            worker.uncancel()
            raise waiting.failure from None
        finally:
            del self._waiters[receive]
            if waiting.listening is not None:
                waiting.listening.cancel()

    def _check_all(self) -> None:
        self._timer = None
        for receive, waiting in self._waiters.items():
            self._check(receive, waiting)
            waiting.checks += 1
        if self._waiters:
            self._timer = asyncio.get_running_loop().call_later(self._interval_seconds, self._check_all)

    def _check(self, receive: Receive, waiter: _Waiter) -> None:
        if waiter.checks and waiter.listening is None:
            waiter.listening = asyncio.create_task(waiter.listen(receive))


class BodyTimeout(SharedDisconnectWatcher):
    """Goes round among those who wait for a request to arrive, and raises ``RequestTimeoutError`` where it takes too long, or a quarter more."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds / _CHECKS_PER_TIMEOUT)
        self._seconds = seconds

    def _check(self, receive: Receive, waiter: _Waiter) -> None:  # noqa: ARG002 - nobody else may hear what arrives
        if waiter.checks == _CHECKS_PER_TIMEOUT:
            waiter.fail(RequestTimeoutError(f"A request has {self._seconds:g} s to arrive", details={"limit": f"{self._seconds:g}"}))


# The end of a stream whose reader's proof has run out.
#
# A request is answered as whoever its token says, for as long as the token holds. A stream may go on for longer; its reader goes on from the last
# event, with a new token.
#

_MAX_SLEEP_SECONDS = 3600.0
"""Seconds after which the time is looked at again: clocks are set, and machines sleep."""


class CredentialExpiry:
    """``async with Expiry(clock, until): …`` raises ``ChallengeError`` in the block when the time has come, which may be never (``None``)."""

    def __init__(self, clock: Clock, expires_at: float | None) -> None:
        self._clock, self._expires_at = clock, expires_at
        self._watch: asyncio.Task[None] | None = None
        self._is_expired = False

    async def __aenter__(self) -> Self:
        worker = asyncio.current_task()
        if self._expires_at is not None and worker is not None:
            self._watch = asyncio.create_task(self._cancel_at(self._expires_at, worker))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._watch is None:
            return
        self._watch.cancel()
        if self._is_expired and kind is asyncio.CancelledError:
            self._worker.uncancel()
            raise ChallengeError(BEARER.title(), "What proves who is calling has expired; go on from the last event with a new proof")

    async def _cancel_at(self, expires_at: float, worker: asyncio.Task[object]) -> None:
        self._worker = worker
        while (left := expires_at - self._clock.millis() / 1000) > 0:
            await self._clock.sleep(min(left, _MAX_SLEEP_SECONDS))
        self._is_expired = True
        worker.cancel()
