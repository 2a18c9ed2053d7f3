"""Writes of many callers in one round trip and one commit, when there are many; a lone caller pays nothing for it.

There are a few lanes. A caller that finds one free runs its statement there and then. The others queue, and a lane that becomes free takes all of
them at once: the same statement, once for each, sent as one pipeline that the server commits as a whole. So the load itself decides how much goes
together, without a timer, and there is one text of SQL for both cases. (Arrays and ``unnest`` instead of a pipeline gave a tenth more at 64 callers
and nothing at 16, for a second text of every statement.)

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

LANES = 2
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

    def __init__(self, pool: Pool, lanes: int = LANES) -> None:
        self._pool = pool
        self._free = lanes
        self._waiting: dict[str, list[_Write]] = {}  # by their statement, the one that waits longest first
        self._busy: set[asyncio.Task[None]] = set()

    async def write(self, statement: str, *arguments: object) -> asyncpg.Record:
        """Run a statement, alone or together with those of others, and return its row once it is committed."""
        if self._free and not self._waiting:
            self._free -= 1
            try:
                return await self._alone(statement, arguments)
            finally:
                self._leave()
        write = _Write(arguments, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(statement, []).append(write)
        return await write.row

    async def close(self) -> None:
        """Wait until everything that was queued is written."""
        while self._busy:
            await asyncio.wait(self._busy)

    def _leave(self) -> None:
        """Hand the lane over to those who wait."""
        if not self._waiting:
            self._free += 1
            return
        lane = asyncio.create_task(self._drain())
        self._busy.add(lane)
        lane.add_done_callback(self._busy.discard)

    async def _drain(self) -> None:
        try:
            while self._waiting:
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
