"""Fresh databases on one server: each is a copy of a template that is prepared once."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit, urlunsplit

import asyncpg


class DatabaseFactory:
    """Creates the databases of one test run, and drops them all; ``options`` are those of ``CREATE
    DATABASE``.

    With ``keeps_released`` released databases stay until the end: on a disk it takes longer to drop
    one than to create one.
    """

    def __init__(
        self,
        admin_url: str,
        prepare: Callable[[str], Awaitable[object]],
        *,
        options: str = "",
        keeps_released: bool = False,
    ) -> None:
        self._admin_url = admin_url
        self._options = options
        self._keeps_released = keeps_released
        self._prepare = prepare
        self._prefix = f"a2a_test_{secrets.token_hex(4)}"
        self._count = 0
        self._is_prepared = False
        self._released: set[str] = set()

    @property
    def _template(self) -> str:
        return f"{self._prefix}_template"

    async def create(self) -> str:
        """Create a prepared database and return its URL."""
        if not self._is_prepared:
            await self._prepare(await self.create_empty(self._template))
            self._is_prepared = True
        return await self._create(f'TEMPLATE "{self._template}" {self._options}')

    async def create_empty(self, name: str | None = None) -> str:
        """Create a database without tables and return its URL."""
        return await self._create("", name)

    def release(self, url: str) -> None:
        """Let a database be dropped when the next one is created, or later, as soon as it has no
        sessions.
        """
        if not self._keeps_released:
            self._released.add(urlsplit(url).path.removeprefix("/"))

    async def drop_all(self) -> None:
        """Drop all databases of this run, even with open connections."""
        connection = await asyncpg.connect(self._admin_url)
        try:
            rows = await connection.fetch(
                "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", self._prefix
            )
            for row in rows:
                await connection.execute(f'DROP DATABASE IF EXISTS "{row["datname"]}" WITH (FORCE)')
        finally:
            await connection.close()

    async def _create(self, options: str, name: str | None = None) -> str:
        self._count += 1
        name = name or f"{self._prefix}_{self._count}"
        connection = await asyncpg.connect(self._admin_url)
        try:
            await connection.execute(f'CREATE DATABASE "{name}" {options}')
            await self._drop_released(connection)
        finally:
            await connection.close()
        return urlunsplit(urlsplit(self._admin_url)._replace(path=f"/{name}"))

    async def _drop_released(self, connection: asyncpg.Connection) -> None:
        if not self._released:
            return
        used = {
            row["datname"]
            for row in await connection.fetch("SELECT DISTINCT datname FROM pg_stat_activity")
        }
        # not those in use, for which Postgres would wait five seconds
        for name in self._released - used:
            with suppress(asyncpg.ObjectInUseError):
                await connection.execute(f'DROP DATABASE IF EXISTS "{name}"')
                self._released.discard(name)
