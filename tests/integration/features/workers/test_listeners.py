"""Listeners of a queue: they wake a worker, and end with it."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from a2a_runtime.features.workers.jobs import JobQueue

pytestmark = pytest.mark.anyio

LISTENERS = """SELECT count(*) FROM pg_stat_activity
WHERE query LIKE 'LISTEN %' AND datname = current_database()"""
NOTIFY_TWICE = """SELECT count(pg_notify('procrastinate_queue_v1#default@',
    json_build_object('type', 'job_inserted', 'job_id', number)::text))
FROM generate_series(1, 2) AS number"""
"""Both arrive together: the second one is there when the first one is handled."""


async def query_number(url: str, query: str) -> int:
    """Run a query as an operator would, and return its first number."""
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(query) or 0)
    finally:
        await connection.close()


async def test_a_worker_stops_while_jobs_arrive(postgres_url: str) -> None:
    """Its listener is canceled at the moment of a notification. asyncio may return that, and forget
    the cancellation.
    """
    calls = list[int]()

    def stop() -> None:
        calls.append(1)
        if len(calls) == 1:
            listening.cancel()

    queue = JobQueue(postgres_url)
    await queue.open()
    listening = asyncio.create_task(queue.listen(["default@"], stop))
    try:
        async with asyncio.timeout(30):
            while not await query_number(postgres_url, LISTENERS):  # noqa: ASYNC110 - the condition is in the database
                await asyncio.sleep(0.01)
            assert await query_number(postgres_url, NOTIFY_TWICE) == 2
            await asyncio.wait((listening,), timeout=10)
            assert listening.cancelled()
    finally:
        listening.cancel()
        await queue.close()
