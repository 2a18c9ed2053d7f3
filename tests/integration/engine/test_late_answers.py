"""Answers of a store that come late, or not at all, at the moments at which a run begins, ends or
is suspended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.models import ChangeResult, CreateResult, NewTask, StoredTask, TaskChange
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, run_agent

pytestmark = pytest.mark.anyio


class LateStore(SqliteStore):
    """A store whose answers wait for an event, or are lost."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.comparisons: asyncio.Queue[None] = asyncio.Queue()

    creations: asyncio.Event | None = None
    batches: asyncio.Event | None = None
    has_suspended = False
    is_away_after_suspension = False

    async def create_task(self, scope: TaskScope, new: NewTask) -> CreateResult:
        """Create a task, and answer late."""
        created = await super().create_task(scope, new)
        if self.creations is not None:
            await self.creations.wait()
        return created

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Apply a change; batches of chunks wait."""
        if self.batches is not None and change.is_batch:
            await self.batches.wait()
        result = await super().update_task(scope, key, change)
        self.has_suspended = self.has_suspended or change.state is State.INPUT_REQUIRED
        return result

    async def load_task(
        self,
        scope: TaskScope,
        wire_id: str,
        history_length: int | None = None,
        *,
        include_artifacts: bool = True,
    ) -> StoredTask | None:
        """Load a task, unless the store is away."""
        if self.has_suspended and self.is_away_after_suspension:
            self.is_away_after_suspension = False
            raise StoreUnavailableError("away for a moment")
        return await super().load_task(
            scope, wire_id, history_length, include_artifacts=include_artifacts
        )

    async def release_claims(self, process: str, keys: Collection[str]) -> None:
        """Count the comparisons of claims."""
        await super().release_claims(process, keys)
        self.comparisons.put_nowait(None)


async def test_a_creation_that_is_answered_late_runs_once(tmp_path: Path) -> None:
    """The store shows the task as claimed long before its run is here: it is no claim to be
    released.
    """
    store = LateStore(tmp_path / "tasks.db")
    store.creations = asyncio.Event()
    runs: list[int] = []

    async def work(ctx: TaskContext) -> str:
        runs.append(ctx.attempt)
        await ctx.status("working")
        return "done"

    settings = replace(FAST_SETTINGS, lease_renew_interval=0.05, orphan_scan_interval=0.05)
    async with (
        asyncio.timeout(30),
        run_agent(work, store=store, options=EngineOptions(settings=settings)) as one,
    ):
        starting = asyncio.ensure_future(one.start("x"))
        for _ in range(5):
            await store.comparisons.get()
        store.creations.set()
        task = await one.wait_terminal(await starting)
        assert (task.status.state, runs) == (State.COMPLETED, [1])


async def test_a_stop_while_chunks_wait_completes_nothing(tmp_path: Path) -> None:
    """The handler has returned, and its last chunks wait for the store; the task runs again and is
    whole.
    """
    path = tmp_path / "tasks.db"
    store = LateStore(path)
    store.batches = asyncio.Event()

    async def work(ctx: TaskContext) -> str:
        async with ctx.artifact("log") as log:
            for each in range(2):
                await log.text(f"{each};")
        return "done"

    settings = replace(FAST_SETTINGS, shutdown_grace=0.05, cancel_grace=0.05)
    async with asyncio.timeout(30):
        async with run_agent(work, store=store, options=EngineOptions(settings=settings)) as one:
            stored = await one.start("x")
            await asyncio.sleep(0.05)
        async with run_agent(
            work, store=SqliteStore(path), options=EngineOptions(settings=settings)
        ) as one:
            task = await one.wait_terminal(stored)
            assert (task.status.state, artifact_texts(task)["log"]) == (
                State.COMPLETED,
                ["0;", "1;"],
            )
            assert (await one.engine.load(one.scope, stored.wire_id)).epoch == 2


@pytest.mark.parametrize("after", ["there", "away"])
async def test_a_cancellation_that_meets_a_question_ends_the_task(
    tmp_path: Path, after: str
) -> None:
    """Another process has accepted it while the handler was about to ask; the store may be away
    when the run looks.
    """
    store = LateStore(tmp_path / "tasks.db")
    store.is_away_after_suspension = after == "away"
    is_working = asyncio.Event()
    go = asyncio.Event()

    async def work(ctx: TaskContext) -> str:
        await ctx.status("working")
        is_working.set()
        await go.wait()
        return (await ctx.ask("go on?")).text

    settings = replace(
        FAST_SETTINGS, lease_renew_interval=10, lease_duration=30, orphan_scan_interval=0.05
    )
    async with (
        asyncio.timeout(30),
        run_agent(work, store=store, options=EngineOptions(settings=settings)) as one,
    ):
        stored = await one.start("x")
        await is_working.wait()
        await store.request_cancel(one.scope, stored.wire_id)
        go.set()
        assert (
            await one.engine.wait(stored, 1, frozenset({State.CANCELED}))
        ).state is State.CANCELED


async def test_a_cancellation_whose_caller_is_gone_ends_a_question(tmp_path: Path) -> None:
    """The process that took it died before it ended the task."""
    store = LateStore(tmp_path / "tasks.db")

    async def work(ctx: TaskContext) -> str:
        return (await ctx.ask("go on?")).text

    settings = replace(FAST_SETTINGS, orphan_scan_interval=0.05)
    async with (
        asyncio.timeout(30),
        run_agent(work, store=store, options=EngineOptions(settings=settings)) as one,
    ):
        stored = await one.start("x")
        await one.engine.wait(stored, 1)
        await store.request_cancel(one.scope, stored.wire_id)
        assert (
            await one.engine.wait(stored, 1, frozenset({State.CANCELED}))
        ).state is State.CANCELED
