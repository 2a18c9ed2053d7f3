"""Sending messages."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from integration.service.conftest import Client, Serve, build_outcome_agent

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import (
    A2AError,
    InvalidParamsError,
    PermissionDeniedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import CancelTaskRequest, GetTaskRequest, ListTasksRequest
from a2a_runtime.base.caller import Caller
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.errors import ContextMismatchError, TaskTerminalError
from a2a_runtime.testing.agent import artifact_texts

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])
async def test_a_send_waits_for_the_end_of_its_task(client: Client, dialect: str) -> None:
    """Both versions answer with the ended task and all of its results, unless asked otherwise."""
    task = await client.copy_with(dialect=dialect).send("hi")
    assert task.status.state == State.COMPLETED
    assert artifact_texts(task) == {"result": ["hi"]}
    assert [message.message_id for message in task.history or ()] == ["m-1"]


async def test_a_send_does_not_wait_beyond_a_question(client: Client) -> None:
    """A question ends the wait, as the end of the task does."""
    assert (await client.send("hi", skill="ask")).status.state == State.INPUT_REQUIRED


async def test_a_client_may_have_the_answer_at_once(client: Client) -> None:
    """A client that does not wait gets the accepted task, and reads its end later."""
    task = await client.send("hi", skill="wait", return_immediately=True)
    assert task.status.state == State.SUBMITTED
    await client.service.cancel_task(CancelTaskRequest(id=task.id), client.call)
    assert (
        await client.service.get_task(GetTaskRequest(id=task.id), client.call)
    ).model.status.state == State.CANCELED


@pytest.mark.parametrize("at_once", [False, True], ids=["waiting", "at once"])
async def test_a_skill_may_reply_without_a_task(
    client: Client,
    at_once: bool,  # noqa: FBT001 - a table
) -> None:
    """Such a skill gives one message in the conversation of the question, and nothing is stored."""
    message = await client.ask_for_message(
        "Ada", skill="greet", return_immediately=at_once, context_id="c-7"
    )
    assert (message.parts[0].text, message.context_id, message.task_id) == (
        "Hello, Ada!",
        "c-7",
        None,
    )
    assert (await client.ask_for_message("Ada", skill="greet")).context_id
    assert (await client.service.list_tasks(ListTasksRequest(), client.call)).model.total_size == 0


async def test_a_request_that_names_no_skill_means_the_default(client: Client) -> None:
    """Official clients have no way to name a skill; the message's own metadata may name one too."""
    request = client.request("hi").model_copy(update={"metadata": None})
    task = (await client.service.send_message(request, client.call)).model.task
    assert task is not None
    assert artifact_texts(task) == {"result": ["hi"]}
    with_skill = request.model_copy(
        update={"message": request.message.model_copy(update={"metadata": {"skillId": "greet"}})}
    )
    assert (await client.service.send_message(with_skill, client.call)).model.message is not None


async def test_an_unknown_skill_is_an_error_with_its_place(client: Client) -> None:
    """The error says where it was named, and which there are."""
    with pytest.raises(InvalidParamsError) as raised:
        await client.send("hi", skill="nope")
    assert raised.value.fields == (
        (
            "metadata.skillId",
            "There is no skill 'nope'; there are echo, count, ask, wait, greet, picture",
        ),
    )


async def test_conversations_are_made_kept_and_inferred(client: Client) -> None:
    """A message without a conversation begins one; one that names it, or only its task, stays in
    it.
    """
    made = await client.send("hi")
    kept = await client.send("hi", context_id="mine")
    assert made.context_id
    assert kept.context_id == "mine"
    asking = await client.send("hi", skill="ask", context_id="mine")
    assert (await client.send("this", task_id=asking.id)).context_id == "mine"


async def test_a_task_is_continued_several_times_by_its_id_alone(client: Client) -> None:
    """Answers go to the questions one after the other, and the history holds all that was said, in
    order.
    """
    task = await client.send("go", skill="ask")
    again = await client.send("this", task_id=task.id, message_id="m-2")
    assert again.status.state == State.INPUT_REQUIRED
    ended = await client.send("that", task_id=task.id, message_id="m-3", context_id=task.context_id)
    assert artifact_texts(ended) == {"result": ["this and that"]}
    said = [part.text for message in ended.history or () for part in message.parts]
    assert said == ["go", "What?", "this", "And then?", "that"]


