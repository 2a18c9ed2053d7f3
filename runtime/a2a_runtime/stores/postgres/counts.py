"""Counts in Postgres, by the server's clock: all processes mean the same moment."""

from __future__ import annotations

from a2a_runtime.stores.postgres.base import PostgresBase
from a2a_runtime.stores.postgres.statements import SQL
from a2a_runtime.stores.values import Count


class PostgresCounts(PostgresBase):
    """How often somebody has asked lately."""

    async def count(self, key: str, seconds: float) -> Count:
        """Count one more."""
        now = self._server_millis()
        (row,) = await self._pool.rows(SQL["count"], key, now, now + round(seconds * 1000))
        return Count(row["number"], (row["until"] - now) / 1000)
