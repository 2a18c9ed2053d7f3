"""ASGI app of an agent that starts by itself where no server or host runs its lifespan.

Litestar answers nothing before its lifespan has begun. A test client without lifespan, or a mount
of Starlette, never begins it: then the first request does, and the lifespan ends with the event
loop, or with ``aclose``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from litestar import Litestar


class AgentApp:
    """An ASGI app; awaiting it returns it."""

    def __init__(self, app: Litestar) -> None:
        self.litestar = app
        """The app of the agent."""
        self._has_lifespan = False
        self._started: asyncio.Future[None] | None = None
        self._lifespan: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the lifespan, or answer a request."""
        if scope["type"] == "lifespan":
            self._has_lifespan = True
        elif not self._has_lifespan:
            await self._start()
        await self.litestar(scope, receive, send)

    def __await__(self) -> Generator[None, None, Self]:
        """Return the app itself, for those who write ``await async_serve(…)``."""
        yield from asyncio.sleep(0).__await__()
        return self

    async def __aenter__(self) -> Self:
        """Start the agent."""
        await self._start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the agent."""
        await self.aclose()

    async def aclose(self) -> None:
        """Stop an agent that has started by itself."""
        if (task := self._lifespan) is not None:
            self._lifespan = self._started = None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _start(self) -> None:
        """Start once for all requests; an error of the start is that of each request, and the next
        one tries again.
        """
        if self._lifespan is None or self._lifespan.done():
            started = self._started = asyncio.get_running_loop().create_future()
            self._lifespan = asyncio.create_task(self._run(started))
        assert self._started is not None, "set with the task"  # noqa: S101 - as above
        await asyncio.shield(self._started)

    async def _run(self, started: asyncio.Future[None]) -> None:
        try:
            async with self.litestar.lifespan():
                started.set_result(None)
                await asyncio.Event().wait()
        except Exception as error:
            # this is the edge of a background task: the start may raise anything
            if started.done():
                raise
            started.set_exception(error)
