"""Idempotency keys and repeated message ids."""

from __future__ import annotations

import pytest
from integration.service.conftest import Client, Serve

from a2a_contract.errors import (
    IdempotencyConflictError,
    UnsupportedOperationError,
)
from a2a_contract.lifecycle import State
from a2a_runtime.base.caller import Caller
from a2a_runtime.testing.agent import artifact_texts

pytestmark = pytest.mark.anyio


async def test_the_same_key_and_request_mean_the_same_task(client: Client) -> None:
    """A repeated request gets the task as it is by then; a stream of it shows the end; another
    request under that key is refused.
    """
    keyed = client.copy_with(idempotency_key="k-1")
    first = await keyed.send("hi")
    second = await keyed.send("hi")
    streamed = await keyed.stream("hi")
    assert first == second == streamed[0].data.model.task
    assert len(streamed) == 1
    with pytest.raises(IdempotencyConflictError):
        await keyed.send("something else")
    assert (await client.send("hi")).id != first.id


async def test_a_key_is_good_for_one_caller_and_conversation(client: Client) -> None:
    """Others may use the same one, and so may the same caller in another conversation."""
    keyed = client.copy_with(idempotency_key="k-1")
    bob = keyed.copy_with(caller=Caller("bob"))
    tasks = [
        await keyed.send("hi"),
        await bob.send("hi"),
        await keyed.send("hi", context_id="c-1"),
        await keyed.send("hi", context_id="c-2"),
    ]
    assert len({task.id for task in tasks}) == 4


async def test_a_repeated_answer_is_taken_once(client: Client) -> None:
    """Repeating an answer under its key neither answers the next question nor is an error after the
    end.
    """
    task = await client.send("go", skill="ask")
    first = client.copy_with(idempotency_key="k-1")
    last = client.copy_with(idempotency_key="k-2")
    for _ in range(2):
        again = await first.send("this", task_id=task.id, message_id="m-2")
        assert again.status.state == State.INPUT_REQUIRED
    ended = await last.send("that", task_id=task.id, message_id="m-3")
    assert artifact_texts(ended) == {"result": ["this and that"]}
    assert await last.send("that", task_id=task.id, message_id="m-3") == ended
    assert await first.send("this", task_id=task.id, message_id="m-2") == ended
    with pytest.raises(UnsupportedOperationError):
        await client.copy_with(idempotency_key="k-3").send("more", task_id=task.id)


@pytest.mark.parametrize(
    ("wanted", "tasks"), [(False, 2), (True, 1)], ids=["by default", "where wanted"]
)
async def test_a_repeated_message_id_is_a_retry_only_with_the_option(
    serve: Serve,
    wanted: bool,  # noqa: FBT001 - a table
    tasks: int,
) -> None:
    """By default two messages are two tasks, whatever their ids."""
    async with serve(deduplicate_messages=wanted) as client:
        ids = {(await client.send("hi")).id, (await client.send("hi", return_immediately=True)).id}
        assert len(ids) == tasks
