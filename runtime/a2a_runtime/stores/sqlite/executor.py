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
from a2a_runtime.stores.sqlite.connection import SQL, unavailable

T = TypeVar("T")
Call = Callable[[sqlite3.Connection], T]

_MOST_TOGETHER = 256


@dataclass(slots=True)
class Job:
    """A call, who waits for it, and how it went: either ``tell`` or ``error`` is what to say to them."""

    call: Callable[[sqlite3.Connection], Callable[[], None]]
    loop: asyncio.AbstractEventLoop
    is_over: Callable[[], bool]
    refuse: Callable[[BaseException], None]
    tell: Callable[[], None] | None = None
    error: BaseException | None = None

    def answer(self) -> None:
        """Tell who waits; in the loop's own thread."""
        if self.is_over():
            return
        if self.error is not None:
            self.refuse(self.error)
        elif self.tell is not None:
            self.tell()


class Lane:
    """Runs calls one after another in a thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writes: bool, fault: FailPoint = no_fault) -> None:
        self._path = path
        self._connection = connection
        self._run = self._commit_together if writes else self._read_each
        self._fault = fault
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=f"{path.name}-{'writer' if writes else 'reader'}", daemon=True)
        self._closed = False
        self._thread.start()

    async def run(self, call: Call[T]) -> T:
        """Run a call; when it returns, what it has written is durable."""
        if self._closed:
            raise StoreUnavailableError(f"{self._path} is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def called(connection: sqlite3.Connection) -> Callable[[], None]:
            value = call(connection)
            return lambda: future.set_result(value)

        self._jobs.put(Job(called, loop, future.done, future.set_exception))
        return await future

    async def close(self) -> None:
        """Finish what was begun, then end the thread and the connection."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._thread.join)
            self._connection.close()

    def _work(self) -> None:
        while (jobs := self._next()) is not None:
            if jobs:
                self._run(jobs)
                self._answer(jobs)

    def _next(self) -> Sequence[Job] | None:
        """Wait for a call, and take along those that came meanwhile; ``None`` when there will be no more."""
        jobs: list[Job] = []
        job = self._jobs.get()
        with contextlib.suppress(Empty):
            while job is not None:
                # Whoever has stopped waiting before the call has begun does not want it any more.
                if not job.is_over():
                    jobs.append(job)
                if len(jobs) == _MOST_TOGETHER:
                    return jobs
                job = self._jobs.get_nowait()
        if job is None and jobs:
            self._jobs.put(None)
        return None if job is None and not jobs else jobs

    def _answer(self, jobs: Sequence[Job]) -> None:
        for loop in {job.loop for job in jobs}:
            # A loop that is gone has nobody who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_answer_all, [job for job in jobs if job.loop is loop])

    def _commit_together(self, jobs: Sequence[Job]) -> None:
        try:
            if not self._transaction(jobs, self._bare):
                self._transaction(jobs, self._undoable)
        except sqlite3.Error as error:
            self._roll_back()
            for job in jobs:
                job.error = unavailable(self._path, error)

    def _transaction(self, jobs: Sequence[Job], run: Callable[[Job], bool]) -> bool:
        """Run calls and commit; nothing is left of them when one could not be run."""
        self._connection.execute(SQL["begin_write"])
        self._fault("begun")
        for job in jobs:
            if not run(job):
                self._roll_back()
                return False
            self._fault("call done")
        self._fault("before commit")
        self._connection.execute(SQL["commit"])
        self._fault("after commit")
        return True

    def _bare(self, job: Job) -> bool:
        """Run a call and hope: nearly all that fail do so before they have written anything, and a savepoint costs a sixth of a call."""
        before = self._connection.total_changes
        self._call(job)
        return job.error is None or self._connection.total_changes == before

    def _undoable(self, job: Job) -> bool:
        """Run a call whose writes are undone if it fails, while those of the others stay."""
        self._connection.execute(SQL["begin_call"])
        self._call(job)
        if job.error is not None:
            self._connection.execute(SQL["undo_call"])
        self._connection.execute(SQL["end_call"])
        return True

    def _call(self, job: Job) -> None:
        job.tell = job.error = None
        try:
            job.tell = job.call(self._connection)
        except Exception as error:
            job.error = unavailable(self._path, error) if isinstance(error, sqlite3.Error) else error
            if isinstance(error, sqlite3.Error) and not self._connection.in_transaction:
                raise  # a disk that is full may end the whole transaction

    def _read_each(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            try:
                self._connection.execute(SQL["begin_read"])
                self._call(job)
            except sqlite3.Error as error:
                job.error = unavailable(self._path, error)
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute(SQL["roll_back"])


def _answer_all(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.answer()
