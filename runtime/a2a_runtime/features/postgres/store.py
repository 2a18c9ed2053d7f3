"""The store in Postgres, shared by any number of processes."""

from __future__ import annotations

from collections.abc import Sequence

from a2a_contract.errors import TaskNotFoundError
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.postgres import schema
from a2a_runtime.features.postgres.base import SQL, STATEMENTS, parse_key
from a2a_runtime.features.postgres.notifier import PostgresNotifier
from a2a_runtime.features.postgres.pool import Pool, PoolSettings
from a2a_runtime.features.postgres.run_queue import PostgresQueue
from a2a_runtime.features.postgres.tasks import PostgresTasks
from a2a_runtime.stores import fragments
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.stores.models import ClaimedRun
from a2a_runtime.stores.sql_statements import SqlTransaction

_MAX_FOLDED_DELTAS = 5_000
_MAX_VACUUM_SECONDS = 24 * 3600.0

DIRECT_VARIABLE = "A2A_STORE_DIRECT"


class PostgresStore(PostgresTasks, PostgresQueue):
    """Store in one database, whose schema is created by ``a2a-gen db upgrade``."""

    is_durable = runs_again = accepts_task_ids = True
    _is_notified = False

    def notifier(self) -> PostgresNotifier:
        """Create a notifier over the same server, with a connection of its own."""
        self._is_notified = True
        return PostgresNotifier(self.queue_address)

    async def open(self) -> None:
        """Connect, and check the version of the schema."""
        await self._pool.open()
        try:
            await self._check_direct_address()
            await schema.check_version(self._pool)
            # Leases are compared between machines: a wall clock that is wrong by a minute must
            # not take the tasks of all other processes.
            (row,) = await self._fetch("server_millis")
            self._shared_offset_millis = self._offset_to(row["millis"])
        except BaseException:
            await self._pool.close()
            raise

    async def _check_direct_address(self) -> None:
        """Refuse a pooler where the server itself is needed: LISTEN succeeds there, and nothing
        arrives.
        """
        direct = self._options.direct_address
        cure = f"set {DIRECT_VARIABLE} to the address of the server itself"
        if direct is None:
            if self._pool.is_behind_pooler and self._is_notified:
                raise UnsupportedStoreError(
                    f"{self._pool.address}: a pooler such as PgBouncer, through which no "
                    f"notification arrives; {cure}"
                )
            return
        direct_pool = Pool(direct, PoolSettings(size=1))
        await direct_pool.open()
        await direct_pool.close()
        if direct_pool.is_behind_pooler:
            raise UnsupportedStoreError(
                f"{DIRECT_VARIABLE}: a pooler answers at {direct_pool.address}; {cure}"
            )

    async def close(self) -> None:
        """Finish pending statements and close all connections."""
        for pipeline in (self._inserts, self._updates, self._claims, self._loads):
            await pipeline.close()
        await self._pool.close()

    async def mark_suspect(self, process: str, key: str) -> None:
        """Note in which task the event loop of a process stands still, over a connection of its
        own: the pool belongs to that loop.
        """
        pool = Pool(self._pool.dsn, PoolSettings(size=1))
        await pool.open()
        try:
            statement = STATEMENTS["mark_suspect"]
            await pool.fetch(statement.text, *statement.arrange({"process": process, "key": key}))
        finally:
            await pool.close()

    async def delete_expired(self, limit: int = 100) -> int:
        """Add the differences that changes have left to the totals, in short transactions, then
        delete a batch of what has expired.
        """

        async def fold(transaction: SqlTransaction) -> bool:
            if not await transaction.fetch("lock_cleanup"):
                return False
            (row,) = await transaction.fetch("fold_deltas", limit=_MAX_FOLDED_DELTAS)
            return bool(row["folded"] == _MAX_FOLDED_DELTAS)

        while await self._transact(fold):
            pass
        return await super().delete_expired(limit)

    async def check(self) -> None:
        """Compare the version of the schema."""
        await schema.check_version(self._pool)

    async def read_clock(self) -> float:
        """Read the time of the server, in seconds."""
        return await schema.read_clock(self._pool.dsn)

    async def find_damage(self) -> Sequence[str]:
        """Find nothing: the server checks its files by itself."""
        return ()

    async def vacuum(self) -> None:
        """Make the space of deleted rows free for new ones, as the server does by itself from time
        to time. Nothing waits for it.
        """
        pool = Pool(self._pool.dsn, PoolSettings(size=1, statement_seconds=_MAX_VACUUM_SECONDS))
        await pool.open()
        try:
            await pool.fetch(SQL["vacuum"])
        finally:
            await pool.close()

    async def claim(self, key: str, process: str) -> ClaimedRun | None:
        """Begin a run of a task.

        Many claims at once, as after a crash, share a round trip and a commit.
        """
        try:
            row = await self._claims.fetchrow(
                SQL["claim"], parse_key(key), process, self._shared_millis()
            )
        except TaskNotFoundError:
            return None
        if row["scope"] is None:
            return None
        records = zip(
            row["kinds"] or (),
            row["keys"] or (),
            row["fingerprints"] or (),
            row["bodies"] or (),
            strict=True,
        )
        stored = await self.load_task(TaskScope.from_text(row["scope"]), row["wire_id"])
        if stored is None or stored.process != process:  # ended or deleted meanwhile
            return None
        return ClaimedRun(
            stored, [fragments.to_replay_record(*record) for record in records], row["crashes"]
        )


# Any number of processes may share a database.
def build(url: str, options: StoreOptions, *, attach: bool) -> PostgresStore:  # noqa: ARG001
    """Build the store of a URL."""
    return PostgresStore(url, options)
