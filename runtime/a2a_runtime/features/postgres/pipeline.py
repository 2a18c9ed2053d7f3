"""Statement pipelines: one statement for many callers, in one round trip and one commit under load.

    free   a caller runs its statement at once, unless others come in the same turn of the loop:
           a single caller pays nothing
    busy   callers queue; when the pipeline becomes free, up to half of those that wait for the
           same statement, or sixteen, are sent together and committed as a whole. While the
           server works for some callers, this process works for the others: all in one batch
           would wait in turns.
    stuck  behind a row that another transaction holds, an extra pipeline starts beside it,
           so that other callers go on

So the load decides the size of a batch, with one text of SQL. Arrays and ``unnest`` instead gave a
tenth more at 64 callers and nothing at 16, for a second text of every statement (measured). Each
kind of call has its own pipeline, so the server works on one while another waits for the disk. A
writing pipeline sends only one batch at a time: two batches of changes could each hold a row that
the other one needs.

A batch that fails (deadlock with another process, an invalid value of one caller) is taken apart:
each statement is run again alone, and fails alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres.pool import Pool
from a2a_runtime.stores.base import FailPoint, no_fault

_MAX_EXTRA_PIPELINES = 2  # beside one that is stuck
_STUCK_SECONDS = 0.05
_FULL_BATCH_CALLS = 16
_MAX_BATCH_CALLS = 256
# The server or the driver raises these for an invalid value.
_STATEMENT_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
)


@dataclass(frozen=True, slots=True)
class _QueuedStatement:
    text: str
    arguments: Sequence[object]
    future: asyncio.Future[asyncpg.Record]

    def resolve(self, outcome: asyncpg.Record | Exception) -> None:
        if self.future.done():  # its caller was cancelled
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class StatementPipeline:
    """Runs statements that return exactly one row; up to ``width`` batches at once if they only
    read.
    """

    def __init__(self, pool: Pool, fail_point: FailPoint = no_fault, *, width: int = 1) -> None:
        self._pool = pool
        self._fail_point = fail_point
        self._width = width
        self._running_count = 0
        self._started_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._queue: list[_QueuedStatement] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def fetchrow(self, statement: str, *arguments: object) -> asyncpg.Record:
        """Run a statement, alone or in a batch, and return its row after the commit."""
        loop = asyncio.get_running_loop()
        if self._running_count < self._width and not self._queue:
            self._running_count += 1
            self._started_at = loop.time()
            try:
                # The batch before often wakes many callers in one turn of the loop. They go on
                # together.
                await asyncio.sleep(0)
                if not self._queue:
                    return await self._run_alone(statement, arguments)
            finally:
                self._release_slot()
        call = _QueuedStatement(statement, arguments, loop.create_future())
        self._queue.append(call)
        if self._timer is None:
            self._timer = loop.call_later(_STUCK_SECONDS, self._start_extra)
        return await call.future

    async def close(self) -> None:
        """Wait for all queued statements."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_extra(self) -> None:
        """Start an extra batch if none has started for a while."""
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_STUCK_SECONDS, self._start_extra) if self._queue else None
        if (
            self._queue
            and self._running_count < self._width + _MAX_EXTRA_PIPELINES
            and loop.time() - self._started_at >= _STUCK_SECONDS
        ):
            self._start()

    def _release_slot(self) -> None:
        """Hand the slot over to the queue."""
        self._running_count -= 1
        if self._queue:
            self._start()

    def _start(self) -> None:
        self._running_count += 1
        pipeline = asyncio.create_task(self._drain())
        self._tasks.add(pipeline)
        pipeline.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        try:
            while self._queue:
                self._started_at = asyncio.get_running_loop().time()
                await self._run_batch(self._take_batch())
        finally:
            self._release_slot()

    def _take_batch(self) -> Sequence[_QueuedStatement]:
        """Take the calls of the statement that has waited longest."""
        text = self._queue[0].text
        most = min(max(_FULL_BATCH_CALLS, len(self._queue) // 2), _MAX_BATCH_CALLS)
        batch: list[_QueuedStatement] = []
        others: list[_QueuedStatement] = []
        for call in self._queue:
            if call.text is text and len(batch) < most:
                batch.append(call)
            else:
                others.append(call)
        self._queue = others
        # A caller that was cancelled while it waited is left out.
        return [call for call in batch if not call.future.done()]

    async def _run_batch(self, calls: Sequence[_QueuedStatement]) -> None:
        if not calls:
            return
        try:
            self._fail_point("before commit")
            rows = await self._pool.fetchmany(calls[0].text, [call.arguments for call in calls])
            self._fail_point("after commit")
        except StoreUnavailableError as error:
            for call in calls:
                call.resolve(error)
        except _STATEMENT_ERRORS:
            for call in calls:
                await self._retry_alone(call)
        else:
            for call, row in zip(calls, rows, strict=True):
                call.resolve(row)
        finally:
            for call in calls:
                if not call.future.done():  # no caller waits for ever, whatever happened
                    call.resolve(
                        StoreUnavailableError(
                            "store: stopped during a write; read the task to see whether it "
                            "was committed"
                        )
                    )

    async def _retry_alone(self, call: _QueuedStatement) -> None:
        try:
            call.resolve(await self._run_alone(call.text, call.arguments))
        except (*_STATEMENT_ERRORS, StoreUnavailableError) as error:
            call.resolve(error)

    async def _run_alone(self, statement: str, arguments: Sequence[object]) -> asyncpg.Record:
        self._fail_point("before commit")
        (row,) = await self._pool.fetch(statement, *arguments)
        self._fail_point("after commit")
        return row
