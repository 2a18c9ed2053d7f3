"""Writes that the database commits after their connection broke: each lands once, and the run goes
on.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.workers.jobs import JobQueue
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, run_agent
from a2a_runtime.testing.faults.proxy import CuttableProxy

pytestmark = pytest.mark.anyio

SETTINGS = Settings(shutdown_grace=0, cancel_grace=0.2)
LOCKED = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
    "current_database()"
)
SERVERS = """SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()"""
LET_FETCHES_WAIT = """
CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER wait_for_test AFTER UPDATE ON procrastinate_jobs
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.status = 'doing')
EXECUTE FUNCTION wait_for_test()"""
"""Lets the commit of each fetch wait for a lock of the test."""


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[asyncpg.Connection]:
    """Connect as another program."""
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def run_proxy(url: str) -> AsyncIterator[tuple[CuttableProxy, str]]:
    """Run a proxy in front of a database, and yield it with its address."""
    address = urlsplit(url)
    proxy = CuttableProxy([(address.hostname or "127.0.0.1", address.port or 5432)])
    await proxy.open()
    user, at, _ = address.netloc.rpartition("@")
    try:
        yield proxy, urlunsplit(address._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}"))
    finally:
        await proxy.close()


async def echo(ctx: TaskContext) -> str:
    """Answer."""
    return ctx.text


def break_connections(store: PostgresStore) -> None:
    """Break the connections of a store; their server processes do not notice."""
    for holder in store._pool._pool._holders:
        if holder._con is not None and not holder._con.is_closed():
            holder._con.terminate()


async def wait_until(connection: asyncpg.Connection, query: str, *values: object) -> None:
    """Wait until a query says so."""
    is_so = False
    while not is_so:
        is_so = await connection.fetchval(query, *values)
        await asyncio.sleep(0.01)


async def test_a_chunk_that_waits_for_a_lock_lands_once(postgres_url: str) -> None:
    """Its connection breaks while another transaction holds the row; the copy of it waits behind
    the first one.
    """
    store = PostgresStore(postgres_url)
    is_locked = asyncio.Event()
    go = asyncio.Event()

    async def work(ctx: TaskContext) -> str:
        async with ctx.artifact("log") as log:
            await log.text("0;")
            await ctx.flush()
            is_locked.set()
            await go.wait()
            for each in (1, 2):
                await log.text(f"{each};")
                await ctx.flush()
        return "done"

    agent = run_agent(work, store=store, options=EngineOptions(settings=SETTINGS))
    async with (
        asyncio.timeout(30),
        agent as one,
        connect(postgres_url) as locking,
        connect(postgres_url) as watching,
    ):
        stored = await one.start("x")
        await is_locked.wait()
        transaction = locking.transaction()
        await transaction.start()
        await locking.execute("SELECT 1 FROM a2a_tasks WHERE key = $1 FOR UPDATE", stored.key)
        go.set()
        await wait_until(watching, f"SELECT ({LOCKED}) = 1")
        break_connections(store)
        await wait_until(watching, f"SELECT ({LOCKED}) = 2")
        await transaction.rollback()
        task = await one.wait_terminal(stored)
        assert (task.status.state, artifact_texts(task)["log"]) == (
            State.COMPLETED,
            ["0;", "1;", "2;"],
        )


async def test_the_first_chunk_that_comes_late_does_not_replace_the_others(
    postgres_url: str,
) -> None:
    """The server processes stand still while their connections break, then go on: the late copy
    begins an artifact that has gone on since.
    """
    store = PostgresStore(postgres_url)
    is_ready, go, is_written, end = (asyncio.Event() for _ in range(4))

    async def work(ctx: TaskContext) -> str:
        await ctx.status("working")
        is_ready.set()
        await go.wait()
        async with ctx.artifact("log") as log:
            for each in range(4):
                await log.text(f"{each};")
                await ctx.flush()
            is_written.set()
            await end.wait()
        return "done"

    agent = run_agent(work, store=store, options=EngineOptions(settings=SETTINGS))
    async with asyncio.timeout(30), agent as one, connect(postgres_url) as other:
        stored = await one.start("x")
        await is_ready.wait()
        processes = [row["pid"] for row in await other.fetch(SERVERS)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            go.set()
            await asyncio.sleep(0.2)  # the chunk is sent, to a process that does not read
            break_connections(store)
            await is_written.wait()
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)
        await wait_until(
            other,
            f"SELECT NOT EXISTS (SELECT FROM ({SERVERS}) AS found WHERE pid = ANY ($1::integer[]))",  # noqa: S608 - constants
            processes,
        )
        end.set()
        task = await one.wait_terminal(stored)
        assert (task.status.state, artifact_texts(task)["log"]) == (
            State.COMPLETED,
            ["0;", "1;", "2;", "3;"],
        )


async def test_a_job_runs_whose_fetch_has_lost_its_answer(postgres_url: str) -> None:
    """The connection of the worker breaks while the database commits the fetch. The worker lives
    on, and does not know that it has the job.
    """
    async with (
        asyncio.timeout(30),
        run_proxy(postgres_url) as (proxy, cuttable),
        connect(postgres_url) as locking,
        connect(postgres_url) as watching,
        run_agent(
            echo,
            store=PostgresStore(postgres_url),
            worker_store=PostgresStore(postgres_url, StoreOptions(direct_address=cuttable)),
        ) as one,
    ):
        await locking.execute(LET_FETCHES_WAIT)
        await locking.execute("SELECT pg_advisory_lock(1)")
        stored = await one.start("x")
        await wait_until(watching, f"SELECT ({LOCKED}) = 1")
        await proxy.cut()
        await locking.execute("SELECT pg_advisory_unlock(1)")
        task = await one.wait_terminal(stored)
        assert (task.status.state, artifact_texts(task)["result"]) == (State.COMPLETED, ["x"])


async def test_a_job_comes_back_and_ends_once(postgres_url: str) -> None:
    """A worker puts it back again, or ends it again, when it does not know what became of the first
    time.
    """
    skill = Skill("echo", echo, runs_on="workers")
    queue = JobQueue(postgres_url)
    await queue.open()
    try:
        async with run_agent(
            skill,
            store=PostgresStore(postgres_url),
            options=EngineOptions(settings=FAST_SETTINGS),
        ) as one:
            stored = await one.start("x")
            job = await queue.fetch(["default@"])
            assert job is not None
            await queue.come_back(job, 0)
            await queue.come_back(job, 0)
            assert await queue.fetch(["default@"]) == (job.id, stored.key)
            await queue.finish(job)
            await queue.finish(job)
            await queue.come_back(job, 0)
            assert await queue.fetch(["default@"]) is None
    finally:
        await queue.close()
