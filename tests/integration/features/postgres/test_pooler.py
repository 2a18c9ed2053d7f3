"""A pooler in front of Postgres is recognized at the start, refused without the address of the
server, and used with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from a2a_runtime.agent import Agent
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.postgres.pool import Pool
from a2a_runtime.process import AgentRuntime
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import artifact_texts, run_agent
from a2a_runtime.testing.pooler import FakePooler

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pooler(postgres_url: str) -> AsyncIterator[FakePooler]:
    """A pooler in front of a database."""
    async with FakePooler(postgres_url) as pooler:
        yield pooler


async def test_a_pooler_is_recognized(pooler: FakePooler, postgres_url: str) -> None:
    """By the process that it announces; the server itself is not taken for one."""
    for url, is_behind_pooler in ((postgres_url, False), (pooler.url, True)):
        pool = Pool(url)
        await pool.open()
        assert pool.is_behind_pooler is is_behind_pooler
        assert len(await pool.fetch("SELECT name FROM pg_prepared_statements")) == (
            0 if is_behind_pooler else 1
        )
        await pool.close()


async def test_a_pooler_without_the_address_of_the_server_is_refused_at_start(
    pooler: FakePooler,
) -> None:
    """An agent would start, and hear nothing of other processes."""
    agent = Agent("a")
    agent.add("echo", lambda ctx: ctx.text)
    with pytest.raises(
        UnsupportedStoreError,
        match=(
            r"a pooler such as PgBouncer.*; "
            r"set A2A_STORE_DIRECT to the address of the server itself"
        ),
    ):
        async with AgentRuntime([Surface(agent)], pooler.url, Settings()):
            pass
    with pytest.raises(
        UnsupportedStoreError,
        match=r"A2A_STORE_DIRECT: a pooler answers at postgresql://127\.0\.0\.1",
    ):
        async with AgentRuntime([Surface(agent)], pooler.url, Settings(store_direct=pooler.url)):
            pass


async def test_commands_that_hear_nothing_use_a_pooler_as_it_is(pooler: FakePooler) -> None:
    """The address of the server is needed for notifications only."""
    store = PostgresStore(pooler.url)
    await store.open()
    assert await store.list_scopes() == []
    await store.close()


async def test_an_agent_and_its_workers_run_behind_a_pooler(
    pooler: FakePooler, postgres_url: str
) -> None:
    """Statements go to the pooler, notifications and jobs to the server."""

    async def echo(ctx: object) -> str:
        return str(getattr(ctx, "text", ""))

    options = StoreOptions(direct_address=postgres_url)
    stores = [PostgresStore(pooler.url, options) for _ in range(2)]
    async with run_agent(echo, store=stores[0], worker_store=stores[1]) as one, asyncio.timeout(30):
        assert artifact_texts(await one.send("hi")) == {"result": ["hi"]}
