"""The store in one file."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.options import DEFAULTS, StoreOptions
from a2a_runtime.stores.sqlite import migrations
from a2a_runtime.stores.sqlite.connection import SQL, connect, unavailable
from a2a_runtime.stores.sqlite.contexts import SqliteContexts
from a2a_runtime.stores.sqlite.counts import SqliteCounts
from a2a_runtime.stores.sqlite.lane import Lane
from a2a_runtime.stores.sqlite.lock import FileLock
from a2a_runtime.stores.sqlite.pushes import SqlitePushes
from a2a_runtime.stores.sqlite.runs import SqliteRuns
from a2a_runtime.stores.sqlite.tasks import SqliteTasks


class SqliteStore(SqliteTasks, SqliteContexts, SqliteRuns, SqlitePushes, SqliteCounts):
    """Keeps everything in a file on a local disk; one process runs on it.

    With ``visits`` the store is opened beside the process that runs on the file, to look and to tidy up: it takes no lock, and begins no run.
    """

    durable = True

    def __init__(self, path: str | Path, options: StoreOptions = DEFAULTS, *, visits: bool = False) -> None:
        super().__init__(path, options)
        self._lock = None if visits else FileLock(self.path)

    def doorbell(self) -> None:
        """Ring nobody: one process runs on a file."""

    async def open(self) -> None:
        """Lock the file, check it, bring its schema up to date, and start the two threads."""
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        if not self.path.parent.is_dir():
            raise StoreUnavailableError(f"{self.path}: its folder does not exist. Make it, or name another file")
        if self._lock is None and not self.path.exists():
            raise StoreUnavailableError(f"{self.path}: there is no such file. Name the one that an agent runs on")
        if self._lock is not None:
            self._lock.take()
        with ExitStack() as undo:
            if self._lock is not None:
                undo.callback(self._lock.release)
            writer = undo.enter_context(closing(connect(self.path)))
            migrations.upgrade(writer, self.path)
            self._check(writer)
            reader = connect(self.path, read_only=True)
            undo.pop_all()
        self._writer = Lane(self.path, writer, writes=True, fault=self._options.fault)
        self._reader = Lane(self.path, reader, writes=False)

    def _check(self, writer: sqlite3.Connection) -> None:
        try:
            if self._lock is not None:
                writer.execute(SQL["end_all_leases"])
        except sqlite3.Error as error:
            raise unavailable(self.path, error) from error

    async def close(self) -> None:
        """Finish what was begun, and let go of the file."""
        for lane in (self._reader, self._writer):
            if lane is not None:
                await lane.close()
        if self._lock is not None:
            self._lock.release()
