"""The pool of connections to Postgres: connections that end, and what is said of them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres.pool import Connection, Pool

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """Open a pool."""
    pool = Pool(postgres_url)
    await pool.open()
    yield pool
    await pool.close()


def lose(connection: Connection) -> None:
    """Cut a connection, which the event loop reports to the driver in its next turn."""
    connection._con._transport.abort()  # type: ignore[attr-defined] # the socket of the driver


async def test_a_connection_that_ends_while_it_is_returned_is_returned_once(pool: Pool) -> None:
    """The server was killed at this moment: the driver takes the connection back by itself, and the
    next call gets another one.
    """
    assert pool._pool is not None
    for _ in range(3):
        async with pool.connection() as connection:
            first = connection.get_server_pid()
        lose(connection)
        await pool._return_free(pool._pool)
        async with pool.connection() as connection:
            assert connection.get_server_pid() != first


async def test_the_error_of_a_call_outlives_its_connection(pool: Pool) -> None:
    """The caller gets what it has raised, and not what the driver says of the connection."""

    async def fail() -> None:
        async with pool.connection() as connection:
            lose(connection)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await fail()
    assert await pool.fetch("SELECT 1 AS n") == [(1,)]


async def test_an_outage_is_described_in_words_of_this_project(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver's own text is about its states."""

    async def ask() -> None:
        async with pool.connection() as connection:
            connection.terminate()
            await connection.fetch("SELECT 1")

    with pytest.raises(
        StoreUnavailableError,
        match=r"unavailable \(a connection was lost\); check that the server runs",
    ):
        await ask()
    assert "(a connection was lost)" in caplog.messages[0]
