"""Statement pipelines: batches, errors and stuck statements."""

from __future__ import annotations

import asyncio
from collections import Counter

import asyncpg
import pytest

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres.pipeline import StatementPipeline
from a2a_runtime.features.postgres.pool import Pool

pytestmark = pytest.mark.anyio

ECHO = "SELECT $1::integer AS n, 12 / $1 AS divided"  # fails for 0
SLOW = "SELECT $1::integer AS n FROM pg_sleep($2)"


async def test_callers_of_a_batch_get_their_own_rows(pool: Pool) -> None:
    """Each caller gets the row of its statement."""
    pipeline = StatementPipeline(pool)
    found = await asyncio.gather(*(pipeline.fetchrow(ECHO, n) for n in range(1, 301)))
    assert [row["n"] for row in found] == list(range(1, 301))
    await pipeline.close()


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        pytest.param(0, asyncpg.DivisionByZeroError, id="for-the-server"),
        pytest.param(1 << 40, asyncpg.DataError, id="for-the-driver"),
    ],
)
async def test_an_invalid_value_fails_alone(pool: Pool, bad: int, error: type[Exception]) -> None:
    """The other callers of the batch get their rows."""
    pipeline = StatementPipeline(pool)
    found = await asyncio.gather(
        *(pipeline.fetchrow(ECHO, n % 10 or bad) for n in range(100)), return_exceptions=True
    )
    assert [isinstance(result, error) for result in found] == [n % 10 == 0 for n in range(100)]
    assert sum(isinstance(result, asyncpg.Record) for result in found) == 90
    await pipeline.close()


async def test_a_cancelled_caller_affects_no_other(pool: Pool) -> None:
    """Cancelled callers are skipped; the others get their rows."""
    pipeline = StatementPipeline(pool)
    calls = [asyncio.create_task(pipeline.fetchrow(ECHO, n)) for n in range(1, 61)]
    await asyncio.sleep(0)
    for call in calls[::3]:
        call.cancel()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert [row["n"] for row in found if isinstance(row, asyncpg.Record)] == [
        n for n in range(1, 61) if n % 3 != 1
    ]
    await pipeline.close()


async def test_a_stuck_statement_blocks_no_other(pool: Pool) -> None:
    """Other statements go on while one waits for a locked row."""
    pipeline = StatementPipeline(pool)
    stuck = asyncio.create_task(pipeline.fetchrow(SLOW, 0, 20.0))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        found = await asyncio.gather(*(pipeline.fetchrow(SLOW, n, 0.0) for n in range(1, 20)))
    assert [row["n"] for row in found] == list(range(1, 20))
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)
    await pipeline.close()


async def test_every_caller_gets_the_error_of_a_missing_server(postgres_url: str) -> None:
    """The error of a missing server reaches every queued caller."""
    pool = Pool(postgres_url)
    pipeline = StatementPipeline(pool)
    found = await asyncio.gather(
        *(pipeline.fetchrow(ECHO, n) for n in range(1, 40)), return_exceptions=True
    )
    assert {type(error) for error in found} == {StoreUnavailableError}


async def test_callers_of_one_turn_share_a_commit(pool: Pool) -> None:
    """Calls of the same turn of the loop are in one transaction, also where nothing is running;
    each statement has its own.
    """
    pipeline = StatementPipeline(pool)
    first, second = (
        f"SELECT $1::integer AS n, {n} AS statement, pg_current_xact_id()::text AS id"
        for n in (1, 2)
    )
    found = await asyncio.gather(
        *(pipeline.fetchrow(first if n % 3 else second, n) for n in range(15))
    )
    assert [(row["n"], row["statement"]) for row in found] == [
        (n, 1 if n % 3 else 2) for n in range(15)
    ]
    assert len({row["id"] for row in found}) == 2
    await pipeline.close()


@pytest.mark.parametrize(
    ("calls", "sizes"),
    [(16, [16]), (20, [4, 16]), (100, [9, 16, 25, 50])],
    ids=["few", "more", "many"],
)
async def test_a_batch_leaves_half_of_many_callers_to_the_next(
    pool: Pool, calls: int, sizes: list[int]
) -> None:
    """So that the server works for some of them while this process works for the others."""
    pipeline = StatementPipeline(pool)
    statement = "SELECT $1::integer AS n, pg_current_xact_id()::text AS id"
    found = await asyncio.gather(*(pipeline.fetchrow(statement, n) for n in range(calls)))
    assert [row["n"] for row in found] == list(range(calls))
    assert sorted(Counter(row["id"] for row in found).values()) == sizes
    await pipeline.close()
