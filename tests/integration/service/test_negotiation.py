"""Negotiation of media types, extensions and history."""

from __future__ import annotations

import pytest
from integration.service.conftest import Client, Serve

from a2a_contract.errors import (
    ContentTypeNotSupportedError,
    ExtensionSupportRequiredError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import AgentExtension, GetTaskRequest, ListTasksRequest, Part
from a2a_runtime.agent import Agent, Capabilities
from a2a_runtime.engine.handlers.context import TaskContext

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("length", "expected"), [(None, 5), (0, None), (2, 2), (9, 5)], ids=str)
async def test_history_length(client: Client, length: int | None, expected: int | None) -> None:
    """The whole history by default, none for 0 (the member is absent), the newest messages for a
    number; in every operation.
    """
    task = await client.send("go", skill="ask")
    await client.send("this", task_id=task.id)
    sent = await client.send("that", task_id=task.id, history_length=length)
    got = (
        await client.service.get_task(
            GetTaskRequest(id=task.id, history_length=length), client.call
        )
    ).model
    listed = (
        await client.service.list_tasks(ListTasksRequest(history_length=length), client.call)
    ).model.tasks[0]
    assert [
        None if each.history is None else len(each.history) for each in (sent, got, listed)
    ] == [expected] * 3


async def test_history_is_left_out_of_the_first_answer_too(client: Client) -> None:
    """The task of an immediate answer and the first event of a stream follow the same rule."""
    assert (await client.send("hi", return_immediately=True, history_length=0)).history is None
    first = (await client.stream("hi", history_length=0))[0].data.model.task
    assert first is not None
    assert first.history is None


@pytest.mark.parametrize(
    ("parts", "members", "fields"),
    [
        ([Part(raw=b"1", media_type="image/png"), Part(text="ok")], {}, ("message.parts[0]",)),
        (
            [
                Part(text="<b>", media_type="text/html"),
                Part(data=1),
                Part(raw=b"1", media_type="a/b"),
            ],
            {},
            ("message.parts[0]", "message.parts[2]"),
        ),
        (
            ["hi"],
            {"accepted_output_modes": ["image/png", "video/*"]},
            ("configuration.acceptedOutputModes",),
        ),
        (["text"], {"skill": "picture"}, ("message.parts[0]",)),
    ],
    ids=["bytes", "two parts", "nothing acceptable", "not this skill's"],
)
async def test_media_types_outside_of_the_skill_are_refused(
    client: Client, parts: list[object], members: dict[str, object], fields: tuple[str]
) -> None:
    """Every part that the skill does not take is named."""
    with pytest.raises(ContentTypeNotSupportedError) as raised:
        await client.send(*parts, **members)
    assert tuple(place for place, _ in raised.value.fields) == fields


async def test_media_types_are_also_those_of_a_follow_up(client: Client) -> None:
    """The skill of the task counts, whatever the request names."""
    task = await client.send("go", skill="ask")
    with pytest.raises(ContentTypeNotSupportedError):
        await client.send(Part(raw=b"1", media_type="image/png"), task_id=task.id, skill="picture")


async def test_a_skill_gives_what_its_client_accepts(client: Client) -> None:
    """Wildcards and parameters count, and the skill's own types go before the agent's."""
    picture = Part(raw=b"1", media_type="image/jpeg; q=1")
    for accepted in (["image/png"], ["image/*"], ["*/*"], [], ["text/html", "IMAGE/PNG"]):
        assert (
            await client.send(picture, skill="picture", accepted_output_modes=accepted)
        ).status.state == State.COMPLETED


def build_extended_agent() -> Agent:
    """Make an agent that knows two extensions and requires one of them."""
    extensions = (
        AgentExtension(uri="https://x/needed", required=True),
        AgentExtension(uri="https://x/nice"),
    )
    agent = Agent("extended", capabilities=Capabilities(streaming=False, extensions=extensions))

    @agent.skill("echo")
    async def echo(ctx: TaskContext) -> str:
        return ctx.text

    return agent


async def test_a_required_extension_must_be_requested(serve: Serve) -> None:
    """The error names the extension; of the requested extensions the known ones are active."""
    async with serve(build_extended_agent()) as client:
        with pytest.raises(ExtensionSupportRequiredError) as raised:
            await client.send("hi")
        assert raised.value.details == {"extensions": "https://x/needed"}
        knowing = client.copy_with(
            extensions=("https://x/nice", "https://x/needed", "https://x/strange", "https://x/nice")
        )
        assert (await knowing.send("hi")).status.state == State.COMPLETED
        assert knowing.call.active_extensions == ("https://x/nice", "https://x/needed")


async def test_undeclared_capabilities_are_refused(serve: Serve) -> None:
    """Streams and webhooks, in operations and within a message."""
    async with serve(build_extended_agent()) as client:
        knowing = client.copy_with(extensions=("https://x/needed",))
        with pytest.raises(UnsupportedOperationError):
            await knowing.stream("hi")
        with pytest.raises(UnsupportedOperationError):
            await knowing.subscribe("any")
        with pytest.raises(PushNotificationNotSupportedError):
            await knowing.send("hi", task_push_notification_config={"url": "https://a.b"})
