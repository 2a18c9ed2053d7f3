"""The store in Postgres: any number of processes share it."""

from __future__ import annotations

from a2a_runtime.stores.postgres import schema
from a2a_runtime.stores.postgres.contexts import PostgresContexts
from a2a_runtime.stores.postgres.counts import PostgresCounts
from a2a_runtime.stores.postgres.doorbell import PostgresDoorbell
from a2a_runtime.stores.postgres.pushes import PostgresPushes
from a2a_runtime.stores.postgres.runs import PostgresRuns
from a2a_runtime.stores.postgres.statements import SQL
from a2a_runtime.stores.postgres.tasks import PostgresTasks


class PostgresStore(PostgresTasks, PostgresContexts, PostgresRuns, PostgresPushes, PostgresCounts):
    """Keeps everything in one database, whose schema ``a2a-gen db upgrade`` has made."""

    durable = True

    def doorbell(self) -> PostgresDoorbell:
        """Make a bell over the same server, with a connection of its own."""
        return PostgresDoorbell(self._pool.dsn)

    async def open(self) -> None:
        """Connect, and see that the schema is one that this release can work with."""
        await self._pool.open()
        try:
            await schema.check(self._pool)
            (row,) = await self._pool.rows(SQL["server_millis"])
            self._server_ahead = row["millis"] - round(self._clock.monotonic() * 1000)
        except BaseException:
            await self._pool.close()
            raise

    async def close(self) -> None:
        """Finish what was begun and let go of all connections."""
        for lane in (self._births, self._changes, self._looks):
            await lane.close()
        await self._pool.close()
