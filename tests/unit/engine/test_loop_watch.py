"""The watch of the event loop: what it reports, and what it does not."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from a2a_runtime.engine.loop_watch import LoopWatch
from a2a_runtime.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

BLOCKED_SECONDS = 0.04


@pytest.fixture
def slow_module(tmp_path: Path) -> Iterator[str]:
    """A module whose import takes several times as long."""
    name = "slow_to_import"
    (tmp_path / f"{name}.py").write_text(
        f"import time\ntime.sleep({BLOCKED_SECONDS * 5})\n", encoding="utf-8"
    )
    sys.path.insert(0, str(tmp_path))
    yield name
    sys.path.remove(str(tmp_path))
    sys.modules.pop(name, None)


async def test_a_start_that_imports_is_no_blocked_loop(
    slow_module: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An import of the app ends by itself; what blocks the loop otherwise is reported."""
    watch = LoopWatch(MemoryStore(), "p-1", BLOCKED_SECONDS)
    watch.start()
    try:
        importlib.import_module(slow_module)
        assert caplog.messages == []
        while not caplog.messages:
            await asyncio.sleep(BLOCKED_SECONDS)  # the loop answers
            time.sleep(BLOCKED_SECONDS * 3)  # noqa: ASYNC251 - on purpose
    finally:
        watch.stop()
    assert "event loop blocked" in caplog.messages[0]
