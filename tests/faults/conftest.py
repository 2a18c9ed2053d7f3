"""Fixtures of the fault tests: asyncio as the backend."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"
