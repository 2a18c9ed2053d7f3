"""The limit of a server on Postgres: bare, with two statements for a message, each in a pipeline of
all that wait for it.
"""

from __future__ import annotations

import asyncio
import os
from uuid import UUID

import asyncpg
from bare_stored import create_app

CREATE = "CREATE TABLE IF NOT EXISTS tasks (id uuid PRIMARY KEY, body bytea NOT NULL)"


class Pipeline:
    """Runs a statement for all that wait, in one round trip and one commit, on a connection of its
    own.
    """

    def __init__(self, statement: str) -> None:
        self._statement = statement
        self._waiting: list[tuple[UUID, bytes]] = []
        self._committed: asyncio.Future[None] | None = None
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        self._is_running = False

    async def run(self, wire_id: str, body: bytes) -> None:
        """Run the statement, and return after the commit."""
        if self._committed is None:
            self._committed = asyncio.get_running_loop().create_future()
        self._waiting.append((UUID(wire_id), body))
        committed = self._committed
        if not self._is_running:
            self._is_running = True
            asyncio.create_task(self._drain())  # noqa: RUF006 - it lives as long as somebody waits
        await committed

    async def _drain(self) -> None:
        if self._connection is None:
            self._connection = await asyncpg.connect(os.environ["A2A_STORE"])
            await self._connection.execute(CREATE)
        while self._waiting:
            waiting = self._waiting
            committed = self._committed
            self._waiting = []
            self._committed = None
            await self._connection.executemany(self._statement, waiting)
            assert committed is not None
            committed.set_result(None)
        self._is_running = False


insert = Pipeline("INSERT INTO tasks VALUES ($1, $2)")
update = Pipeline("UPDATE tasks SET body = $2 WHERE id = $1")
app = create_app(insert.run, update.run)
