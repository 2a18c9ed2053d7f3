"""One statement for many callers: in one round trip and one commit when there are many; a lone caller pays nothing for it.

A caller that finds the lane free runs the statement there and then. The others queue, and when the lane becomes free all of them go at once: the same
statement, once for each, sent as one pipeline that the server commits as a whole. So the load itself decides how much goes together, and there is one
text of SQL for both cases. (Arrays and ``unnest`` instead of a pipeline gave a tenth more at 64 callers and nothing at 16, for a second text of every
statement.)

Each statement that much is asked of has a lane, so the server works for one of them while another waits for the disk. A statement that writes has its
lane for itself: two pipelines of changes could each hold a row that the other one wants. Only when it is stuck, behind a row that somebody else
holds, another pipeline sets out beside it, so that this holds up nobody else.

A pipeline that fails as a whole (two processes in each other's way, one caller's bad value) is taken apart: each call runs again by itself, and fails
alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import FailPoint, no_fault
from a2a_runtime.stores.postgres.pool import Pool

_SPARE = 2  # pipelines beside a lane that is stuck
_PATIENCE = 0.05  # seconds, until a lane counts as stuck
_MOST = 256  # callers in one pipeline
_FAULTS = (asyncpg.PostgresError, asyncpg.InterfaceError)  # of a value: found by the server, or by the driver


@dataclass(frozen=True, slots=True)
class _Call:
    arguments: Sequence[object]
    row: asyncio.Future[asyncpg.Record]

    def succeed(self, row: asyncpg.Record) -> None:
        if not self.row.done():  # else its caller has gone
            self.row.set_result(row)

    def fail(self, error: Exception) -> None:
        if not self.row.done():
            self.row.set_exception(error)


class Lane:
    """Runs a statement that returns exactly one row; ``width`` is for how many at once, for one that only reads."""

    def __init__(self, pool: Pool, statement: str, fault: FailPoint = no_fault, *, width: int = 1) -> None:
        self._pool, self._statement, self._fault, self._width = pool, statement, fault, width
        self._under_way = 0
        self._begun = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: list[_Call] = []
        self._pipelines: set[asyncio.Task[None]] = set()

    async def row(self, *arguments: object) -> asyncpg.Record:
        """Run the statement, alone or together with others, and return its row once it is committed."""
        loop = asyncio.get_running_loop()
        if self._under_way < self._width and not self._waiting:
            self._under_way += 1
            self._begun = loop.time()
            try:
                return await self._alone(arguments)
            finally:
                self._leave()
        call = _Call(arguments, loop.create_future())
        self._waiting.append(call)
        if self._timer is None:
            self._timer = loop.call_later(_PATIENCE, self._relieve)
        return await call.row

    async def close(self) -> None:
        """Wait until everything that was queued has run."""
        while self._pipelines:
            await asyncio.wait(self._pipelines)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _relieve(self) -> None:
        """Let another pipeline set out if none has for a while."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_PATIENCE, self._relieve) if self._waiting else None
        if self._waiting and self._under_way < self._width + _SPARE and loop.time() - self._begun >= _PATIENCE:
            self._set_out()

    def _leave(self) -> None:
        """Hand the place over to those who wait."""
        self._under_way -= 1
        if self._waiting:
            self._set_out()

    def _set_out(self) -> None:
        self._under_way += 1
        pipeline = asyncio.create_task(self._drain())
        self._pipelines.add(pipeline)
        pipeline.add_done_callback(self._pipelines.discard)

    async def _drain(self) -> None:
        try:
            while self._waiting:
                self._begun = asyncio.get_running_loop().time()
                calls, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                await self._together([call for call in calls if not call.row.done()])
        finally:
            self._leave()

    async def _together(self, calls: Sequence[_Call]) -> None:
        try:
            self._fault("before commit")
            rows = await self._pool.pipeline(self._statement, [call.arguments for call in calls])
            self._fault("after commit")
        except StoreUnavailableError as error:
            for call in calls:
                call.fail(error)
        except _FAULTS:
            for call in calls:
                await self._again(call)
        else:
            for call, row in zip(calls, rows, strict=True):
                call.succeed(row)
        finally:
            for call in calls:
                if not call.row.done():  # whatever happened, nobody waits for ever
                    call.fail(StoreUnavailableError("the store was stopped while it wrote"))

    async def _again(self, call: _Call) -> None:
        try:
            call.succeed(await self._alone(call.arguments))
        except (*_FAULTS, StoreUnavailableError) as error:
            call.fail(error)

    async def _alone(self, arguments: Sequence[object]) -> asyncpg.Record:
        self._fault("before commit")
        (row,) = await self._pool.rows(self._statement, *arguments)
        self._fault("after commit")
        return row
