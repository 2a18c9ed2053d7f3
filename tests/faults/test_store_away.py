"""Stores that are away for longer than writes are retried: tasks are handed over, requests refused,
and each outage is two lines of the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.features.postgres import PostgresStore, upgrade
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, run_agent
from a2a_runtime.testing.embedded_postgres import PostgresServer

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LEASE_SECONDS = 1.0
AWAY_SECONDS = 1.5
SETTINGS = replace(FAST_SETTINGS, store_retry_timeout=AWAY_SECONDS / 3)


class Outage:
    """A store that can be taken away and given back."""

    def __init__(
        self, store: Store, server: PostgresServer | None = None, path: Path | None = None
    ) -> None:
        self.store = store
        self._server = server
        self._path = path

    async def begin(self) -> None:
        """Kill the server, or move the file away."""
        if self._server is not None:
            self._server.kill()
        else:
            for path in self._list_files():
                path.rename(path.with_name(f"away-{path.name}"))

    async def end(self) -> None:
        """Start the server again, or move the file back."""
        if self._server is not None:
            await asyncio.to_thread(self._server.restart)
        else:
            for path in self._list_files():
                path.rename(path.with_name(path.name.removeprefix("away-")))

    def _list_files(self) -> list[Path]:
        assert self._path is not None
        return [path for path in self._path.parent.iterdir() if not path.name.endswith(".lock")]


@pytest.fixture(params=["sqlite", "postgres"])
def outage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Outage]:
    """A store of one process."""
    options = StoreOptions(lease_seconds=LEASE_SECONDS)
    if request.param == "sqlite":
        yield Outage(SqliteStore(tmp_path / "tasks.db", options), path=tmp_path / "tasks.db")
        return
    with PostgresServer() as server:
        asyncio.run(upgrade(server.url))
        yield Outage(PostgresStore(server.url, options), server)


async def test_tasks_outlast_an_outage(outage: Outage, caplog: pytest.LogCaptureFixture) -> None:
    """A task that runs meanwhile is handed over and runs again.

    Requests are refused, and served again afterwards.
    """
    caplog.set_level(logging.INFO)
    attempts: list[int] = []
    has_begun = asyncio.Event()
    may_go_on = asyncio.Event()

    async def works(ctx: TaskContext) -> str:
        attempts.append(ctx.attempt)
        has_begun.set()
        await may_go_on.wait()
        await ctx.status("half")
        return f"attempt {ctx.attempt}"

    async with (
        run_agent(works, store=outage.store, options=EngineOptions(settings=SETTINGS)) as one,
        asyncio.timeout(60),
    ):
        stored = await one.start("go")
        await has_begun.wait()
        await outage.begin()
        may_go_on.set()
        with pytest.raises(StoreUnavailableError):
            await one.start("refused")
        await asyncio.sleep(AWAY_SECONDS)
        await outage.end()
        task = await one.wait_terminal(stored)
        assert (task.status.state.name, artifact_texts(task)) == (
            State.COMPLETED.name,
            {"result": ["attempt 2"]},
        )
        assert attempts == [1, 2]
        assert artifact_texts(await one.send("again"))["result"]
    lines = [
        record.message
        for record in caplog.records
        if record.levelno >= logging.WARNING and "store" in record.message
    ]
    assert len(lines) <= 4, lines
    assert not [record for record in caplog.records if record.exc_info], lines


async def test_a_stream_outlasts_an_outage(outage: Outage) -> None:
    """Chunks that the store has not taken are an error of the next call; the handler runs again,
    and the artifact has each chunk once.
    """
    attempts: list[int] = []
    has_begun = asyncio.Event()
    may_go_on = asyncio.Event()

    async def stream(ctx: TaskContext) -> AsyncGenerator[str, None]:
        attempts.append(ctx.attempt)
        yield "a"
        await ctx.flush()
        has_begun.set()
        await may_go_on.wait()
        yield "b"
        for _ in range(3):
            yield "c"

    async with (
        run_agent(stream, store=outage.store, options=EngineOptions(settings=SETTINGS)) as one,
        asyncio.timeout(60),
    ):
        stored = await one.start("go")
        await has_begun.wait()
        await outage.begin()
        may_go_on.set()
        await asyncio.sleep(AWAY_SECONDS)
        await outage.end()
        task = await one.wait_terminal(stored)
        assert (task.status.state.name, artifact_texts(task)) == (
            State.COMPLETED.name,
            {"result": ["a", "b", "c", "c", "c"]},
        )
        events = await one.collect_events(stored)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
