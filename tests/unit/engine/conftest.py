"""An event log for readers."""

from __future__ import annotations

import pytest
from unit.engine.fake_log import FakeEventLog


@pytest.fixture
def event_log() -> FakeEventLog:
    """An empty log."""
    return FakeEventLog()
