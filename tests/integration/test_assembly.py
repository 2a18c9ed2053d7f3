"""What runs behind the surfaces of a process, put together from settings."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from integration.serving import busy_agent

from a2a_runtime.assembly import Assembly
from a2a_runtime.clock import SystemClock
from a2a_runtime.surface import Surface
from a2a_runtime.testing.agent import QUICK

pytestmark = pytest.mark.anyio

DAY = 86_400


async def test_a_process_has_the_lease_that_is_set(tmp_path: Path) -> None:
    """The store that is named by its address takes the process for alive as long as the settings say."""
    file = tmp_path / "tasks.db"
    async with Assembly([Surface(busy_agent())], f"sqlite:///{file}", replace(QUICK, lease=2 * DAY)):
        with closing(sqlite3.connect(file)) as db:
            ((until,),) = db.execute("SELECT expires_at FROM processes")
    assert until > SystemClock().millis() + DAY * 1000
