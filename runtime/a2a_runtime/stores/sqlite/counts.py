"""Counts in SQLite."""

from __future__ import annotations

from a2a_runtime.stores.sqlite.base import SqliteBase
from a2a_runtime.stores.sqlite.connection import SQL
from a2a_runtime.stores.values import Count


class SqliteCounts(SqliteBase):
    """How often somebody has asked lately."""

    async def count(self, key: str, seconds: float) -> Count:
        """Count one more."""
        now = self._options.clock.millis()
        one = {"key": key, "now": now, "until": now + round(seconds * 1000)}
        row = await self._write(lambda db: db.execute(SQL["count"], one).fetchone())
        return Count(row["number"], (row["until"] - now) / 1000)
