"""Events of streams: their content, their order and their end."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from integration.service.conftest import Client

from a2a_contract.dialects import V0_3, V0_3_PROTO, V1_0
from a2a_contract.errors import ContentTypeNotSupportedError, InvalidParamsError, TaskNotFoundError
from a2a_contract.lifecycle import State
from a2a_contract.service import Event
from a2a_contract.v1_0 import CancelTaskRequest, Part, StreamResponse, SubscribeToTaskRequest
from a2a_runtime.errors import TaskTerminalError

pytestmark = pytest.mark.anyio

Events = list[Event[StreamResponse]]


def kinds(events: Events) -> list[str]:
    """Say what each event is."""
    return [next(iter(event.data.model.model_fields_set)) for event in events]


def states(events: Events) -> list[str]:
    """Say in which states the events show the task."""
    changes = (event.data.model.task or event.data.model.status_update for event in events)
    return [str(each.status.state) for each in changes if each is not None]


async def test_a_stream_begins_with_the_task_and_ends_with_its_end(client: Client) -> None:
    """Every event in between comes once, in order, under its number."""
    events = await client.stream("3", skill="count")
    assert kinds(events)[0] == "task"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    chunks = [
        update.artifact.parts[0].text
        for event in events
        if (update := event.data.model.artifact_update)
    ]
    assert chunks == ["0", "1", "2"]
    assert states(events) == [State.SUBMITTED, State.WORKING, State.COMPLETED]


async def test_a_stream_of_an_answer_without_a_task_is_that_answer(client: Client) -> None:
    """Exactly one message, and then nothing."""
    events = await client.stream("Ada", skill="greet")
    assert kinds(events) == ["message"]


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name, V0_3_PROTO.name])
async def test_a_stream_of_a_message_ends_when_the_task_waits_for_the_caller(
    client: Client, dialect: str
) -> None:
    """The answer is then sent as a stream of its own."""
    speaker = client.copy_with(dialect=dialect)
    events = await speaker.stream("go", skill="ask")
    assert states(events)[-1] == State.INPUT_REQUIRED
    task = events[0].data.model.task
    assert task is not None
    assert states(await speaker.stream("this", task_id=task.id))[-1] == State.INPUT_REQUIRED
    assert states(await speaker.stream("that", task_id=task.id))[-1] == State.COMPLETED


async def test_a_subscription_of_1_0_stays_open_while_the_task_waits_for_the_caller(
    client: Client,
) -> None:
    """The answer gets its own response, and all streams of the task get the same events."""
    task = await client.send("go", skill="ask")
    streams = [await client.start_subscription(task.id) for _ in range(2)]
    await client.send("this", task_id=task.id)
    await client.send("that", task_id=task.id)
    one, other = await asyncio.gather(*streams)
    assert states(one)[0] == State.INPUT_REQUIRED
    assert states(one).count(State.INPUT_REQUIRED) == 2
    assert states(one)[-1] == State.COMPLETED
    assert [event.data.json for event in one] == [event.data.json for event in other]


async def test_a_closed_stream_frees_its_reader_and_leaves_the_task_alone(client: Client) -> None:
    """The hub forgets a reader at once when its generator is closed."""
    stream = client.service.send_streaming_message(client.request("hi", skill="wait"), client.call)
    async with aclosing(stream) as events:
        first = await anext(events)
        await anext(events)
        assert len(client.service._engine.hub._buffers) == 1
    assert len(client.service._engine.hub._buffers) == 0
    task = first.data.model.task
    assert task is not None
    assert (
        await client.service.cancel_task(CancelTaskRequest(id=task.id), client.call)
    ).model.status.state == State.CANCELED


async def test_a_subscriber_gets_the_task_first_and_then_its_events(client: Client) -> None:
    """The task is as it was at that moment, so that nothing is lost between reading and
    subscribing.
    """
    task = await client.send("hi", skill="wait", return_immediately=True)
    following = await client.start_subscription(task.id)
    await client.service.cancel_task(CancelTaskRequest(id=task.id), client.call)
    events = await following
    assert kinds(events)[0] == "task"
    assert states(events)[-1] == State.CANCELED


async def test_a_stream_goes_on_after_the_last_event_that_was_seen(client: Client) -> None:
    """No event is lost or repeated, and no task comes first; also when the task has ended, and when
    all was seen.
    """
    whole = await client.stream("5", skill="count")
    task = whole[0].data.model.task
    assert task is not None
    for seen in range(len(whole) + 1):
        rest = await client.copy_with(last_event_id=str(seen)).subscribe(task.id)
        assert [(event.seq, event.data.json) for event in rest] == [
            (event.seq, event.data.json) for event in whole[seen:]
        ]


@pytest.mark.parametrize("dialect", [V1_0.name, V0_3.name])
async def test_a_task_that_has_ended_has_no_stream(client: Client, dialect: str) -> None:
    """It is a plain error before the first event."""
    task = await client.send("hi")
    with pytest.raises(TaskTerminalError):
        await client.copy_with(dialect=dialect).subscribe(task.id)


@pytest.mark.parametrize("cursor", ["x", "-1", "٣", "", "99"])
async def test_a_cursor_must_be_the_number_of_an_event(client: Client, cursor: str) -> None:
    """Anything else is an error, and so is a number that the task has not reached."""
    task = await client.send("hi")
    with pytest.raises(InvalidParamsError):
        await client.copy_with(last_event_id=cursor).subscribe(task.id)


async def test_errors_come_before_the_first_event(client: Client) -> None:
    """A message that is refused, and a task that is not there, begin no stream."""
    with pytest.raises(ContentTypeNotSupportedError):
        await anext(
            client.service.send_streaming_message(
                client.request(Part(raw=b"1", media_type="a/b")), client.call
            )
        )
    with pytest.raises(TaskNotFoundError):
        await anext(
            client.service.subscribe_to_task(SubscribeToTaskRequest(id="nope"), client.call)
        )
