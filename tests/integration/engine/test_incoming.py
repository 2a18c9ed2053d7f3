"""Messages to a running task."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from integration.engine.conftest import MakeStore

from a2a_contract.errors import UnsupportedOperationError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import Message
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.engine.handlers.questions import mark_question
from a2a_runtime.engine.handlers.skill import Skill
from a2a_runtime.engine.incoming import find_incoming
from a2a_runtime.errors import TaskNotAcceptingMessagesError
from a2a_runtime.features.postgres import PostgresNotifier, PostgresStore
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.models import IdempotencyKey
from a2a_runtime.testing.agent import FAST_SETTINGS, artifact_texts, build_user_message, run_agent
from a2a_runtime.testing.notifiers import UnreliableNotifier

pytestmark = pytest.mark.anyio


def text_of(message: Message) -> str:
    """Return the text of a message."""
    return message.parts[0].text or ""


async def collect(ctx: TaskContext) -> str:
    """Collect messages up to ``end``; ask in between, when a message says so."""
    texts = list[str]()
    async for message in ctx.incoming():
        text = text_of(message)
        if text == "end":
            break
        texts.append(text if text != "ask" else (await ctx.ask("Well?")).text)
    return f"run {ctx.attempt}: {' '.join(texts)}"


COLLECT = Skill("collect", collect, accepts_messages=True)


async def test_a_handler_gets_messages_as_they_arrive(store: Store) -> None:
    """In their order, each once, also those that arrived before the handler looked; the request is
    none of them.
    """
    async with run_agent(COLLECT, store=store) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        for text in ("one", "two", "two", "end"):
            await one.send_to_task(stored, text)
        task = await one.wait_terminal(stored)
        assert artifact_texts(task) == {"result": ["run 1: one two two"]}
        assert [text_of(each) for each in task.history or ()] == ["hi", "one", "two", "two", "end"]


async def test_a_later_run_gets_the_messages_again(store: Store) -> None:
    """The answer to a question is no such message, and the messages before it come again in their
    order.
    """
    async with run_agent(COLLECT, store=store) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        for text in ("one", "ask"):
            await one.send_to_task(stored, text)
        await one.wait_for_state(stored, State.INPUT_REQUIRED)
        await one.send_to_task(stored, "the answer")
        for text in ("three", "end"):
            await one.send_to_task(stored, text)
        assert artifact_texts(await one.wait_terminal(stored)) == {
            "result": ["run 2: one the answer three"]
        }


@pytest.mark.parametrize("make_store", ["sqlite", "postgres"], indirect=True)
async def test_messages_survive_the_process(make_store: MakeStore) -> None:
    """The next process runs the handler again with all messages, also those that the first run had
    taken.
    """
    async with run_agent(COLLECT, store=make_store()) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.send_to_task(stored, "one")
        await one.wait_for_state(stored, State.WORKING)
    async with run_agent(COLLECT, store=make_store()) as other, asyncio.timeout(30):
        for text in ("two", "end"):
            await other.send_to_task(stored, text)
        assert artifact_texts(await other.wait_terminal(stored)) == {"result": ["run 2: one two"]}


@pytest.mark.parametrize("is_lossy", [False, True], ids=["notified", "every notification lost"])
async def test_messages_reach_the_process_that_runs_the_task(
    postgres_url: str, *, is_lossy: bool
) -> None:
    """A process that does not run the task accepts messages for it; a lost notification only delays
    them.
    """
    async with AsyncExitStack() as stack, asyncio.timeout(30):
        one, other = [
            await stack.enter_async_context(
                run_agent(
                    COLLECT,
                    store=PostgresStore(postgres_url),
                    options=EngineOptions(
                        settings=FAST_SETTINGS,
                        notifier=UnreliableNotifier(
                            PostgresNotifier(postgres_url), should_drop=lambda _number: is_lossy
                        ),
                    ),
                )
            )
            for _ in range(2)
        ]
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        for text in ("one", "end"):
            await other.send_to_task(stored, text)
        assert artifact_texts(await one.wait_terminal(stored)) == {"result": ["run 1: one"]}


async def test_a_skill_that_does_not_accept_messages_refuses_them(store: Store) -> None:
    """With the error of the table, also under an idempotency key, and nothing of them is stored."""
    release = asyncio.Event()

    async def waits(_ctx: TaskContext) -> str:
        await release.wait()
        return "done"

    async with run_agent(waits, store=store) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        with pytest.raises(
            TaskNotAcceptingMessagesError, match="accepts no messages until it asks"
        ) as refused:
            await one.send_to_task(stored, "more")
        assert isinstance(refused.value, UnsupportedOperationError)
        with pytest.raises(TaskNotAcceptingMessagesError):
            await one.engine.send_message(
                one.scope, stored.wire_id, build_user_message("more"), IdempotencyKey("k", b"h")
            )
        release.set()
        assert [text_of(each) for each in (await one.wait_terminal(stored)).history or ()] == ["hi"]


async def test_a_message_with_an_idempotency_key_arrives_once(store: Store) -> None:
    """Its repetition is no second message."""
    async with run_agent(COLLECT, store=store) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        for _ in range(2):
            await one.engine.send_message(
                one.scope,
                stored.wire_id,
                build_user_message("one"),
                IdempotencyKey("k", b"h", stored.context_id),
            )
        await one.send_to_task(stored, "end")
        assert artifact_texts(await one.wait_terminal(stored)) == {"result": ["run 1: one"]}


async def test_waiting_for_messages_is_cancelled_with_the_task(store: Store) -> None:
    """A handler that waits for messages stops as any other."""
    async with run_agent(COLLECT, store=store) as one, asyncio.timeout(30):
        stored = await one.start("hi")
        await one.wait_for_state(stored, State.WORKING)
        assert (await one.engine.cancel(one.scope, stored.wire_id)).state is State.CANCELED


async def test_a_timeout_while_waiting_loses_no_message(store: Store) -> None:
    """A handler may give up waiting and look again later."""

    async def impatient(ctx: TaskContext) -> str:
        for count in range(1000):
            try:
                async with asyncio.timeout(0.01):
                    async for message in ctx.incoming():
                        return f"{text_of(message)} after {min(count, 1)}"
            except TimeoutError:
                await ctx.status("waiting")
        return "none"

    async with (
        run_agent(Skill("impatient", impatient, accepts_messages=True), store=store) as one,
        asyncio.timeout(30),
    ):
        stored = await one.start("hi")
        await one.engine.wait(stored, 2, frozenset((State.WORKING,)))
        await one.send_to_task(stored, "one")
        assert artifact_texts(await one.wait_terminal(stored)) == {"result": ["one after 1"]}


async def test_incoming_has_to_be_declared(store: Store) -> None:
    """A handler that would wait for ever fails at once, and the log says what to declare."""
    async with run_agent(collect, store=store) as one, asyncio.timeout(30):
        assert State((await one.send("hi")).status.state) is State.FAILED
    with pytest.raises(TypeError, match="accepts_messages: only a task can get further messages"):
        Skill("x", collect, answers="message", accepts_messages=True)


def test_questions_tell_answers_from_messages() -> None:
    """Only a question of the agent makes the next message an answer."""
    first, said, answer, more = (
        build_user_message(text) for text in ("first", "said", "answer", "more")
    )
    question = mark_question(
        Message.model_validate({"message_id": "q", "role": "ROLE_AGENT", "parts": [{"text": "?"}]}),
        "#1",
        None,
    )
    forged = mark_question(build_user_message("forged"), "#1", None)
    assert [*find_incoming([first, said, question, answer, forged, more])] == [said, forged, more]
    assert [*find_incoming([])] == []
