"""Watchers: they end a request early, through its ``Interrupt``.

    RequestWatcher        the body does not arrive in time           RequestTimeoutError
                          the client is gone before the response     ClientDisconnectError
    wait_for_disconnect   the client is gone during a stream         ClientDisconnectError
    wait_for_expiry       the credentials of a stream's reader end   ChallengeError

A timer or a task for each request costs more than most requests (measured). So all requests of a
surface share one timer, and only a request that takes long gets a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf

from litestar.types import Receive

from a2a_contract.errors import RequestTimeoutError
from a2a_runtime.auth.gate import BEARER, ChallengeError
from a2a_runtime.base.clock import Clock
from a2a_runtime.http.asgi import Awaits, ClientDisconnectError, HttpRequest

_CHECK_INTERVAL_SECONDS = 1.0
_CHECKS_PER_TIMEOUT = 4
_MAX_SLEEP_SECONDS = 3600.0
"""Limit of one sleep: clocks are set, and machines are suspended."""


_END_OF_GRACE = "graceful shutdown"
"""In the message with which uvicorn cancels requests."""


def is_end_of_grace(error: asyncio.CancelledError) -> bool:
    """Tell whether uvicorn cancels a request because its grace period is over; it would log a
    traceback for each, although the client has its answer.

    Any other cancellation is for those who await the app.
    """
    return any(_END_OF_GRACE in str(each) for each in error.args)


class RequestWatcher:
    """Checks the requests of a surface at an interval, with one timer that runs only while there
    are some.

    A request that waits for its body is interrupted after the timeout, or one interval later. One
    that waits for its result has its disconnect watched from its second check on.
    """

    def __init__(
        self, body_timeout: float | None, interval_seconds: float = _CHECK_INTERVAL_SECONDS
    ) -> None:
        self.checks: dict[HttpRequest, int] = {}
        """The requests in progress, each with its checks since it began to wait; users of the
        watcher add, reset and remove them.
        """
        self.is_running = False
        self._body_timeout = inf if body_timeout is None else body_timeout
        self._interval_seconds = min(interval_seconds, self._body_timeout / _CHECKS_PER_TIMEOUT)

    def start(self) -> None:
        """Start the timer."""
        self.is_running = True
        asyncio.get_running_loop().call_later(self._interval_seconds, self._check_all)

    def _check_all(self) -> None:
        for request, past_checks in self.checks.items():
            self.checks[request] = past_checks + 1
            if request.awaits is Awaits.RESULT and past_checks == 1:
                request.interrupt.watch(wait_for_disconnect(request.receive))
            elif (
                request.awaits is Awaits.BODY
                and past_checks * self._interval_seconds >= self._body_timeout
            ):
                limit = f"{self._body_timeout:g}"
                request.interrupt.throw(
                    RequestTimeoutError(
                        f"Request body: not received within {limit} s", details={"limit": limit}
                    )
                )
        self.is_running = False
        if self.checks:
            self.start()


async def wait_for_disconnect(
    receive: Receive,
    on_idle: Callable[[], Awaitable[float]] | None = None,
    idle_seconds: float | None = None,
) -> None:
    """Raise ``ClientDisconnectError`` once the client is gone.

    ``on_idle`` is called whenever nothing was received for ``idle_seconds``; it returns the seconds
    until its next call.
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
    """Raise ``ChallengeError`` at a moment of the clock.

    The reader of a stream continues after its last event, with new credentials.
    """
    while (seconds_left := expires_at - clock.millis() / 1000) > 0:
        await clock.sleep(min(seconds_left, _MAX_SLEEP_SECONDS))
    raise ChallengeError(
        BEARER.title(), "Credentials: expired; continue after the last event with new ones"
    )
