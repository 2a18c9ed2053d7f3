"""Following a task through the whole engine: snapshot or cursor, slow or late, to the one event
that ends it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.service import Event
from a2a_runtime.base.caller import TaskScope
from a2a_runtime.base.lifecycle import SETTLED
from a2a_runtime.engine.engine import EngineOptions, to_stream_response
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.errors import TaskTerminalError
from a2a_runtime.service.tasks import parse_cursor
from a2a_runtime.stores.base import Store, StoreOptions
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import FAST_SETTINGS, run_agent

from .conftest import RunAgent

pytestmark = pytest.mark.anyio


async def burst(ctx: TaskContext):  # noqa: ANN201 - what a user may leave out
    """Stream as many chunks as asked for, as fast as they go."""
    for number in range(int(ctx.text)):
        yield str(number)


async def ask_once(ctx: TaskContext) -> str:
    """Ask."""
    return (await ctx.ask("Well?")).text


@pytest.mark.slow
async def test_a_slow_reader_behind_a_burst_gets_everything() -> None:
    """1,000 events are written as fast as they go; a reader that needs 2 ms for each receives all
    of them, and the one that ends the task.
    """
    async with run_agent(burst) as one, asyncio.timeout(60):
        stored = await one.start("1000")
        seen = []
        async with aclosing(await one.engine.follow(one.scope, stored.wire_id, 0)) as events:
            async for event in events:
                seen.append((event.seq, event.state))
                await asyncio.sleep(0.002)
        assert [seq for seq, _ in seen] == list(range(1, 1004))
        assert [state for _, state in seen if state is State.COMPLETED] == [State.COMPLETED]


async def test_readers_join_while_a_handler_streams(run: RunAgent) -> None:
    """Readers with a snapshot, with a cursor, and after a disconnect get the same events."""

    async def stream_slowly(_ctx: TaskContext):  # noqa: ANN202 - as above
        for number in range(60):
            yield str(number)
            await asyncio.sleep(0.002)

    async with run(stream_slowly) as one, asyncio.timeout(30):
        stored = await one.start("go")

        async def read(cursor: int | None, *, leaves_after: int = 10_000) -> list[int]:
            seen = []
            async with aclosing(
                await one.engine.follow(one.scope, stored.wire_id, cursor)
            ) as events:
                async for event in events:
                    seen.append(event.seq)
                    if len(seen) >= leaves_after:
                        return seen + await read(event.seq)
            return seen

        readers = []
        for number in range(30):
            readers.append(
                asyncio.create_task(
                    read((None, 0, 1)[number % 3], leaves_after=(10_000, 5)[number % 2])
                )
            )
            await asyncio.sleep(0.003)
        last = (await one.engine.wait(stored, 1, frozenset({State.COMPLETED}))).seq
        for reader in readers:
            seen = await reader
            assert seen == list(range(seen[0], last + 1))
        assert len(one.engine.hub._buffers) == 0


async def test_a_cursor_selects_the_events_after_it(run: RunAgent) -> None:
    """A cursor gives the rest, of a finished task too; one beyond the end is an error, and so is a
    snapshot of what has ended.
    """
    async with run(burst) as one, asyncio.timeout(30):
        task = await one.send("3")
        seqs = [event.seq for event in await one.collect_events(task)]
        assert [event.seq for event in await one.collect_events(task, 3)] == seqs[3:]
        assert await one.collect_events(task, len(seqs)) == []
        with pytest.raises(InvalidParamsError, match="6 events"):
            await one.collect_events(task, len(seqs) + 1)
        with pytest.raises(TaskTerminalError):
            await one.engine.follow(one.scope, task.id)
        with pytest.raises(TaskNotFoundError):
            await one.engine.follow(TaskScope("/agent", "acme", "eve"), task.id, 0)


async def test_a_stream_may_end_where_the_task_waits(run: RunAgent) -> None:
    """A dialect chooses whether a question ends the stream; if it does not, the stream goes on with
    what comes of the answer.
    """
    async with run(ask_once) as one, asyncio.timeout(30):
        task = await one.send("hi")
        async with aclosing(await one.engine.follow(one.scope, task.id, 0, SETTLED)) as events:
            assert [event.state async for event in events][-1] is State.INPUT_REQUIRED
        async with aclosing(await one.engine.follow(one.scope, task.id, None, SETTLED)) as events:
            assert [event.state async for event in events] == [State.INPUT_REQUIRED]
        async with aclosing(await one.engine.follow(one.scope, task.id)) as events:
            first = await anext(events)
            assert to_stream_response(first).model.task.status.message.parts[0].text == "Well?"
            await one.send_to_task(task, "ok")
            assert [event.state async for event in events][-1] is State.COMPLETED


async def test_a_deleted_log_is_replaced_by_a_snapshot() -> None:
    """If the events after a cursor are deleted, the reader gets the finished task, which ends the
    stream.
    """
    store = MemoryStore(StoreOptions(max_finished_logs=1))
    async with run_agent(burst, store=store) as one, asyncio.timeout(30):
        first = await one.send("3")
        _ = await one.send("3")
        (event,) = await one.collect_events(first, 2)
        assert event.state is State.COMPLETED
        assert len(to_stream_response(event).model.task.artifacts[0].parts) == 3


@pytest.mark.parametrize("ahead", [0, 7], ids=["another event", "beyond the log"])
async def test_a_client_that_resumes_after_a_lost_event_gets_the_task(
    tmp_path: Path, ahead: int
) -> None:
    """The number of its last event belongs to another event now, or to none: the mark in its cursor
    shows it.
    """
    async with run_agent(Skill("asks", ask_once), store=SqliteStore(tmp_path / "tasks.db")) as one:
        started = await one.start("x")
        last = await one.wait_for_state(started, State.INPUT_REQUIRED)
        known = Event(last.seq, to_stream_response(last), last.mark).cursor
        assert parse_cursor(known) == (last.seq, last.mark)
        kept = await one.engine.follow(
            one.scope, started.wire_id, last.seq, SETTLED, mark=last.mark
        )
        lost = await one.engine.follow(
            one.scope, started.wire_id, last.seq + ahead, SETTLED, mark=last.mark + 1
        )
        async with asyncio.timeout(10), aclosing(kept), aclosing(lost):
            assert (await anext(lost)).body.startswith(b'{"task":')
            await one.send_to_task(started, "yes")
            assert (await anext(kept)).seq == last.seq + 1


async def test_a_deleted_task_ends_its_streams_with_an_error(store: Store) -> None:
    """Readers of a deleted task get an error soon."""

    async def waits(_ctx: TaskContext) -> None:
        await asyncio.sleep(1000)

    async with (
        run_agent(
            waits,
            store=store,
            options=EngineOptions(settings=replace(FAST_SETTINGS, working_delay=1)),
        ) as one,
        asyncio.timeout(30),
    ):
        one.engine.hub._poll_interval_seconds = 0.05
        stored = await one.start("hi")
        reader = asyncio.create_task(one.collect_events(stored, 1))
        await asyncio.sleep(0.05)
        assert await store.delete_task(one.scope, stored.wire_id)
        with pytest.raises(TaskNotFoundError):
            await reader
