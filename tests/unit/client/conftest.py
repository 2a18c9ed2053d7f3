"""Fixtures of the client tests."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"
