"""Asynchronous tests run on asyncio."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"
