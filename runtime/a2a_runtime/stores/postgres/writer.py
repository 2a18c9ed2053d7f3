"""Writes of many callers in one round trip and one commit, when there are many; a lone caller pays nothing for it.

A caller that finds the lane free runs its statement there and then. The others queue, and when the lane becomes free all of them go at once: the
same statement, once for each, sent as one pipeline that the server commits as a whole. So the load itself decides how much goes together, and there
is one text of SQL for both cases. (Arrays and ``unnest`` instead of a pipeline gave a tenth more at 64 callers and nothing at 16, for a second text
of every statement.)

One lane and not several: the commits of several wait for one another in the server (two and three were no faster, with 16 and 64 callers, on slow and
on fast disks). Only when the lane is stuck, behind a row that somebody else holds, another one opens, so that this holds up nobody else.

A pipeline that fails as a whole (two processes in each other's way, one caller's bad value) is taken apart: each write runs again by itself, and
fails alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.postgres.pool import Pool

_LANES = 3  # one, and spare ones
_PATIENCE = 0.05  # seconds, until a lane counts as stuck
_MOST = 256


@dataclass(frozen=True, slots=True)
class _Write:
    arguments: Sequence[object]
    row: asyncio.Future[asyncpg.Record]

    def succeed(self, row: asyncpg.Record) -> None:
        if not self.row.done():  # else its caller has gone
            self.row.set_result(row)

    def fail(self, error: Exception) -> None:
        if not self.row.done():
            self.row.set_exception(error)


class Writer:
    """Runs statements that return exactly one row each."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._free = _LANES
        self._begun = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: dict[str, list[_Write]] = {}  # by their statement, the one that waits longest first
        self._busy: set[asyncio.Task[None]] = set()

    async def write(self, statement: str, *arguments: object) -> asyncpg.Record:
        """Run a statement, alone or together with those of others, and return its row once it is committed."""
        loop = asyncio.get_running_loop()
        if self._free == _LANES:
            self._free -= 1
            self._begun = loop.time()
            try:
                return await self._alone(statement, arguments)
            finally:
                self._leave()
        write = _Write(arguments, loop.create_future())
        self._waiting.setdefault(statement, []).append(write)
        if self._timer is None:
            self._timer = loop.call_later(_PATIENCE, self._relieve)
        return await write.row

    async def close(self) -> None:
        """Wait until everything that was queued is written."""
        while self._busy:
            await asyncio.wait(self._busy)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _relieve(self) -> None:
        """Open another lane if the last one that was opened is stuck."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_PATIENCE, self._relieve) if self._waiting else None
        if self._waiting and self._free and loop.time() - self._begun >= _PATIENCE:
            self._free -= 1
            self._open()

    def _leave(self) -> None:
        """Hand the lane over to those who wait."""
        if self._waiting:
            self._open()
        else:
            self._free += 1

    def _open(self) -> None:
        lane = asyncio.create_task(self._drain())
        self._busy.add(lane)
        lane.add_done_callback(self._busy.discard)

    async def _drain(self) -> None:
        try:
            while self._waiting:
                self._begun = asyncio.get_running_loop().time()
                await self._together(*self._next())
        finally:
            self._leave()

    def _next(self) -> tuple[str, list[_Write]]:
        """Take those who wait longest; what is too much for one pipeline waits on, behind the others."""
        statement = next(iter(self._waiting))
        writes = self._waiting.pop(statement)
        if len(writes) > _MOST:
            self._waiting[statement] = writes[_MOST:]
        return statement, [write for write in writes[:_MOST] if not write.row.done()]

    async def _together(self, statement: str, writes: Sequence[_Write]) -> None:
        try:
            self._pool.fault("before commit")
            rows = await self._pool.pipeline(statement, [write.arguments for write in writes])
            self._pool.fault("after commit")
        except StoreUnavailableError as error:
            for write in writes:
                write.fail(error)
        except asyncpg.PostgresError:
            for write in writes:
                await self._again(statement, write)
        else:
            for write, row in zip(writes, rows, strict=True):
                write.succeed(row)
        finally:
            for write in writes:
                if not write.row.done():  # whatever happened, nobody waits for ever
                    write.fail(StoreUnavailableError("the store was stopped while it wrote"))

    async def _again(self, statement: str, write: _Write) -> None:
        try:
            write.succeed(await self._alone(statement, write.arguments))
        except (asyncpg.PostgresError, StoreUnavailableError) as error:
            write.fail(error)

    async def _alone(self, statement: str, arguments: Sequence[object]) -> asyncpg.Record:
        self._pool.fault("before commit")
        (row,) = await self._pool.rows(statement, *arguments)
        self._pool.fault("after commit")
        return row