async def test_an_answer_may_be_answered_at_once(client: Client) -> None:
    """A client that replies without waiting gets the task as it is after the reply."""
    task = await client.send("go", skill="ask")
    assert (
        await client.send("this", task_id=task.id, return_immediately=True, history_length=1)
    ).id == task.id


@pytest.mark.parametrize(
    ("members", "error", "places"),
    [
        ({"context_id": "other"}, ContextMismatchError, ["message.contextId"]),
        ({"task_id": "no-such-task"}, TaskNotFoundError, []),
        ({"message_id": "m-2"}, None, []),
    ],
    ids=["another conversation", "no such task", "nothing wrong"],
)
async def test_a_follow_up_must_fit_its_task(
    client: Client, members: dict[str, str], error: type[A2AError] | None, places: list[str]
) -> None:
    """A conversation that is not the task's is refused where it is named, and so is a task that is
    not there.
    """
    task = await client.send("go", skill="ask")
    follow_up = client.send("this", **{"task_id": task.id, **members})
    if error is None:
        assert (await follow_up).status.state == State.INPUT_REQUIRED
    else:
        with pytest.raises(error) as raised:
            await follow_up
        assert [place for place, _ in raised.value.fields] == places


async def test_a_task_that_has_ended_takes_no_message(client: Client) -> None:
    """It is the error that the protocol has for that."""
    task = await client.send("hi")
    with pytest.raises(TaskTerminalError) as raised:
        await client.send("more", task_id=task.id)
    assert isinstance(raised.value, UnsupportedOperationError)


async def test_tenants_never_meet(client: Client) -> None:
    """A task exists for the tenant that it was made for, named by the request or known of the
    caller, and for no other.
    """
    task = await client.send("hi", tenant="acme")
    member = client.copy_with(caller=Caller("ada", "acme"))
    assert (
        await client.service.get_task(GetTaskRequest(id=task.id, tenant="acme"), client.call)
    ).model == task
    assert (await member.service.get_task(GetTaskRequest(id=task.id), member.call)).model == task
    for stranger in (client, client.copy_with(caller=Caller("ada", "other"))):
        with pytest.raises(TaskNotFoundError):
            await stranger.service.get_task(GetTaskRequest(id=task.id), stranger.call)
    with pytest.raises(PermissionDeniedError):
        await member.send("hi", tenant="other")
    with pytest.raises(InvalidParamsError):
        await client.send("hi", tenant="v1")


@pytest.mark.parametrize(
    ("wanted", "state"),
    [(False, State.WORKING), (True, State.CANCELED)],
    ids=["by default", "where wanted"],
)
@pytest.mark.parametrize("way", ["send", "stream"])
async def test_a_disconnect_cancels_the_task_only_if_configured(
    serve: Serve,
    way: str,
    wanted: bool,  # noqa: FBT001 - a table
    state: State,
) -> None:
    """By default a task goes on without a client."""
    async with serve(cancel_on_disconnect=wanted) as client:
        sending = asyncio.ensure_future(
            client.send("hi", skill="wait") if way == "send" else client.stream("hi", skill="wait")
        )
        await _until_working(client)
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
        task = (await client.service.list_tasks(ListTasksRequest(), client.call)).model.tasks[0]
        assert task.status.state == state


async def _until_working(client: Client) -> None:
    while True:
        tasks = (await client.service.list_tasks(ListTasksRequest(), client.call)).model.tasks
        if tasks and tasks[0].status.state == State.WORKING:
            return
        await asyncio.sleep(0.005)


async def test_a_handler_reads_the_tasks_that_a_message_refers_to(serve: Serve) -> None:
    """Tasks that do not exist, or belong to another owner, are left out."""
    agent = build_outcome_agent()

    @agent.skill("compare")
    async def compare(ctx: TaskContext) -> list[str]:
        return [task.id for task in await ctx.referenced_tasks()]

    async with serve(agent) as client:
        mine = await client.send("hi")
        theirs = await client.copy_with(caller=Caller("bob")).send("hi")
        task = await client.send(
            "hi", skill="compare", reference_task_ids=[theirs.id, mine.id, "nope"]
        )
        assert (task.artifacts or [])[0].parts[0].data == [mine.id]
