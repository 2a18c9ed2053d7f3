"""Webhooks that fail: the end of a configuration, the records of it, and the secrecy of its
credentials.
"""

from __future__ import annotations

import asyncio

import pytest
from integration.features.push.webhooks import (
    HERE,
    PATIENT,
    QUICK,
    SECRETS,
    bodies,
    deliver_webhooks,
    hook,
    ids,
    read_log,
    run,
    wait_for_failure,
)

from a2a_contract.dialects import CANONICAL
from a2a_contract.v1_0 import TaskPushNotificationConfig
from a2a_runtime.features.push.sender import PushSender, SenderOptions
from a2a_runtime.net.client import GuardedHttpClient
from a2a_runtime.net.policy import OutboundPolicy
from a2a_runtime.settings import Settings
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import NewTask
from a2a_runtime.testing.resolver import TableResolver
from a2a_runtime.testing.store_contract.case import SCOPE, build_new_task, create_task
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("1.0", "4.3.3b")]


@pytest.mark.parametrize("status", [410, 404])
async def test_a_refusal_for_good_ends_the_configuration(store: Store, status: int) -> None:
    """It is called once; other webhooks get every event, and the task shows the failure."""

    def answer(call: WebhookRequest) -> WebhookResponse:
        return WebhookResponse(status if call.path.endswith("/gone") else 204)

    async with WebhookReceiver(answer) as receiver:
        task = await create_task(store, build_new_task(push_config=hook(receiver, "gone")))
        await store.put_push_config(SCOPE, task.wire_id, hook(receiver, "good"))
        last = await run(
            store, task, 3
        )  # an event that is written during the refusal is tried once more
        async with deliver_webhooks(store):
            while len(ids(receiver.requests, "good")) < last - 1:
                await receiver.wait_for_requests(len(receiver.requests) + 1)
            reason = f"The webhook answered {status}"
            await wait_for_failure(store, task, "gone", reason)
        assert {
            name: failure.reason
            for name, failure in (await store.list_push_failures(SCOPE, task.wire_id)).items()
        } == {"gone": reason}
        assert len([call for call in receiver.requests if call.path.endswith("/gone")]) == 1


async def test_a_receiver_that_never_answers_well_has_failed_after_some_tries(store: Store) -> None:
    """As many tries as the operator has set, and no more."""
    async with WebhookReceiver(lambda _: WebhookResponse(500)) as receiver, deliver_webhooks(store):
        task = await create_task(store, build_new_task(push_config=hook(receiver)))
        await run(store, task, 3)
        await wait_for_failure(store, task, "a", "The webhook answered 500; given up after 6 tries")
        assert len(receiver.requests) == 6
        assert await store.claim_due(0) == []


@pytest.mark.requirement("apcore", "FR-PSH-003")
async def test_a_retry_waits_for_no_poll(store: Store) -> None:
    """It is sent when its delay is over: polls are for what other processes have left."""
    rules = SenderOptions(
        Settings(
            push_initial_delay=0.05,
            push_jitter=0.0,
            push_max_attempts=4,
            push_poll_interval=3600,
            outbound_timeout=1,
        )
    )
    async with (
        WebhookReceiver(lambda _: WebhookResponse(500)) as receiver,
        deliver_webhooks(store, rules) as sender,
    ):
        task = await create_task(store, build_new_task(push_config=hook(receiver)))
        sender.on_notification()
        await wait_for_failure(store, task, "a", "The webhook answered 500; given up after 4 tries")
        assert len(receiver.requests) == 4


async def test_a_url_that_is_not_called_fails_at_once(store: Store) -> None:
    """An address that is in the store in spite of all checks is not called either."""
    async with WebhookReceiver() as receiver, deliver_webhooks(store, policy=OutboundPolicy()):
        task = await create_task(store, build_new_task(push_config=hook(receiver)))
        await wait_for_failure(store, task, "a", "Only https URLs are called")
        assert receiver.requests == []


async def test_a_name_that_comes_to_lead_inside_is_not_called() -> None:
    """The address is judged for each call: a webhook that was fine when it was configured is not
    called where it must not be.
    """
    store = MemoryStore()
    resolver = TableResolver({"hook.example": ["127.0.0.1", "10.0.0.1", "127.0.0.1"]})
    async with (
        WebhookReceiver(lambda _: WebhookResponse(204, {"Connection": "close"})) as receiver,
        GuardedHttpClient(HERE, PATIENT, resolver=resolver) as outbound,
        PushSender(store, outbound, QUICK),
    ):
        config = TaskPushNotificationConfig(id="a", url=f"http://hook.example:{receiver.port}/a")
        task = await create_task(store, build_new_task(push_config=config))
        last = await run(store, task, 1)
        calls = await receiver.wait_for_requests(last)
        assert [call.json() for call in calls] == await read_log(store, task)
        assert len(resolver.lookups) == last + 1


async def test_a_deleted_configuration_gets_no_more_events(store: Store) -> None:
    """A deleted webhook gets no further event, even if a call is under way."""
    async with (
        WebhookReceiver(lambda _: WebhookResponse(delay_seconds=0.1)) as receiver,
        deliver_webhooks(store),
    ):
        task = await create_task(store, build_new_task(push_config=hook(receiver)))
        await receiver.wait_for_requests(1)
        await store.delete_push_config(SCOPE, task.wire_id, "a")
        await run(store, task, 3)
        await asyncio.sleep(0.3)
        assert len(receiver.requests) == 1


async def test_secrets_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Not in what is said about failures: no path, query, token or credential."""
    store = MemoryStore()
    caplog.set_level("DEBUG", "a2a_runtime")
    async with WebhookReceiver(lambda _: WebhookResponse(500)) as receiver, deliver_webhooks(store):
        task = await create_task(
            store,
            build_new_task(
                push_config=hook(
                    receiver, **SECRETS, url=f"{receiver.url}/s3cret-path?key=s3cret-query"
                )
            ),
        )
        await wait_for_failure(store, task, "a", "The webhook answered 500; given up after 6 tries")
    assert "push config" in caplog.text
    assert "s3cret" not in caplog.text


async def test_a_fault_of_ours_is_not_tried_for_ever() -> None:
    """An event that the dialect of a configuration cannot express ends it after some attempts, and
    is logged; other webhooks go on.
    """
    store = MemoryStore()
    async with WebhookReceiver() as receiver, deliver_webhooks(store):
        task = await create_task(
            store,
            NewTask(
                "c-1",
                build_new_task().message,
                "echo",
                CANONICAL.name,
                push_config=hook(receiver, "good"),
            ),
        )
        await store.put_push_config(SCOPE, task.wire_id, hook(receiver, "odd"), "no such dialect")
        await run(store, task, 0)
        await wait_for_failure(
            store, task, "odd", "The notification could not be written; given up after 6 tries"
        )
        assert len(bodies(receiver.requests, "good")) == 2
