"""Watchers: they end a request early, through its ``Interrupt``.

    BodyTimeout               the body does not arrive in time           RequestTimeoutError
    SharedDisconnectWatcher   the client is gone before the response     ClientDisconnectError
    wait_for_disconnect       the client is gone during a stream         ClientDisconnectError
    wait_for_expiry           the credentials of a stream's reader end   ChallengeError

A timer or a task for each request costs more than most requests (measured). So the first two share one timer for all requests of a surface, and only
a request that takes long gets a task of its own.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

from litestar.types import Receive

from a2a_contract.errors import RequestTimeoutError
from a2a_runtime.auth.gate import BEARER, ChallengeError
from a2a_runtime.clock import Clock
from a2a_runtime.http.asgi import ClientDisconnectError, HttpRequest

T = TypeVar("T")

_CHECK_INTERVAL_SECONDS = 1.0
_CHECKS_PER_TIMEOUT = 4
_MAX_SLEEP_SECONDS = 3600.0
"""Limit of one sleep: clocks are set, and machines are suspended."""


class _SharedTimer(ABC):
    """Checks at an interval every request that awaits something; the timer runs only while there are such requests."""

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._past_checks: dict[HttpRequest, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, request: HttpRequest, operation: Awaitable[T]) -> T:
        """Await an operation of a request, which is checked meanwhile."""
        self._past_checks[request] = 0
        if self._timer is None:
            self._start()
        try:
            return await operation
        finally:
            del self._past_checks[request]

    def _start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._interval_seconds, self._check_all)

    def _check_all(self) -> None:
        self._timer = None
        for request, past_checks in self._past_checks.items():
            self._past_checks[request] = past_checks + 1
            self._check(request, past_checks)
        if self._past_checks:
            self._start()

    @abstractmethod
    def _check(self, request: HttpRequest, past_checks: int) -> None:
        """Check one request, which has been checked some times before."""


class SharedDisconnectWatcher(_SharedTimer):
    """Interrupts requests whose client is gone; a request is watched from its second check on."""

    def __init__(self, interval_seconds: float = _CHECK_INTERVAL_SECONDS) -> None:
        super().__init__(interval_seconds)

    def _check(self, request: HttpRequest, past_checks: int) -> None:
        if past_checks == 1:
            request.interrupt.watch(wait_for_disconnect(request.receive))


class BodyTimeout(_SharedTimer):
    """Interrupts requests whose body takes longer than a timeout, or up to a quarter more."""

    def __init__(self, timeout_seconds: float) -> None:
        super().__init__(timeout_seconds / _CHECKS_PER_TIMEOUT)
        self._timeout_seconds = timeout_seconds

    def _check(self, request: HttpRequest, past_checks: int) -> None:
        if past_checks == _CHECKS_PER_TIMEOUT:
            limit = f"{self._timeout_seconds:g}"
            request.interrupt.throw(RequestTimeoutError(f"Request body: not received within {limit} s", details={"limit": limit}))


async def wait_for_disconnect(receive: Receive, on_idle: Callable[[], Awaitable[float]] | None = None, idle_seconds: float | None = None) -> None:
    """Raise ``ClientDisconnectError`` once the client is gone.

    ``on_idle`` is called whenever nothing was received for ``idle_seconds``; it returns the seconds until its next call.
    """
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                while (await receive())["type"] != "http.disconnect":
                    pass
            raise ClientDisconnectError
        except TimeoutError:
            if on_idle is not None:
                idle_seconds = await on_idle()


async def wait_for_expiry(clock: Clock, expires_at: float) -> None:
    """Raise ``ChallengeError`` at a moment of the clock. The reader of a stream continues after its last event, with new credentials."""
    while (seconds_left := expires_at - clock.millis() / 1000) > 0:
        await clock.sleep(min(seconds_left, _MAX_SLEEP_SECONDS))
    raise ChallengeError(BEARER.title(), "Credentials: expired; continue after the last event with new ones")
