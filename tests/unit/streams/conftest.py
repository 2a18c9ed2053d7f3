"""What the tests of streams share."""

from __future__ import annotations

import pytest
from unit.streams.journal import FakeEventLog


@pytest.fixture
def journal() -> FakeEventLog:
    """An empty log."""
    return FakeEventLog()


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as the runtime does."""
    return "asyncio"
