"""Chunks that a handler writes without waiting for each commit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import StoreUnavailableError
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import ChangeResult, LoggedEvent, TaskChange
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, InProcessAgent, artifact_texts, run_agent

pytestmark = pytest.mark.anyio


async def count_up(ctx: TaskContext) -> AsyncGenerator[object, None]:
    """Yield numbers, as many as the message says."""
    for number in range(int(ctx.text)):
        yield str(number)


async def list_events(agent: InProcessAgent, text: str) -> list[str]:
    """List the texts of the chunks of a task, and its states, in the order of its events."""
    stored = await agent.start(text)
    found: list[str] = []
    for event in await agent.collect_events(stored):
        body = json.loads(event.body)
        if "artifactUpdate" in body:
            found.append(body["artifactUpdate"]["artifact"]["parts"][0]["text"])
        elif "statusUpdate" in body:
            status = body["statusUpdate"]["status"]
            found.append(
                status.get("message", {}).get("parts", [{}])[0].get("text", status["state"])
            )
    return found


async def test_each_chunk_is_an_event_of_its_own(store: Store) -> None:
    """In the order in which they were yielded, also when many share a commit."""
    async with run_agent(count_up, store=store) as one, asyncio.timeout(60):
        numbers = [str(number) for number in range(150)]
        assert await list_events(one, "150") == [
            "TASK_STATE_WORKING",
            *numbers,
            "TASK_STATE_COMPLETED",
        ]
        assert artifact_texts(await one.send("150")) == {"result": numbers}


async def test_a_value_that_is_yielded_again_is_written_as_it_was(store: Store) -> None:
    """A handler may change what it has yielded: a chunk has the members of its moment."""

    async def reuse(_ctx: TaskContext) -> AsyncGenerator[object, None]:
        value: dict[str, list[int]] = {"seen": []}
        for number in range(3):
            value["seen"].append(number)
            yield value

    async with run_agent(reuse, store=store) as one, asyncio.timeout(60):
        task = await one.send("go")
        assert [part.data for part in (task.artifacts or [])[0].parts] == [
            {"seen": [0]},
            {"seen": [0, 1]},
            {"seen": [0, 1, 2]},
        ]


async def test_other_writes_wait_for_the_chunks_before_them(store: Store) -> None:
    """A status, a result of ``once`` and a question come after the chunks before them."""

    async def talk(ctx: TaskContext) -> AsyncGenerator[object, None]:
        yield "a"
        yield "b"
        await ctx.status("half")
        yield "c"
        await ctx.once("key", lambda: asyncio.sleep(0))
        stored = await ctx.history()
        assert stored
        yield "d"
        await ctx.ask("go on?")
        yield "e"

    async with run_agent(talk, store=store) as one, asyncio.timeout(60):
        task = await one.send("go")
        assert artifact_texts(task) == {"result": ["a", "b", "c", "d"]}
        done = await one.answer(task, "yes")
        assert artifact_texts(done) == {"result": ["a", "b", "c", "d", "e"]}
        events = [json.loads(event.body) for event in await one.collect_events(done)]
        chunks = [
            each["artifactUpdate"]["artifact"]["parts"][0]["text"]
            for each in events
            if "artifactUpdate" in each
        ]
        assert chunks == ["a", "b", "c", "d", "a", "b", "c", "d", "e"]


async def test_a_flushed_chunk_is_stored(store: Store) -> None:
    """Every reader of the task then has it."""
    seen: list[object] = []

    async def report(ctx: TaskContext) -> None:
        async with ctx.artifact("log") as written:
            await written.text("one")
            await written.text("two")
            await ctx.flush()
            loaded = await store.load_task(ctx.scope, ctx.task_id)
            assert loaded is not None
            seen.append(artifact_texts(loaded.task.model))

    async with run_agent(report, store=store) as one, asyncio.timeout(60):
        await one.send("go")
    assert seen == [{"log": ["one", "two"]}]


async def test_a_canceled_run_keeps_what_it_has_written(store: Store) -> None:
    """The chunks before the cancellation are stored before the end."""
    is_waiting = asyncio.Event()

    async def never_end(_ctx: TaskContext) -> AsyncGenerator[object, None]:
        yield "a"
        yield "b"
        is_waiting.set()
        await asyncio.Event().wait()

    async with run_agent(never_end, store=store) as one, asyncio.timeout(60):
        stored = await one.start("go")
        await is_waiting.wait()
        canceled = await one.engine.cancel(one.scope, stored.wire_id)
        assert canceled.state is State.CANCELED
        assert artifact_texts(canceled.task.model) == {"result": ["a", "b"]}


async def test_a_handler_that_never_waits_gives_way_to_others(tmp_path: Path) -> None:
    """Another task of the event loop gets its turn many times meanwhile, on a store in memory and
    on one that outlives its process.
    """
    for store in (MemoryStore(), SqliteStore(tmp_path / "tasks.db")):
        turns: list[int] = []

        async def run_beside(one: InProcessAgent, turns: list[int]) -> None:
            stored = await one.start("2000")
            while one.engine.runner.running_tasks:
                turns.append(one.engine.runner.last_seq(stored.key) or 0)
                await asyncio.sleep(0)

        async with run_agent(count_up, store=store) as one, asyncio.timeout(60):
            await run_beside(one, turns)
        assert len(set(turns)) > 10


async def test_a_handler_of_large_chunks_gives_way_sooner() -> None:
    """In memory, where no commit makes it wait, after a quarter of a megabyte."""
    yielded: list[int] = []
    seen_by_others: list[int] = []

    async def hurry(_ctx: TaskContext) -> AsyncGenerator[object, None]:
        for number in range(50):
            yielded.append(number)
            yield "x" * 100_000

    async def take_turns() -> None:
        while True:
            seen_by_others.append(len(yielded))
            await asyncio.sleep(0)

    async with run_agent(hurry) as one, asyncio.timeout(60):
        other = asyncio.create_task(take_turns())
        await one.send("go")
        other.cancel()
    assert max(after - before for before, after in pairwise(seen_by_others)) <= 3


class AwayStore(SqliteStore):
    """Store that goes away right after a commit, whose answer is lost, and comes back after some
    attempts.
    """

    attempts_left = 0
    has_left: asyncio.Event | None = None

    async def update_task(self, scope: TaskScope, key: str, change: TaskChange) -> ChangeResult:
        """Change a task, or be away."""
        self._check()
        result = await super().update_task(scope, key, change)
        if self.has_left is not None and not self.has_left.is_set() and result.events:
            self.has_left.set()
            self._check()
        return result

    async def read_events(
        self, key: str, after: int, limit: int = 1000, *, mark: int = 0
    ) -> Sequence[LoggedEvent]:
        """Read events, or be away."""
        self._check()
        return await super().read_events(key, after, limit, mark=mark)

    def leave(self, attempts: int) -> asyncio.Event:
        """Go away with the next commit; return the event of that moment."""
        self.has_left = asyncio.Event()
        self.attempts_left = attempts
        return self.has_left

    def _check(self) -> None:
        if self.attempts_left and self.has_left is not None and self.has_left.is_set():
            self.attempts_left -= 1
            raise StoreUnavailableError("away")


_SHORT_RETRIES = EngineOptions(settings=replace(FAST_SETTINGS, store_retry_timeout=0.1))


@pytest.mark.parametrize("attempts", range(1, 8))
async def test_chunks_are_written_once_after_an_outage(tmp_path: Path, attempts: int) -> None:
    """Also where the store is away for longer than writes are retried, and has committed chunks
    without saying so.
    """
    store = AwayStore(tmp_path / "tasks.db")

    async def stream(ctx: TaskContext) -> AsyncGenerator[str, None]:
        yield "a"
        await ctx.flush()
        has_left = store.leave(attempts)
        yield "b"
        await has_left.wait()
        yield "c"

    async with run_agent(stream, store=store, options=_SHORT_RETRIES) as one, asyncio.timeout(60):
        assert await list_events(one, "go") == [
            "TASK_STATE_WORKING",
            "a",
            "b",
            "c",
            "TASK_STATE_COMPLETED",
        ]
        assert artifact_texts(await one.send("go")) == {"result": ["a", "b", "c"]}


@pytest.mark.parametrize("attempts", range(1, 8))
async def test_a_write_is_not_taken_for_the_one_before_it(tmp_path: Path, attempts: int) -> None:
    """A handler that goes on without an answer to its status writes another one, which is in the
    log too.
    """
    store = AwayStore(tmp_path / "tasks.db")

    async def report(ctx: TaskContext) -> None:
        await ctx.status("a")
        store.leave(attempts)
        for text in ("b", "c", "d"):
            with suppress(StoreUnavailableError, TimeoutError):
                async with asyncio.timeout(0.02):
                    await ctx.status(text)
        store.attempts_left = 0
        await ctx.status("e")

    async with run_agent(report, store=store, options=_SHORT_RETRIES) as one, asyncio.timeout(60):
        found = await list_events(one, "go")
        assert (found[:2], found[-2:]) == (["a", "b"], ["e", "TASK_STATE_COMPLETED"])
        assert len({*found}) == len(found)
