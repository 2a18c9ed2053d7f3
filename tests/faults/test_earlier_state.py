"""A database that falls back to an earlier state under running processes: no task ends with a hole,
and no reader waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.run import NOT_RESTARTABLE
from a2a_runtime.stores.models import NewTask, StoredTask
from a2a_runtime.testing.agent import (
    CALLER,
    FAST_SETTINGS,
    SURFACE,
    InProcessAgent,
    artifact_texts,
    build_user_message,
)

from .earlier_state import FallibleDatabase, FallibleFile, FallibleServer, LostAnswers
from .paused_agents import (
    Pause,
    Reader,
    Stream,
    check_whole,
    run,
    wait_for,
    wait_for_end,
    wait_until,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> FallibleDatabase:
    """A database of one process."""
    if request.param == "sqlite":
        return FallibleFile(tmp_path / "tasks.db")
    return FallibleServer(request.getfixturevalue("postgres_url"))


async def lose(database: FallibleDatabase, saved_at: Pause, lost_at: Pause) -> None:
    """Let the database lose what a run wrote between two pauses."""
    await saved_at.reached.wait()
    await database.save()
    saved_at.release()
    await lost_at.reached.wait()
    await database.fall_back()


# --- runs -----------------------------------------------------------------------------------------


async def test_a_shorter_log(database: FallibleDatabase) -> None:
    """The next event of the run has a number that the run has had."""
    stream = Stream(2, 3, 1)
    async with run(database, stream.skill()) as one:
        stored = await one.start("go")
        await lose(database, *stream.pauses)
        stream.pauses[1].release()
        await check_whole(one, stored, stream)


async def test_a_batch_that_grows_past_the_lost_numbers(database: FallibleDatabase) -> None:
    """Its last event has a new number, its first has an old one."""
    stream = Stream(2, 2, 5)
    async with run(database, stream.skill()) as one:
        stored = await one.start("go")
        await lose(database, *stream.pauses)
        stream.pauses[1].release()
        await check_whole(one, stored, stream)


async def test_an_end_after_a_loss(database: FallibleDatabase) -> None:
    """The run has nothing more to write but its end."""
    stream = Stream(2, 2, 0)
    async with run(database, stream.skill()) as one:
        stored = await one.start("go")
        await lose(database, *stream.pauses)
        stream.pauses[1].release()
        await check_whole(one, stored, stream)


@pytest.mark.parametrize("messages", [1, 2, 3])
async def test_messages_of_clients_take_the_lost_numbers(
    database: FallibleDatabase, messages: int
) -> None:
    """Fewer, as many, or more of them than events were lost."""
    stream = Stream(2, 2, 5)
    async with run(database, stream.skill(accepts_messages=True)) as one:
        stored = await one.start("go")
        await lose(database, *stream.pauses)
        for number in range(messages):
            await one.send_to_task(stored, f"message {number}")
        stream.pauses[1].release()
        await check_whole(one, stored, stream)
        history = (await one.engine.load(one.scope, stored.wire_id)).task.model.history or []
        assert [each.parts[0].text for each in history] == [
            "go",
            *(f"message {number}" for number in range(messages)),
        ]


async def test_a_skill_that_must_not_be_restarted(database: FallibleDatabase) -> None:
    """Its task fails, as after the death of its process."""
    stream = Stream(2, 2, 2)
    async with run(database, stream.skill(restartable=False)) as one:
        stored = await one.start("go")
        await lose(database, *stream.pauses)
        stream.pauses[1].release()
        task = await wait_for_end(one, stored)
        assert task.status.state.name == State.FAILED.name
        assert task.status.message is not None
        assert task.status.message.parts[0].text == NOT_RESTARTABLE
        assert stream.runs == 1


@pytest.mark.parametrize("messages", [0, 2])
@pytest.mark.parametrize("is_earlier", [True, False], ids=["two chunks before", "just before"])
async def test_a_commit_without_an_answer(
    database: FallibleDatabase, messages: int, *, is_earlier: bool
) -> None:
    """The change is lost, alone or with those before it; messages of clients may have come before
    it is repeated.
    """
    stream = Stream(2, 2, 1)
    async with run(database, stream.skill(accepts_messages=True)) as one:
        stored = await one.start("go")
        store = one.engine.store
        assert isinstance(store, LostAnswers)

        async def fall_back() -> None:
            await database.fall_back()
            for number in range(messages):
                await one.send_to_task(stored, f"message {number}")

        for number, pause in enumerate(stream.pauses):
            await pause.reached.wait()
            if is_earlier is (number == 0):
                await database.save()
            if number == 1:
                store.before_retry = fall_back
            pause.release()
        await check_whole(one, stored, stream)


async def test_an_end_that_was_lost(database: FallibleDatabase) -> None:
    """The task had ended and is working again, without a run."""
    stream = Stream(2, 1)
    async with run(database, stream.skill()) as one:
        stored = await one.start("go")
        await stream.pauses[0].reached.wait()
        await database.save()
        stream.pauses[0].release()
        await check_whole(one, stored, stream)
        await database.fall_back()
        await check_whole(one, stored, stream)
        assert stream.runs == 2


# --- runs that write nothing for a while ----------------------------------------------------------


async def test_a_chunk_that_is_refused_after_its_handler_has_gone_on(
    database: FallibleDatabase,
) -> None:
    """By then the handler waits for something else, for ever. It is stopped, and the task runs
    again.
    """
    pauses = Pause(), Pause()
    is_first = True

    async def rests(ctx: TaskContext) -> AsyncGenerator[str, None]:
        nonlocal is_first
        for number, pause in enumerate(pauses):
            yield f"{number}"
            await ctx.flush()
            await pause.wait()
        yield "2"
        if is_first:
            is_first = False
            await asyncio.Event().wait()

    async with run(database, rests) as one:
        store = one.engine.store
        assert isinstance(store, LostAnswers)
        stored = await one.start("go")
        await pauses[0].reached.wait()
        await database.save()
        pauses[0].release()
        await pauses[1].reached.wait()
        store.before_retry = database.fall_back
        pauses[1].release()
        assert artifact_texts(await wait_for_end(one, stored)) == {"result": ["0", "1", "2"]}


async def test_a_run_whose_beginning_is_refused(database: FallibleDatabase) -> None:
    """The process says that the task is working, while the handler waits for something else: the
    handler is stopped, and the task runs again.
    """
    is_recorded = asyncio.Event()

    async def rests(ctx: TaskContext) -> str:
        await ctx.once("saved", save)
        if not is_recorded.is_set():
            is_recorded.set()
            await asyncio.Event().wait()
        return "done"

    async def save() -> int:
        await database.save()
        return 1

    settings = replace(FAST_SETTINGS, working_delay=0.2, lease_renew_interval=0.5)
    async with run(database, rests, settings=settings) as one:
        stored = await one.start("go")
        await is_recorded.wait()
        await database.fall_back()
        assert artifact_texts(await wait_for_end(one, stored)) == {"result": ["done"]}


async def test_a_lost_question(database: FallibleDatabase) -> None:
    """It is asked again, and a reader who knows it gets the end."""
    pause = Pause()

    async def ask_once(ctx: TaskContext) -> str:
        await ctx.status("thinking")
        await pause.wait()
        return (await ctx.ask("Well?")).text

    async with run(database, ask_once) as one:
        stored = await one.start("go")
        await pause.reached.wait()
        await database.save()
        pause.release()
        question = await wait_for(one, stored, lambda now: now.state is State.INPUT_REQUIRED)
        reader = Reader(one, question, question.last_seq)
        await database.fall_back()
        await wait_for(
            one,
            stored,
            lambda now: now.state is not State.INPUT_REQUIRED or now.epoch > question.epoch,
        )
        question = await wait_for(one, stored, lambda now: now.state is State.INPUT_REQUIRED)
        await one.send_to_task(question, "yes")
        assert artifact_texts(await wait_for_end(one, stored)) == {"result": ["yes"]}
        await reader.check_end()


async def test_a_lost_answer(database: FallibleDatabase) -> None:
    """The task waits for it again; the run that has the lost answer does not end it, and the next
    answer is the one that counts.
    """
    pause = Pause()

    async def ask_once(ctx: TaskContext) -> str:
        answer = (await ctx.ask("Well?")).text
        await pause.wait()
        return answer

    async with run(database, ask_once) as one:
        stored = await one.start("go")
        question = await wait_for(one, stored, lambda now: now.state is State.INPUT_REQUIRED)
        await database.save()
        accepted = await one.send_to_task(question, "lost")
        reader = Reader(one, question, accepted.cursor)
        await pause.reached.wait()
        await database.fall_back()
        await one.send_to_task(question, "kept")
        pause.release()
        assert artifact_texts(await wait_for_end(one, stored)) == {"result": ["kept"]}
        await reader.check_end()


async def test_a_lost_push_configuration(database: FallibleDatabase) -> None:
    """It is gone, and the run goes on to its end."""
    stream = Stream(2, 2)
    async with run(database, stream.skill()) as one:
        stored = await one.start("go")
        await stream.pauses[0].reached.wait()
        await database.save()
        config = TaskPushNotificationConfig(
            task_id=stored.wire_id, id="p-1", url="https://hooks.example.org/a2a"
        )
        await one.engine.store.put_push_config(one.scope, stored.wire_id, config)
        await database.fall_back()
        stream.pauses[0].release()
        await check_whole(one, stored, stream)
        assert await one.engine.store.get_push_config(one.scope, stored.wire_id, "p-1") is None


async def test_a_lost_task(database: FallibleDatabase) -> None:
    """Its readers get an error at once, though the run writes nothing; the run ends, and others go
    on.
    """
    pause = Pause()

    async def waits(ctx: TaskContext) -> str:
        await ctx.status("waiting")
        await pause.wait()
        await ctx.status("over")
        return "done"

    async with run(database, waits) as one:
        await database.save()
        stored = await one.start("go")
        readers = [Reader(one, stored, 0), Reader(one, stored, 0, is_waiting=True)]
        await pause.reached.wait()
        await readers[0].wait_for(2)
        await database.fall_back()
        for reader in readers:
            with pytest.raises(TaskNotFoundError):
                await reader.task
        pause.release()
        await wait_until(lambda: not one.engine.runner.running_tasks)
        assert artifact_texts(await one.send("again")) == {"result": ["done"]}


async def test_a_lost_claim(postgres_url: str) -> None:
    """Another process claims the task with the same number; of the two runs, one writes the
    result.
    """
    database = FallibleServer(postgres_url)
    first = Stream(2, 2, 2, name="first ")
    second = Stream(2, 2, 2, name="second ")
    store = database.make_store()
    await store.open()
    new = NewTask("c-1", build_user_message("go"), "stream", CANONICAL.name)
    stored = (await store.create_task(CALLER.task_scope(SURFACE), new)).stored
    await database.save()
    await store.close()
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(run(database, first.skill()))
        await first.pauses[0].reached.wait()
        other = await stack.enter_async_context(run(database, second.skill()))
        await database.fall_back()
        await wait_until(lambda: second.pauses[0].reached.is_set() or first.runs == 2)
        first.pauses[0].release()
        await wait_until(
            lambda: first.pauses[1].reached.is_set() or not one.engine.runner.running_tasks
        )
        for pause in (*second.pauses, first.pauses[1]):
            pause.release()
        task = await wait_for_end(other, stored)
        assert artifact_texts(task)["result"] in (first.result, second.result)


# --- readers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("later", [2, 40], ids=["stays shorter", "grows past"])
@pytest.mark.parametrize("is_waiting", [False, True], ids=["stream", "call"])
async def test_a_reader_beyond_the_log(
    database: FallibleDatabase, later: int, *, is_waiting: bool
) -> None:
    """It gets the end with everything before it, or an error after which it begins anew; it never
    waits for ever.
    """
    stream = Stream(2, 20, 1, later=(later,))
    async with run(database, stream.skill()) as one:
        stored = await one.start("go")
        await check_reader(database, (one, one), stored, stream, is_waiting=is_waiting)


@pytest.mark.parametrize("later", [2, 40], ids=["stays shorter", "grows past"])
@pytest.mark.parametrize("is_waiting", [False, True], ids=["stream", "call"])
async def test_a_reader_of_another_process(
    postgres_url: str, later: int, *, is_waiting: bool
) -> None:
    """The same, where the reader knows nothing of the run."""
    database = FallibleServer(postgres_url)
    stream = Stream(2, 20, 1, later=(later,))
    async with run(database, stream.skill()) as other, run(database, stream.skill()) as one:
        stored = await one.start("go")
        await check_reader(database, (one, other), stored, stream, is_waiting=is_waiting)


async def check_reader(
    database: FallibleDatabase,
    processes: tuple[InProcessAgent, InProcessAgent],
    stored: StoredTask,
    stream: Stream,
    *,
    is_waiting: bool,
) -> None:
    """Let the log fall back below what a reader in the second process has read, and see what it
    gets.
    """
    one, other = processes
    reader = None if is_waiting else Reader(other, stored, 0)
    await stream.pauses[0].reached.wait()
    await database.save()
    stream.pauses[0].release()
    await stream.pauses[1].reached.wait()
    last_seq = (await one.engine.load(one.scope, stored.wire_id)).last_seq
    reader = reader or Reader(other, stored, last_seq, is_waiting=True)
    if not is_waiting:
        await reader.wait_for(last_seq)
    await database.fall_back()
    stream.pauses[1].release()
    await check_whole(one, stored, stream)
    if await reader.check_end() and not is_waiting:
        assert reader.assemble() == stream.result
