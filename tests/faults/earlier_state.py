"""Databases that fall back to an earlier state under running processes, as after a promotion of a
standby that was behind, or a restored backup.

The tables are put back in one transaction of another connection. So the processes notice nothing
but what they read afterwards.
"""

from __future__ import annotations

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import asyncpg

from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.models import ChangeResult, TaskChange
from a2a_runtime.stores.sqlite import SqliteStore

OPTIONS = StoreOptions(lease_seconds=1.0)
_SAVED_TABLES = """
SELECT tablename FROM pg_tables
WHERE schemaname = 'public' AND starts_with(tablename, 'a2a_') AND tablename <> 'a2a_counts'
ORDER BY tablename <> 'a2a_tasks', tablename
"""
"""Counters are unlogged, so no standby has them.

Tasks come first, as in the statements of the store: no deadlock.
"""

Happening = Callable[[], Awaitable[None]]


class LostAnswers:
    """A store whose next commit of a run succeeds without an answer; something happens before the
    run repeats it.
    """

    before_retry: Happening | None = None

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Commit, and fail once if the change is of a run."""
        # The class beside it has the method.
        result = await super().update_task(scope, key, change)  # type: ignore[misc]
        if self.before_retry is None or change.epoch is None:
            return result
        happening = self.before_retry
        self.before_retry = None
        await happening()
        raise StoreUnavailableError("the connection ended before the answer")


class LossySqliteStore(LostAnswers, SqliteStore):
    """In a file."""


class LossyPostgresStore(LostAnswers, PostgresStore):
    """On a server."""


class FallibleDatabase(ABC):
    """A database that keeps one earlier state."""

    @abstractmethod
    def make_store(self) -> Store:
        """Make a store for one process."""

    @abstractmethod
    async def save(self) -> None:
        """Keep the present state."""

    @abstractmethod
    async def fall_back(self) -> None:
        """Return to the kept state."""


class FallibleFile(FallibleDatabase):
    """A SQLite file. Its backup is restored in place: the same file gets the old pages."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._backup = path.with_name("backup.db")

    def make_store(self) -> Store:
        """Open the file."""
        return LossySqliteStore(self._path, OPTIONS)

    async def save(self) -> None:
        """Write a backup."""
        await asyncio.to_thread(copy_database, self._path, self._backup)

    async def fall_back(self) -> None:
        """Restore the backup."""
        await asyncio.to_thread(copy_database, self._backup, self._path)


def copy_database(source: Path, target: Path) -> None:
    """Write the pages of a database into another file, which may be in use."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


class FallibleServer(FallibleDatabase):
    """A database of Postgres."""

    def __init__(self, url: str) -> None:
        self.url = url

    def make_store(self) -> Store:
        """Connect."""
        return LossyPostgresStore(self.url, OPTIONS)

    async def save(self) -> None:
        """Copy every table."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("DROP SCHEMA IF EXISTS saved CASCADE; CREATE SCHEMA saved")
            async with connection.transaction(isolation="repeatable_read"):
                for row in await connection.fetch(_SAVED_TABLES):
                    await connection.execute(
                        f"CREATE TABLE saved.{row['tablename']} AS TABLE {row['tablename']}"
                    )
        finally:
            await connection.close()

    async def fall_back(self) -> None:
        """Replace the rows of every table."""
        connection = await asyncpg.connect(self.url)
        try:
            names = [str(row["tablename"]) for row in await connection.fetch(_SAVED_TABLES)]
            async with connection.transaction():
                await connection.execute(
                    "SET LOCAL session_replication_role = replica"
                )  # no foreign keys
                for name in names:
                    await connection.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
                for name in names:
                    # The tables are our own.
                    await connection.execute(f"DELETE FROM {name}")  # noqa: S608
                    await connection.execute(
                        f"INSERT INTO {name} OVERRIDING SYSTEM VALUE TABLE saved.{name}"
                    )
        finally:
            await connection.close()
