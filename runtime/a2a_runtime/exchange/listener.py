"""Hearing that a client is gone while something is done for it.

A server says so in answer to ``receive``, so that somebody has to wait there; whoever works for the client is canceled like by a time limit, and the
end of the block swallows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from litestar.types import Receive


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
