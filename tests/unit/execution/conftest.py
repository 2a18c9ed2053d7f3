"""What the tests of execution share."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as the runtime does."""
    return "asyncio"
