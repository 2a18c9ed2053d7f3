"""Statements of many callers: they go together when there are many, and each one gets and suffers only what is its own."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.postgres.pipeline import StatementPipeline
from a2a_runtime.stores.postgres.pool import Pool

pytestmark = pytest.mark.anyio

ECHO = "SELECT $1::integer AS n, 12 / $1 AS divided"  # fails for 0
SLOW = "SELECT $1::integer AS n FROM pg_sleep($2)"


async def test_callers_together_get_their_own_rows(pool: Pool) -> None:
    """Each caller gets the row of its statement, however many go together."""
    lane = StatementPipeline(pool, ECHO)
    found = await asyncio.gather(*(lane.fetchrow(n) for n in range(1, 301)))
    assert [row["n"] for row in found] == list(range(1, 301))
    await lane.close()


@pytest.mark.parametrize(
    ("bad", "error"),
    [pytest.param(0, asyncpg.DivisionByZeroError, id="for-the-server"), pytest.param(1 << 40, asyncpg.DataError, id="for-the-driver")],
)
async def test_a_bad_value_among_many_fails_alone(pool: Pool, bad: int, error: type[Exception]) -> None:
    """One caller's error is not that of those who happened to go with it."""
    lane = StatementPipeline(pool, ECHO)
    found = await asyncio.gather(*(lane.fetchrow(n % 10 or bad) for n in range(100)), return_exceptions=True)
    assert [isinstance(answer, error) for answer in found] == [n % 10 == 0 for n in range(100)]
    assert sum(isinstance(answer, asyncpg.Record) for answer in found) == 90
    await lane.close()


async def test_a_caller_that_goes_away_takes_nobody_along(pool: Pool) -> None:
    """Canceled callers are left out or ignored; the others get their rows."""
    lane = StatementPipeline(pool, ECHO)
    calls = [asyncio.create_task(lane.fetchrow(n)) for n in range(1, 61)]
    await asyncio.sleep(0)
    for call in calls[::3]:
        call.cancel()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert [row["n"] for row in found if isinstance(row, asyncpg.Record)] == [n for n in range(1, 61) if n % 3 != 1]
    await lane.close()


async def test_a_caller_that_is_stuck_holds_up_nobody_else(pool: Pool) -> None:
    """While one statement waits long for a row that somebody else holds, those of others go on."""
    lane = StatementPipeline(pool, SLOW)
    stuck = asyncio.create_task(lane.fetchrow(0, 20.0))
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        found = await asyncio.gather(*(lane.fetchrow(n, 0.0) for n in range(1, 20)))
    assert [row["n"] for row in found] == list(range(1, 20))
    stuck.cancel()
    await asyncio.gather(stuck, return_exceptions=True)
    await lane.close()


async def test_a_server_away_is_told_to_every_caller(postgres_url: str) -> None:
    """Nobody who waits for a lane is forgotten when there is no server."""
    pool = Pool(postgres_url)
    lane = StatementPipeline(pool, ECHO)
    found = await asyncio.gather(*(lane.fetchrow(n) for n in range(1, 40)), return_exceptions=True)
    assert {type(error) for error in found} == {StoreUnavailableError}
