"""The cleanup of a Postgres store: as fast for the last of many expired tasks as for the first."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from a2a_runtime.base.caller import TaskScope
from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.postgres.base import STATEMENTS
from a2a_runtime.stores.base import StoreOptions

pytestmark = pytest.mark.anyio

SCOPE = TaskScope("/agent", "", "ada").to_text()
ENDED_TASKS = """
INSERT INTO a2a_tasks (
    key, scope, wire_id, context_id, skill, dialect,
    state, state_before, is_active, status, status_at, metadata, ended_at
)
SELECT
    lpad(to_hex(n), 32, '0')::uuid, $3, 'w-' || n, 'c-' || n % $2::int, 'echo', 'v1_0',
    'TASK_STATE_COMPLETED', 'TASK_STATE_WORKING', false, '{}', n, '{}', n
FROM generate_series(1, $1::int) AS n
"""
MESSAGES = """
INSERT INTO a2a_messages (task, scope, context_id, said_at, body)
SELECT key, scope, context_id, $1::bigint + status_at, '{}'
FROM a2a_tasks, generate_series(1, 2) ORDER BY status_at
"""
KEEP = 100
BATCH = 100


@pytest.fixture
async def connection(postgres_url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """Connect to a database with the tables of a store."""
    connection = await asyncpg.connect(postgres_url)
    yield connection
    await connection.close()


async def fill(connection: asyncpg.Connection[Any], tasks: int, conversations: int) -> None:
    """Add ended tasks with two messages each, all of which the statistics know."""
    await connection.execute(ENDED_TASKS, tasks, conversations, SCOPE)
    await connection.execute(MESSAGES, time.time_ns() // 1_000_000)
    await connection.execute("ANALYZE")


async def explain(
    connection: asyncpg.Connection[Any], name: str, **parameters: object
) -> list[dict[str, Any]]:
    """Run a statement of the store, and return what each step of its plan has done."""
    statement = STATEMENTS[name]
    row = await connection.fetchrow(
        f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.text}", *statement.arrange(parameters)
    )
    assert row is not None
    return list(walk(json.loads(row[0])[0]["Plan"]))


def walk(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk through a plan."""
    yield step
    for each in step.get("Plans", ()):
        yield from walk(each)


@pytest.mark.parametrize("analyzed_after", [0, 3_000], ids="of-{}".format)
async def test_the_cleanup_reads_the_messages_of_its_conversations_only(
    connection: asyncpg.Connection[Any], analyzed_after: int
) -> None:
    """Also before the statistics know of messages that outlived their tasks: a batch reads what it
    keeps and deletes, and nothing else.
    """
    tasks = 4_000
    conversations = 20
    await fill(connection, tasks, conversations)
    await connection.execute("ALTER TABLE a2a_messages SET (autovacuum_enabled = false)")
    ended = [
        str(row["key"])
        for row in await connection.fetch("SELECT key FROM a2a_tasks ORDER BY ended_at")
    ]
    await explain(connection, "keep_messages", keys=ended[:analyzed_after])
    await connection.execute("ANALYZE a2a_messages")
    await explain(connection, "keep_messages", keys=ended[analyzed_after:-BATCH])
    steps = await explain(connection, "trim_messages", keys=ended[:BATCH], keep=KEEP)
    (read,) = [
        step
        for step in steps
        if step.get("Index Name", "").startswith("a2a_messages")
        and step["Actual Loops"] == conversations
    ]
    assert read["Index Name"] == "a2a_messages_kept"
    assert read.get("Rows Removed by Filter", 0) == 0
    assert steps[0]["Node Type"] == "ModifyTable"
    assert (
        await connection.fetchval("SELECT count(*) FROM a2a_messages WHERE task IS NULL")
        == KEEP * conversations
    )


@pytest.mark.soak(share="simulation")
@pytest.mark.slow
async def test_the_cleanup_is_as_fast_at_the_end_as_at_the_beginning(
    connection: asyncpg.Connection[Any], postgres_url: str
) -> None:
    """A million expired tasks in a thousand conversations: the last ones take no longer than the
    first, however many messages are kept.
    """
    tasks = 1_000_000
    measured = 20_000
    await fill(connection, tasks, 1_000)
    store = PostgresStore(postgres_url, StoreOptions())
    await store.open()

    async def delete(number: int) -> float:
        began = time.monotonic()
        left = number
        while left > 0:
            deleted = await store.delete_expired()
            assert deleted
            left -= deleted
        return time.monotonic() - began

    first = await delete(measured)
    await delete(tasks - 2 * measured)
    last = await delete(measured)
    await store.close()
    assert await connection.fetchval("SELECT count(*) FROM a2a_messages") == KEEP * 1_000
    assert last < first * 2, (first, last)
