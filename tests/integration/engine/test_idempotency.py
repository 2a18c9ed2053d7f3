"""Idempotency keys: a repeated request returns the task of the first one."""

from __future__ import annotations

import asyncio

import pytest

from a2a_contract.dialects import CANONICAL
from a2a_contract.errors import IdempotencyConflictError
from a2a_contract.lifecycle import State
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.stores.models import IdempotencyKey, NewTask
from a2a_runtime.testing.agent import artifact_texts, build_user_message

from .conftest import RunAgent

pytestmark = pytest.mark.anyio

SAME = IdempotencyKey("key", b"body", "c-1")


def build_wanted_task(skill: str, promise: IdempotencyKey = SAME) -> NewTask:
    """Build a new task with an idempotency key."""
    return NewTask("c-1", build_user_message("hi"), skill, CANONICAL.name, idempotency_key=promise)


async def test_concurrent_requests_with_one_key_are_one_task(run: RunAgent) -> None:
    """Sixteen requests with one key run the handler once, and all get its end."""
    runs = []

    async def works(_ctx: TaskContext) -> str:
        runs.append(1)
        await asyncio.sleep(0.05)
        return "done"

    async with run(works) as one, asyncio.timeout(30):

        async def ask() -> str:
            return (
                await one.engine.wait_settled(
                    await one.engine.start(one.scope, build_wanted_task("works"))
                )
            ).wire_id

        assert len(set(await asyncio.gather(*(ask() for _ in range(16))))) == 1
        assert len(runs) == 1
        late = await one.engine.start(one.scope, build_wanted_task("works"))
        assert (late.is_new, (await one.engine.wait_settled(late)).state) == (
            False,
            State.COMPLETED,
        )
        with pytest.raises(IdempotencyConflictError):
            await one.engine.start(
                one.scope, build_wanted_task("works", IdempotencyKey("key", b"another", "c-1"))
            )


async def test_a_repeated_start_returns_the_suspended_task(run: RunAgent) -> None:
    """The caller does not wait for its own answer."""

    async def asks(ctx: TaskContext) -> str:
        return (await ctx.ask("Well?")).text

    async with run(asks) as one, asyncio.timeout(30):
        for _ in range(2):
            stored = await one.engine.wait_settled(
                await one.engine.start(one.scope, build_wanted_task("asks"))
            )
            assert stored.state is State.INPUT_REQUIRED


async def test_a_repeated_answer_is_given_once(run: RunAgent) -> None:
    """An answer under a key is not given to the next question too; repeated after the end, it gets
    the task as it is.
    """

    async def asks_twice(ctx: TaskContext) -> str:
        first = await ctx.ask("First?")
        second = await ctx.ask("Second?")
        return f"{first.text} {second.text}"

    async with run(asks_twice) as one, asyncio.timeout(30):
        task = await one.send("hi")
        said = build_user_message("one", message_id="m-2")
        promise = IdempotencyKey("answer", b"one", "c-1")
        for _ in range(2):
            stored = await one.engine.wait_settled(
                await one.engine.send_message(one.scope, task.id, said, promise)
            )
            assert stored.task.model.status.message.parts[0].text == "Second?"
        task = await one.answer(task, "two")
        assert artifact_texts(task) == {"result": ["one two"]}
        late = await one.engine.send_message(one.scope, task.id, said, promise)
        assert (late.is_new, late.stored.state) == (False, State.COMPLETED)
