"""Push configurations of a task, and access to them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from integration.service.conftest import Client

from a2a_contract.dialects import V0_3
from a2a_contract.errors import InvalidParamsError, TaskNotFoundError
from a2a_contract.v1_0 import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    TaskPushNotificationConfig,
)
from a2a_runtime.base.caller import Caller
from a2a_runtime.service.context import ServiceDependencies
from a2a_runtime.service.service import Service
from a2a_runtime.surface import Limits

pytestmark = pytest.mark.anyio

SECRET = AuthenticationInfo(scheme="Bearer", credentials="s3cret")


@pytest.fixture
async def task_id(client: Client) -> str:
    """A task that goes on."""
    return (await client.send("go", skill="ask")).id


async def add_webhook(
    client: Client, task_id: str | None, **members: object
) -> TaskPushNotificationConfig:
    """Add a webhook."""
    config = TaskPushNotificationConfig.model_validate(
        {"task_id": task_id, "url": "https://a.b/hook", **members}
    )
    return (await client.service.create_task_push_notification_config(config, client.call)).model


async def get(client: Client, task_id: str, config_id: str) -> TaskPushNotificationConfig:
    """Read a webhook."""
    request = GetTaskPushNotificationConfigRequest(task_id=task_id, id=config_id)
    return (await client.service.get_task_push_notification_config(request, client.call)).model


async def ids(client: Client, task_id: str, **page: object) -> tuple[list[str | None], str | None]:
    """List the ids of webhooks, and the token of the next page."""
    request = ListTaskPushNotificationConfigsRequest.model_validate({"task_id": task_id, **page})
    answer = (await client.service.list_task_push_notification_configs(request, client.call)).model
    return [config.id for config in answer.configs or ()], answer.next_page_token


async def test_a_webhook_gets_an_id_and_is_found_by_it(client: Client, task_id: str) -> None:
    """One with an id of its own keeps it, and is changed when it comes again."""
    made = await add_webhook(client, task_id, token="t")  # noqa: S106 - made up
    assert made.id
    assert await get(client, task_id, made.id) == made
    assert (made.task_id, made.token) == (task_id, "t")
    await add_webhook(client, task_id, id="mine")
    await add_webhook(client, task_id, id="mine", url="https://c.d/hook")
    assert (await get(client, task_id, "mine")).url == "https://c.d/hook"
    assert len((await ids(client, task_id))[0]) == 2


async def test_credentials_are_never_returned(client: Client, task_id: str) -> None:
    """Not by any operation, while the name of the scheme is."""
    made = await add_webhook(client, task_id, id="a", authentication=SECRET)
    listing = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    listed = await client.service.list_task_push_notification_configs(listing, client.call)
    returned = [made, await get(client, task_id, "a"), *(listed.model.configs or ())]
    assert [each.authentication for each in returned] == [AuthenticationInfo(scheme="Bearer")] * 3
    stored = await client.service._store.get_push_config(client.call.task_scope(), task_id, "a")
    assert stored is not None
    assert stored.authentication == SECRET


async def test_webhooks_are_listed_in_pages_on_request(client: Client, task_id: str) -> None:
    """Without a page size all of them are listed."""
    client = client.copy_with(surface=replace(client.call.surface, limits=Limits(webhooks=200)))
    names = [f"c-{number:03}" for number in range(130)]
    for name in names:
        await add_webhook(client, task_id, id=name)
    assert await ids(client, task_id) == (names, "")
    first, token = await ids(client, task_id, page_size=100)
    assert first == names[:100]
    assert await ids(client, task_id, page_size=100, page_token=token) == (names[100:], "")
    with pytest.raises(InvalidParamsError):
        await ids(client, task_id, page_size=101)


async def test_deleting_twice_is_as_good_as_once(client: Client, task_id: str) -> None:
    """Only a task that is not there is an error."""
    await add_webhook(client, task_id, id="a")
    request = DeleteTaskPushNotificationConfigRequest(task_id=task_id, id="a")
    for _ in range(2):
        await client.service.delete_task_push_notification_config(request, client.call)
    assert await ids(client, task_id) == ([], "")
    with pytest.raises(TaskNotFoundError):
        await client.service.delete_task_push_notification_config(
            request.model_copy(update={"task_id": "nope"}), client.call
        )


async def test_a_webhook_that_is_not_there_is_an_error(client: Client, task_id: str) -> None:
    """For this task, for an unknown task, and for a task of another owner."""
    await add_webhook(client, task_id, id="a")
    for asker, task, config in (
        (client, task_id, "b"),
        (client, "nope", "a"),
        (client.copy_with(caller=Caller("bob")), task_id, "a"),
    ):
        with pytest.raises(TaskNotFoundError):
            await get(asker, task, config)
    with pytest.raises(TaskNotFoundError):
        await add_webhook(client.copy_with(caller=Caller("bob")), task_id)


async def test_0_3_may_omit_the_id_of_a_webhook(client: Client, task_id: str) -> None:
    """The first webhook of the task is meant."""
    older = client.copy_with(dialect=V0_3.name)
    with pytest.raises(TaskNotFoundError):
        await get(older, task_id, "")
    await add_webhook(older, task_id, id="a")
    assert (await get(older, task_id, "")).id == "a"


async def test_a_message_may_bring_a_webhook(client: Client) -> None:
    """For a new task and for one that goes on; a repeated message brings it once."""
    config = {"url": "https://a.b/hook"}
    task = await client.send("go", skill="ask", task_push_notification_config=config)
    assert len((await ids(client, task.id))[0]) == 1
    for _ in range(2):
        answering = client.copy_with(idempotency_key="k")
        await answering.send(
            "this", task_id=task.id, message_id="m-2", task_push_notification_config=config
        )
    assert len((await ids(client, task.id))[0]) == 2


async def test_a_webhook_that_would_never_be_called_is_refused(
    client: Client, task_id: str
) -> None:
    """The error names its place, in the operation and in a message."""

    def check(_url: str) -> None:
        raise InvalidParamsError("Only https URLs are called")

    strict = Client(
        Service(ServiceDependencies(client.service._engine, client.service._store, check)),
        client.call,
    )
    for attempt, place in (
        (add_webhook(strict, task_id), "url"),
        (
            strict.send("hi", task_push_notification_config={"url": "http://a.b"}),
            "configuration.taskPushNotificationConfig.url",
        ),
    ):
        with pytest.raises(InvalidParamsError) as raised:
            await attempt
        assert raised.value.fields == ((place, "Only https URLs are called"),)
    with pytest.raises(InvalidParamsError):
        await add_webhook(client, None)


OWNERS = {
    "one person": (Caller("ada"), "t"),
    "a team": (Caller("ada", team="blue"), None),
    "all who have some token": (Caller(schemes={"bearer": frozenset()}), None),
    "all callers": (Caller(), None),
}


@pytest.mark.parametrize(("owner", "read"), OWNERS.values(), ids=OWNERS.keys())
async def test_a_token_is_returned_to_its_owner_only(
    client: Client, owner: Caller, read: str | None
) -> None:
    """The response to its creation has it; later only an individual owner gets it."""
    client = client.copy_with(caller=owner)
    task_id = (await client.send("go", skill="ask")).id
    made = await add_webhook(client, task_id, id="a", token="t")  # noqa: S106 - made up
    listing = ListTaskPushNotificationConfigsRequest(task_id=task_id)
    listed = (
        await client.service.list_task_push_notification_configs(listing, client.call)
    ).model.configs or ()
    assert (
        made.token,
        (await get(client, task_id, "a")).token,
        *(each.token for each in listed),
    ) == ("t", read, read)


async def test_a_task_has_so_many_webhooks_and_no_more(client: Client) -> None:
    """However they come: with the task, by themselves, or with a later message."""
    surface = replace(client.call.surface, limits=Limits(webhooks=2))
    client = client.copy_with(surface=surface)
    hook = {"url": "https://a.b/hook"}
    task = await client.send("go", skill="ask", task_push_notification_config=hook)
    await add_webhook(client, task.id, id="a")
    with pytest.raises(InvalidParamsError, match="at most 2 webhooks"):
        await add_webhook(client, task.id, id="b")
    with pytest.raises(InvalidParamsError, match="at most 2 webhooks"):
        await client.send(
            "more",
            skill="ask",
            task_id=task.id,
            message_id="m-2",
            task_push_notification_config=hook,
        )
    await add_webhook(client, task.id, id="a", url="https://c.d/hook")
    assert len((await ids(client, task.id))[0]) == 2
