"""The end of a stream whose reader's proof has run out.

A request is answered as whoever its token says, for as long as the token holds. A stream may go on for longer; its reader goes on from the last
event, with a new token.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from a2a_runtime.auth.gate import BEARER, ChallengeError
from a2a_runtime.clock import Clock

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
