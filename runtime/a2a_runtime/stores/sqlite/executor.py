"""A thread with a connection of its own, for calls that come from the event loop.

The writer's lane makes one transaction of all calls that have come while it was busy with the last one: they share its commit, which is what writing
costs. A call that fails takes nothing with it: if it had written something already, the transaction is run again with a savepoint around each call,
so calls must be such that they can be run twice. Nobody gets an answer before the commit. Under sixty-four callers that is five times the throughput
of a transaction for each call, and a lone caller pays nothing for it.

The reader's lane gives each call a transaction, so that all it reads is of one moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeVar

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import FailPoint, no_fault
from a2a_runtime.stores.sqlite.connection import SQL, to_unavailable_error

T = TypeVar("T")
DatabaseCall = Callable[[sqlite3.Connection], T]

_MAX_BATCH_CALLS = 256


@dataclass(slots=True)
class QueuedCall:
    """A call, who waits for it, and how it went: either ``tell`` or ``error`` is what to say to them."""

    call: Callable[[sqlite3.Connection], Callable[[], None]]
    loop: asyncio.AbstractEventLoop
    is_done: Callable[[], bool]
    set_error: Callable[[BaseException], None]
    set_result: Callable[[], None] | None = None
    error: BaseException | None = None

    def resolve(self) -> None:
        """Tell who waits; in the loop's own thread."""
        if self.is_done():
            return
        if self.error is not None:
            self.set_error(self.error)
        elif self.set_result is not None:
            self.set_result()


class ConnectionThread:
    """Runs calls one after another in a thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writes: bool, fail_point: FailPoint = no_fault) -> None:
        self._path = path
        self._connection = connection
        self._run_batch = self._commit_batch if writes else self._read_batch
        self._fail_point = fail_point
        self._calls: SimpleQueue[QueuedCall | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run_thread, name=f"{path.name}-{'writer' if writes else 'reader'}", daemon=True)
        self._is_closed = False
        self._thread.start()

    async def run(self, call: DatabaseCall[T]) -> T:
        """Run a call; when it returns, what it has written is durable."""
        if self._is_closed:
            raise StoreUnavailableError(f"{self._path} is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def called(connection: sqlite3.Connection) -> Callable[[], None]:
            value = call(connection)
            return lambda: future.set_result(value)

        self._calls.put(QueuedCall(called, loop, future.done, future.set_exception))
        return await future

    async def close(self) -> None:
        """Finish what was begun, then end the thread and the connection."""
        if not self._is_closed:
            self._is_closed = True
            self._calls.put(None)
            await asyncio.to_thread(self._thread.join)
            self._connection.close()

    def _run_thread(self) -> None:
        while (jobs := self._next_batch()) is not None:
            if jobs:
                self._run_batch(jobs)
                self._resolve(jobs)

    def _next_batch(self) -> Sequence[QueuedCall] | None:
        """Wait for a call, and take along those that came meanwhile; ``None`` when there will be no more."""
        jobs: list[QueuedCall] = []
        job = self._calls.get()
        with contextlib.suppress(Empty):
            while job is not None:
                # Whoever has stopped waiting before the call has begun does not want it any more.
                if not job.is_done():
                    jobs.append(job)
                if len(jobs) == _MAX_BATCH_CALLS:
                    return jobs
                job = self._calls.get_nowait()
        if job is None and jobs:
            self._calls.put(None)
        return None if job is None and not jobs else jobs

    def _resolve(self, jobs: Sequence[QueuedCall]) -> None:
        for loop in {job.loop for job in jobs}:
            # A loop that is gone has nobody who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve_all, [job for job in jobs if job.loop is loop])

    def _commit_batch(self, jobs: Sequence[QueuedCall]) -> None:
        try:
            if not self._try_commit(jobs, self._run_plain):
                self._try_commit(jobs, self._run_in_savepoint)
        except sqlite3.Error as error:
            self._roll_back()
            for job in jobs:
                job.error = to_unavailable_error(self._path, error)

    def _try_commit(self, jobs: Sequence[QueuedCall], run: Callable[[QueuedCall], bool]) -> bool:
        """Run calls and commit; nothing is left of them when one could not be run."""
        self._connection.execute(SQL["begin_write"])
        self._fail_point("begun")
        for job in jobs:
            if not run(job):
                self._roll_back()
                return False
            self._fail_point("call done")
        self._fail_point("before commit")
        self._connection.execute(SQL["commit"])
        self._fail_point("after commit")
        return True

    def _run_plain(self, job: QueuedCall) -> bool:
        """Run a call and hope: nearly all that fail do so before they have written anything, and a savepoint costs a sixth of a call."""
        before = self._connection.total_changes
        self._run_call(job)
        return job.error is None or self._connection.total_changes == before

    def _run_in_savepoint(self, job: QueuedCall) -> bool:
        """Run a call whose writes are undone if it fails, while those of the others stay."""
        self._connection.execute(SQL["begin_call"])
        self._run_call(job)
        if job.error is not None:
            self._connection.execute(SQL["undo_call"])
        self._connection.execute(SQL["end_call"])
        return True

    def _run_call(self, job: QueuedCall) -> None:
        job.set_result = job.error = None
        try:
            job.set_result = job.call(self._connection)
        except Exception as error:
            job.error = to_unavailable_error(self._path, error) if isinstance(error, sqlite3.Error) else error
            if isinstance(error, sqlite3.Error) and not self._connection.in_transaction:
                raise  # a disk that is full may end the whole transaction

    def _read_batch(self, jobs: Sequence[QueuedCall]) -> None:
        for job in jobs:
            try:
                self._connection.execute(SQL["begin_read"])
                self._run_call(job)
            except sqlite3.Error as error:
                job.error = to_unavailable_error(self._path, error)
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute(SQL["roll_back"])


def _resolve_all(jobs: Sequence[QueuedCall]) -> None:
    for job in jobs:
        job.resolve()
