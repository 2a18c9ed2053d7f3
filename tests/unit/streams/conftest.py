"""What the tests of streams share."""

from __future__ import annotations

import pytest
from unit.streams.journal import Journal


@pytest.fixture
def journal() -> Journal:
    """An empty log."""
    return Journal()


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as the runtime does."""
    return "asyncio"
