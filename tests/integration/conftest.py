"""Fixtures of the integration tests: asyncio as the backend, every store, and a pool of
connections.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from a2a_runtime.features.postgres import PostgresStore
from a2a_runtime.features.postgres.pool import Pool
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store that the test opens and closes, or its engine or app."""
    match request.param:
        case "memory":
            return MemoryStore()
        case "sqlite":
            return SqliteStore(tmp_path / "tasks.db")
        case _:
            return PostgresStore(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """A pool of connections to a database of its own."""
    pool = Pool(postgres_url)
    await pool.open()
    yield pool
    await pool.close()
