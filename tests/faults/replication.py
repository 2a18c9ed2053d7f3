"""A primary and its standby, at one address that names both; the standby may stop receiving before
it is promoted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

import asyncpg

from a2a_runtime.features.postgres import upgrade
from a2a_runtime.testing.embedded_postgres import PostgresServer

_IS_STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
_IS_SYNCHRONOUS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


class Replicated:
    """A primary and its standby."""

    def __init__(self, primary: PostgresServer, standby: PostgresServer) -> None:
        self.primary = primary
        self.standby = standby
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (primary, standby))
        self.url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"

    async def stop_receiving(self) -> None:
        """Cut the standby off from its primary: it gets no more of what is committed."""
        connection = await asyncpg.connect(self.standby.url)
        await connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
        await connection.execute("SELECT pg_reload_conf()")
        await _wait_for(connection, "SELECT count(*) = 0 FROM pg_stat_wal_receiver")
        await connection.close()

    async def promote(self) -> None:
        """Kill the primary, and make the standby one."""
        self.primary.kill()
        connection = await asyncpg.connect(self.standby.url)
        await connection.execute("SELECT pg_promote()")
        await connection.close()


async def _wait_for(connection: asyncpg.Connection, query: str) -> None:
    while not await connection.fetchval(query):  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.05)


@asynccontextmanager
async def replicate(*, is_synchronous: bool) -> AsyncIterator[Replicated]:
    """Start streaming replication, with or without commits that wait for the standby."""
    with ExitStack() as stack:
        primary = stack.enter_context(PostgresServer())
        await upgrade(primary.url)
        standby = PostgresServer()
        stack.callback(standby.remove)
        source = ("-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres")
        standby._run("pg_basebackup", *source, "-D", str(standby._data), "-R", "-c", "fast")
        standby.start()
        connection = await asyncpg.connect(primary.url)
        await _wait_for(connection, _IS_STREAMING)
        if is_synchronous:
            await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            await connection.execute("SELECT pg_reload_conf()")
            await _wait_for(connection, _IS_SYNCHRONOUS)
        await connection.close()
        yield Replicated(primary, standby)
