"""Fixtures of the execution tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as the runtime does."""
    return "asyncio"
