"""The queue of workers in Postgres: the tables and functions of procrastinate beside those of the
store.

Jobs are put into it by the statements of tasks, with the function of the engine. The engine's
tables have no version, so an upgrade notes which migrations it has applied. Tables that another
program has created are left to it, and used as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import asyncpg

from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.postgres import schema
from a2a_runtime.features.postgres.base import JOB_NAME, PostgresBase
from a2a_runtime.features.postgres.pool import QUEUE_ENGINE, Connection, Pool, PoolSettings
from a2a_runtime.stores import sql
from a2a_runtime.stores.models import Deferral

_SQL = sql.load(__package__ or "", "queue_schema.sql")


class PostgresQueue(PostgresBase):
    """Queue of runs, as ``RunQueue``."""

    @property
    def queue_address(self) -> str:
        """Address of the server itself."""
        return self._options.direct_address or self._pool.dsn

    async def check_queue(self) -> None:
        """Check that the tables and the functions of the engine exist."""
        (found,) = await self._fetch("queue_functions")
        if None in found.values():
            is_missing = found["jobs"] is None or found["defer"] is None
            problem = "the tables for workers are too old"
            if is_missing:
                problem = "no tables for workers"
            cure = f"run `pip install 'a2a-gen[workers]'` and `{schema.UPGRADE_COMMAND}`"
            error = UnsupportedStoreError(f"{self._pool.address}: {problem}; {cure}")
            self._pool.queue_outages.on_failure(error)
            raise error
        self._pool.queue_outages.on_success()

    async def is_active(self, key: str) -> bool:
        """Return whether a task is active."""
        (row,) = await self._fetch("is_active", key=key)
        return bool(row["is_active"])

    async def requeue_lost(
        self, jobs: Mapping[tuple[str, str], Deferral], limit: int = 1000
    ) -> int:
        """Put active tasks without a job back into the queue, one process at a time."""
        deferrals = list(jobs.values())
        columns: dict[str, Any] = {
            **_to_columns(jobs),
            "queues": [each.queue for each in deferrals],
            "priorities": [each.priority for each in deferrals],
        }

        async def requeue(transaction: Any) -> int:  # noqa: ANN401 - the store's own port
            (lock,) = await transaction.fetch("lock_queue")
            if not lock["is_locked"]:
                return 0
            rows = await transaction.fetch(
                "requeue_lost", **columns, name=JOB_NAME, now=self._shared_millis(), limit=limit
            )
            if rows:
                return len(rows[0]["jobs"])
            return 0

        try:
            return await self._transact(requeue)
        except asyncpg.UniqueViolationError:  # a task has got its job in the meantime
            return 0

    async def take_back(self, skills: Collection[tuple[str, str]]) -> int:
        """Make queued tasks of these skills ordinary orphans."""
        return len(await self._execute("take_back", **_to_columns(skills)))


def _to_columns(skills: Collection[tuple[str, str]]) -> dict[str, list[str]]:
    return {
        "surfaces": [surface for surface, _ in skills],
        "skills": [skill for _, skill in skills],
    }


async def upgrade_queue(dsn: str) -> list[str]:
    """Create the tables of the engine, or upgrade them, and return the names of the applied steps;
    nothing where the engine is not installed.
    """
    if find_spec(QUEUE_ENGINE) is None:
        return []
    folder = files(QUEUE_ENGINE).joinpath("sql")
    migrations = {
        each.name: each.read_text(encoding="utf-8")
        for each in folder.joinpath("migrations").iterdir()
        if each.name.endswith(".sql")
    }
    pool = Pool(dsn, PoolSettings(size=1, statement_seconds=3600.0))
    await pool.open()
    try:
        async with pool.transaction() as connection:
            await connection.execute(_SQL["lock"])
            await connection.execute(_SQL["create_step_table"])
            steps = await connection.fetch(_SQL["steps"])
            applied = {row["name"] for row in steps}
            has_tables = await connection.fetchval(_SQL["find_tables"])
            if has_tables and not applied:
                return []
            missing = sorted(migrations.keys() - applied)
            if not has_tables:
                await _create_tables(
                    connection,
                    folder.joinpath("schema.sql").read_text(encoding="utf-8"),
                    pool.address,
                )
            for name in missing if has_tables else ():
                await connection.execute(migrations[name])
            await connection.executemany(_SQL["add_step"], [(name,) for name in missing])
            if has_tables:
                return missing
            return [QUEUE_ENGINE]
    finally:
        await pool.close()


async def _create_tables(connection: Connection, statements: str, address: str) -> None:
    try:
        await connection.execute(statements)
    except (
        asyncpg.DuplicateObjectError,
        asyncpg.DuplicateFunctionError,
        asyncpg.DuplicateTableError,
    ) as error:
        problem = f"the tables for workers are gone, but others of its parts are left ({error})"
        cure = "drop them as docs/scaling.md says, then run the command again"
        raise UnsupportedStoreError(f"{address}: {problem}; {cure}") from error
