"""Fixtures of the stream tests."""

from __future__ import annotations

import pytest
from unit.streams.fake_log import FakeEventLog


@pytest.fixture
def event_log() -> FakeEventLog:
    """An empty log."""
    return FakeEventLog()


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as the runtime does."""
    return "asyncio"
