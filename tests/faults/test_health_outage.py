"""Probes during an outage of Postgres."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from litestar.testing import AsyncTestClient

from a2a_runtime.agent import Agent
from a2a_runtime.app import create_app
from a2a_runtime.features.postgres import upgrade
from a2a_runtime.testing.embedded_postgres import PostgresServer

pytestmark = pytest.mark.anyio
_DEADLINE = 60


async def test_a_frozen_database_is_reported_at_once_and_an_old_schema_too() -> None:
    """A database that does not answer makes the process unready, and probes do not wait for it; a
    schema that is behind is named.
    """
    with PostgresServer() as server:
        await upgrade(server.url)
        agent = Agent("probed")
        agent.add("echo", lambda ctx: ctx.text)
        async with AsyncTestClient(create_app(agent, store=server.url)) as client:
            assert (await client.get("/readyz")).status_code == 200
            server.freeze()
            try:
                await _wait_for(client, 503)
                assert (await client.get("/readyz")).json()["faults"]["store"] == "unavailable"
                assert (await client.get("/livez")).status_code == 200
            finally:
                server.thaw()
            await _wait_for(client, 200)
            connection = await asyncpg.connect(server.url)
            await connection.execute(
                "DELETE FROM a2a_schema WHERE version = (SELECT max(version) FROM a2a_schema)"
            )
            await connection.close()
            await _wait_for(client, 503)
            assert (await client.get("/readyz")).json()["faults"] == {
                "store": "its schema does not fit this release"
            }


# The type of the app does not matter.
async def _wait_for(client: AsyncTestClient, status: int) -> None:  # type: ignore[type-arg]
    async with asyncio.timeout(_DEADLINE):
        # A probe is asked again and again.
        while (await client.get("/readyz")).status_code != status:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
