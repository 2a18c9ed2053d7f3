"""An agent behind the real PgBouncer in transaction mode; every run of the tests recognizes a fake
one (``integration/test_pooler.py``).
"""

from __future__ import annotations

import asyncio

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import UnsupportedStoreError
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.stores.base import StoreOptions
from a2a_runtime.testing.agent import artifact_texts, run_agent

from .pgbouncer import run_pgbouncer

pytestmark = [pytest.mark.anyio, pytest.mark.soak(share="drills"), pytest.mark.slow]


async def stream(ctx: TaskContext) -> str:
    """Write often."""
    for number in range(5):
        await ctx.status(str(number))
    return ctx.text


async def test_many_tasks_run_behind_pgbouncer(postgres_url: str) -> None:
    """Of 500 tasks in the process and 100 on workers none fails, with more callers than the pooler
    has connections.
    """
    with run_pgbouncer(postgres_url) as url:
        options = StoreOptions(direct_address=postgres_url)
        async with (
            run_agent(stream, store=PostgresStore(url, options)) as one,
            asyncio.timeout(120),
        ):
            tasks = await asyncio.gather(*(one.send(f"{number}") for number in range(500)))
            assert {task.status.state for task in tasks} == {"TASK_STATE_COMPLETED"}
        stores = [PostgresStore(url, options) for _ in range(2)]
        async with (
            run_agent(stream, store=stores[0], worker_store=stores[1]) as one,
            asyncio.timeout(120),
        ):
            started = [await one.start(f"{number}") for number in range(100)]
            for number, stored in enumerate(started):
                task = await one.wait_terminal(stored)
                assert (State(task.status.state), artifact_texts(task)) == (
                    State.COMPLETED,
                    {"result": [f"{number}"]},
                )


async def test_pgbouncer_alone_is_refused(postgres_url: str) -> None:
    """A start behind PgBouncer alone fails, because notifications would not arrive."""
    with run_pgbouncer(postgres_url) as url:
        store = PostgresStore(url)
        store.notifier()
        with pytest.raises(UnsupportedStoreError, match="a pooler such as PgBouncer"):
            await store.open()
