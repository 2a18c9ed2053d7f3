"""The store in one file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

from a2a_runtime.errors import StoreInUseError, StoreUnavailableError, UnsupportedStoreError
from a2a_runtime.stores import fragments
from a2a_runtime.stores.base import DEFAULT_OPTIONS, StoreOptions
from a2a_runtime.stores.models import ClaimedRun
from a2a_runtime.stores.sql_statements import SqlTransaction
from a2a_runtime.stores.sqlite.connection import (
    SQL,
    check_synchronous,
    connect,
    load_migrations,
    read_version,
    to_unavailable_error,
    upgrade,
)
from a2a_runtime.stores.sqlite.executor import ConnectionThread
from a2a_runtime.stores.sqlite.file_lock import FileLock
from a2a_runtime.stores.sqlite.file_watch import FileWatch
from a2a_runtime.stores.sqlite.tasks import SqliteTasks


class SqliteStore(SqliteTasks):
    """Store in a file on a local disk, for one process.

    With ``attach`` the store is opened while another process runs on the file, to read and delete
    tasks: it takes no lock and claims no run.
    """

    is_durable = runs_again = accepts_task_ids = True

    def __init__(
        self, path: str | Path, options: StoreOptions = DEFAULT_OPTIONS, *, attach: bool = False
    ) -> None:
        check_synchronous(options.sqlite_synchronous)
        super().__init__(path, options)
        self._lock = None if attach else FileLock(self.path)

    def notifier(self) -> None:
        """Return none: one process runs on a file."""

    async def open(self) -> None:
        """Lock the file, upgrade its schema, and start the threads."""
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        if not self.path.parent.is_dir():
            raise StoreUnavailableError(
                f"{self.path}: the folder does not exist; create it, or choose another path"
            )
        if self.path.is_dir():
            raise StoreUnavailableError(
                f"{self.path}: a folder; name a file in it, such as {self.path / 'tasks.db'}"
            )
        if self._lock is None and not self.path.exists():
            raise StoreUnavailableError(
                f"{self.path}: the file does not exist; give the path that an agent runs on"
            )
        if self._lock is not None:
            self._lock.acquire()
        with ExitStack() as undo:
            if self._lock is not None:
                undo.callback(self._lock.release)
            writer = undo.enter_context(
                closing(connect(self.path, synchronous=self._options.sqlite_synchronous))
            )
            if self._lock is not None:
                upgrade(writer, self.path)
                self._end_leases(writer)
            else:
                _upgrade_unused(writer, self.path)
            reader = undo.enter_context(closing(connect(self.path, read_only=True)))
            lister = undo.enter_context(closing(connect(self.path, read_only=True)))
            counter = undo.enter_context(closing(connect(self.path, read_only=True)))
            watch = FileWatch(self.path)
            undo.pop_all()
        self._writer = ConnectionThread(
            self.path, writer, watch, writes=True, fail_point=self._options.fail_point
        )
        self._reader = ConnectionThread(self.path, reader, watch, writes=False)
        self._lister = ConnectionThread(self.path, lister, watch, writes=False)
        self._counter = ConnectionThread(self.path, counter, watch, writes=False)

    def _end_leases(self, writer: sqlite3.Connection) -> None:
        try:
            writer.execute(SQL["end_all_leases"])
        except sqlite3.Error as error:
            raise to_unavailable_error(self.path, error) from error

    async def check(self) -> None:
        """Read the version of the schema."""
        await self._fetch("schema_version")

    async def find_damage(self) -> Sequence[str]:
        """Check the structure of the file; it takes as long as reading all of it."""
        found = await self._require_open(self._counter).run(
            lambda db: [str(row[0]) for row in db.execute(SQL["quick_check"])]
        )
        if found == ["ok"]:
            return []
        return found

    async def vacuum(self) -> None:
        """Write the file anew without its free pages.

        It takes seconds per gigabyte, so no other process may run on the file.
        """
        await asyncio.to_thread(self._vacuum)

    def _vacuum(self) -> None:
        lock = FileLock(self.path)
        if self._lock is None:
            lock.acquire()
        try:
            with closing(connect(self.path)) as connection:
                connection.execute(SQL["vacuum"])
                connection.execute(SQL["truncate_log"])
        except sqlite3.Error as error:
            raise to_unavailable_error(self.path, error) from error
        finally:
            lock.release()

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task."""

        async def claim(transaction: SqlTransaction) -> ClaimedRun | None:
            claimed = await transaction.fetch(
                "claim", key=key, process=process, now=self._shared_millis()
            )
            if not claimed:
                return None
            records = await transaction.fetch("load_records", key=key)
            found = [
                fragments.to_replay_record(
                    row["kind"], row["record_key"], row["fingerprint"], row["body"]
                )
                for row in records
            ]
            return ClaimedRun(await transaction.load_task(key), found, claimed[0]["crashes"])

        return await self._transact(claim)

    async def close(self) -> None:
        """Finish pending calls and release the file."""
        for thread in (self._counter, self._lister, self._reader, self._writer):
            if thread is not None:
                await thread.close()
        if self._lock is not None:
            self._lock.release()


def _upgrade_unused(connection: sqlite3.Connection, path: Path) -> None:
    """Upgrade a file that no other process runs on: an older release would not start again on the
    new schema.
    """
    version = read_version(connection, path)
    latest = load_migrations()[-1].version
    if version == latest:
        return
    lock = FileLock(path)
    if version < latest:
        try:
            lock.acquire()
        except StoreInUseError as error:
            problem = (
                f"a process of an older release runs on it (schema {version}, this release has "
                f"{latest})"
            )
            fix = "stop that process and run a2a-gen db upgrade, or use the a2a-gen of its release"
            raise UnsupportedStoreError(f"{path}: {problem}; {fix}") from error
    try:
        upgrade(connection, path)
    finally:
        lock.release()


def build(url: str, options: StoreOptions, *, attach: bool) -> SqliteStore:
    """Build the store of a URL: three slashes before a relative path, four before an absolute
    one.
    """
    return SqliteStore(unquote(urlsplit(url).path[1:]), options, attach=attach)
