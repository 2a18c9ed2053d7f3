"""What the fault tests share: asyncio, as the runtime has it, and databases on a real PostgreSQL."""

import pytest

from a2a_runtime.testing.postgres import postgres_databases, postgres_url


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


__all__ = ["anyio_backend", "postgres_databases", "postgres_url"]
