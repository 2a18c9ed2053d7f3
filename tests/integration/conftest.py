"""Fixtures of the integration tests: asyncio as the backend, and a pool of connections."""

from collections.abc import AsyncIterator

import pytest

from a2a_runtime.stores.postgres.pool import Pool


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """A pool of connections to a database of its own."""
    pool = Pool(postgres_url)
    await pool.open()
    yield pool
    await pool.close()
