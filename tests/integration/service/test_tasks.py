"""Reading, listing and canceling tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from integration.service.conftest import Client

from a2a_contract.dialects import V0_3, V1_0
from a2a_contract.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    TaskState,
)
from a2a_runtime.base.caller import Caller

pytestmark = pytest.mark.anyio


async def list_tasks(client: Client, **filters: object) -> ListTasksResponse:
    """List tasks."""
    return (
        await client.service.list_tasks(ListTasksRequest.model_validate(filters), client.call)
    ).model


async def test_a_page_has_the_newest_tasks_first_and_leads_to_the_next(client: Client) -> None:
    """Every task comes once; the last page has an empty token, and the member is there."""
    ids = [(await client.send(str(number))).id for number in range(5)]
    seen = []
    token = ""
    while True:
        page = await list_tasks(client, page_size=2, page_token=token)
        assert (page.page_size, page.total_size) == (2, 5)
        seen += [task.id for task in page.tasks]
        if not (token := page.next_page_token):
            break
    assert sorted(seen) == sorted(ids)
    assert seen[0] == ids[-1]
    assert (
        b'"nextPageToken":""'
        in (await client.service.list_tasks(ListTasksRequest(), client.call)).json
    )


async def test_artifacts_are_listed_only_on_request(client: Client) -> None:
    """The member is absent otherwise, not empty."""
    await client.send("hi")
    assert "artifacts" not in (await list_tasks(client)).tasks[0].model_fields_set
    assert (await list_tasks(client, include_artifacts=True)).tasks[0].artifacts


async def test_filters_narrow_a_list(client: Client) -> None:
    """By conversation, by state, and by the time of the last status; an unspecified state is no
    filter.
    """
    done = await client.send("hi", context_id="c-1")
    asking = await client.send("hi", skill="ask", context_id="c-2")
    assert [task.id for task in (await list_tasks(client, context_id="c-1")).tasks] == [done.id]
    assert [
        task.id for task in (await list_tasks(client, status=TaskState.INPUT_REQUIRED)).tasks
    ] == [asking.id]
    assert (await list_tasks(client, status=TaskState.UNSPECIFIED)).total_size == 2
    assert (
        await list_tasks(client, status_timestamp_after=datetime.now(UTC) + timedelta(hours=1))
    ).total_size == 0
    assert done.status.timestamp is not None
    assert (await list_tasks(client, status_timestamp_after=done.status.timestamp)).total_size == 2


async def test_all_field_errors_are_returned_at_once(client: Client) -> None:
    """Also by callers in Python, whose requests no binding has looked at."""
    request = ListTasksRequest.model_construct(
        status=TaskState("TASK_STATE_BORED"),
        page_size=101,
        page_token="?",  # noqa: S106 - not a password
        history_length=-1,
        context_id=None,
        tenant=None,
        status_timestamp_after=None,
        include_artifacts=None,
    )
    with pytest.raises(InvalidParamsError) as raised:
        await client.service.list_tasks(request, client.call)
    assert [place for place, _ in raised.value.fields] == [
        "status",
        "pageSize",
        "historyLength",
        "pageToken",
    ]


async def test_a_token_is_good_for_its_own_list_only(client: Client) -> None:
    """With another filter it is an error, never a page of something else."""
    for number in range(3):
        await client.send(str(number), context_id="c-1")
    token = (await list_tasks(client, page_size=1, context_id="c-1")).next_page_token
    with pytest.raises(InvalidParamsError) as raised:
        await list_tasks(client, page_size=1, page_token=token)
    assert [place for place, _ in raised.value.fields] == ["pageToken"]


async def test_a_conversation_that_is_not_there_is_an_error_in_0_3_only(client: Client) -> None:
    """0.3 asks for that; 1.0 lists nothing.

    A filter that fits no task of a known conversation is no error.
    """
    await client.send("hi", context_id="c-1")
    older = client.copy_with(dialect=V0_3.name)
    assert (await list_tasks(client.copy_with(dialect=V1_0.name), context_id="nope")).tasks == []
    assert (await list_tasks(older, context_id="c-1", status=TaskState.WORKING)).tasks == []
    with pytest.raises(TaskNotFoundError):
        await list_tasks(older, context_id="nope")
    with pytest.raises(TaskNotFoundError):
        await list_tasks(older.copy_with(caller=Caller("bob")), context_id="c-1")


async def test_a_task_of_another_owner_does_not_exist(client: Client) -> None:
    """Every operation answers as for an unknown task, to the letter."""
    task = await client.send("go", skill="ask")
    bob = client.copy_with(caller=Caller("bob"))
    messages = []
    for asker, task_id in ((bob, task.id), (client, "nope")):
        for attempt in (
            asker.service.get_task(GetTaskRequest(id=task_id), asker.call),
            asker.service.cancel_task(CancelTaskRequest(id=task_id), asker.call),
            asker.send("more", task_id=task_id),
            asker.subscribe(task_id),
        ):
            with pytest.raises(TaskNotFoundError) as raised:
                await attempt
            messages.append(raised.value.message)
    assert messages[:4] == messages[4:]
    assert (await list_tasks(bob)).total_size == 0


async def test_a_task_that_runs_or_waits_is_canceled(client: Client) -> None:
    """The answer to a cancellation shows the canceled task."""
    for skill in ("wait", "ask"):
        task = await client.send("hi", skill=skill, return_immediately=True)
        assert (
            await client.service.cancel_task(CancelTaskRequest(id=task.id), client.call)
        ).model.status.state == State.CANCELED


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])
async def test_a_task_that_has_ended_is_not_canceled(client: Client, dialect: str) -> None:
    """A completed and a canceled task."""
    task = await client.send("hi")
    with pytest.raises(TaskNotCancelableError):
        await client.service.cancel_task(
            CancelTaskRequest(id=task.id), client.copy_with(dialect=dialect).call
        )
