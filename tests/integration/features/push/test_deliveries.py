"""Webhooks over real sockets, from every store: no event is lost, the order is kept, and no task
waits for a receiver.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from integration.features.push.webhooks import (
    HASTY,
    HERE,
    QUICK,
    SECRETS,
    bodies,
    deliver_webhooks,
    hook,
    hurry,
    ids,
    read_log,
    run,
)

from a2a_contract.dialects import CANONICAL, V0_3
from a2a_contract.lifecycle import State
from a2a_runtime.engine.engine import EngineOptions
from a2a_runtime.engine.handlers.context import TaskContext
from a2a_runtime.features.push.notification import ID_HEADER
from a2a_runtime.features.push.sender import PushSender, SenderOptions
from a2a_runtime.net.client import GuardedHttpClient, OutboundLimits
from a2a_runtime.stores.base import Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.models import NewTask, TaskChange
from a2a_runtime.stores.notifier import TeeNotifier
from a2a_runtime.testing.agent import FAST_SETTINGS as QUICK_ENGINE
from a2a_runtime.testing.agent import run_agent
from a2a_runtime.testing.store_contract.case import SCOPE, build_new_task, create_task
from a2a_runtime.testing.webhook_receiver import WebhookReceiver, WebhookRequest, WebhookResponse

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("0.3", "6.8")]


async def test_every_event_arrives_once_and_in_order(store: Store) -> None:
    """A receiver in order hears what a stream shows, with everything that its owner wanted in the
    headers.
    """
    async with WebhookReceiver() as receiver, deliver_webhooks(store):
        task = await create_task(store, build_new_task(push_config=hook(receiver, **SECRETS)))
        last = await run(store, task, 20)
        calls = await receiver.wait_for_requests(last)
        await asyncio.sleep(0.1)
        assert [call.json() for call in calls] == await read_log(store, task)
        assert {call.method for call in calls} == {"POST"}
        assert {
            (call.headers["authorization"], call.headers["x-a2a-notification-token"])
            for call in calls
        } == {("Bearer s3cret-credentials", "s3cret-token")}


async def test_each_configuration_has_its_dialect(store: Store) -> None:
    """Two clients of one task, one for each version: events for the one, whole tasks for the
    other.
    """
    async with WebhookReceiver() as receiver:
        task = await create_task(store, build_new_task(push_config=hook(receiver, "new")))
        await store.put_push_config(SCOPE, task.wire_id, hook(receiver, "old"), V0_3.name)
        last = await run(store, task, 0)
        async with deliver_webhooks(store):
            await receiver.wait_for_requests(2 * last - 1)
        assert bodies(receiver.requests, "new") == await read_log(store, task)
        (old,) = bodies(receiver.requests, "old")
        assert isinstance(old, dict)
        assert (old["kind"], old["id"], old["status"]["state"]) == (
            "task",
            task.wire_id,
            "completed",
        )


TROUBLE: dict[str, Callable[[WebhookRequest], WebhookResponse]] = {
    "every third answer is 503": lambda call: WebhookResponse(503 if call.number % 3 == 0 else 204),
    "every fourth call is hung up on": lambda call: WebhookResponse(
        should_disconnect=call.number % 4 == 0
    ),
    "some answers come too late": lambda call: WebhookResponse(
        delay_seconds=0.7 if call.number in {2, 5} else 0
    ),
    "at first it is away": lambda call: WebhookResponse(
        500 if call.number < 4 else 200, body=b"thanks"
    ),
    "it wants some rest": lambda call: (
        WebhookResponse(429, {"Retry-After": "0"}) if call.number % 2 else WebhookResponse()
    ),
}


@pytest.mark.parametrize("answer", TROUBLE.values(), ids=TROUBLE)
async def test_trouble_delays_but_loses_nothing(
    store: Store, answer: Callable[[WebhookRequest], WebhookResponse]
) -> None:
    """Whatever a receiver does now and then, it hears everything in order, some of it more than
    once, under the same id.
    """
    async with WebhookReceiver(answer) as receiver, deliver_webhooks(store, limits=HASTY):
        task = await create_task(store, build_new_task(push_config=hook(receiver)))
        last = await run(store, task, 8)
        while len(ids(receiver.requests)) < last:
            await receiver.wait_for_requests(len(receiver.requests) + 1)
        assert bodies(receiver.requests) == await read_log(store, task)
        seen = [call.headers[ID_HEADER.lower()] for call in receiver.requests]
        assert seen == sorted(seen, key=ids(receiver.requests).index)
        assert await store.list_push_failures(SCOPE, task.wire_id) == {}


async def test_a_slow_receiver_delays_no_task_and_no_other_webhook(store: Store) -> None:
    """Writing goes on while receivers sleep, and those that are awake hear at once."""

    def answer(call: WebhookRequest) -> WebhookResponse:
        return WebhookResponse(delay_seconds=60 if call.path.endswith("/slow") else 0)

    async with WebhookReceiver(answer) as receiver, deliver_webhooks(store):
        tasks = [
            await create_task(store, build_new_task(push_config=hook(receiver, "slow")))
            for _ in range(4)
        ]
        await receiver.wait_for_requests(4)
        brisk = await create_task(store, build_new_task(push_config=hook(receiver, "brisk")))
        last = await run(store, brisk, 5)
        while len(ids(receiver.requests, "brisk")) < last:
            await receiver.wait_for_requests(len(receiver.requests) + 1)
        for task in tasks:
            await store.update_task(SCOPE, task.key, TaskChange(state=State.WORKING))
        assert len(ids(receiver.requests, "slow")) == len(
            tasks
        )  # none of them has been answered yet
        hurry(receiver)


async def test_a_slow_receiver_delays_no_handler_and_no_stream() -> None:
    """A whole agent: what a handler streams is seen at once by its reader, while the webhook of the
    same task is still busy with the first event.
    """

    async def count(ctx: TaskContext) -> AsyncIterator[str]:
        for n in range(20):
            yield f"{ctx.text} {n}"

    store = MemoryStore()
    async with (
        WebhookReceiver(lambda _: WebhookResponse(delay_seconds=60)) as receiver,
        deliver_webhooks(store) as sender,
        asyncio.timeout(30),
    ):
        parts = EngineOptions(settings=QUICK_ENGINE, notifier=TeeNotifier(sender))
        async with run_agent(count, store=store, options=parts) as counter:
            new = NewTask(
                "c-1", build_new_task().message, "count", CANONICAL.name, push_config=hook(receiver)
            )
            accepted = await counter.engine.start(counter.scope, new)
            events = await counter.collect_events(accepted.stored)
            assert events[-1].state is State.COMPLETED
            assert len(receiver.requests) <= 1  # the first has not been answered yet
            hurry(receiver)
            await receiver.wait_for_requests(2)
            assert [call.json() for call in receiver.requests[:2]] == [
                json.loads(event.body) for event in events[:2]
            ]


async def test_a_commit_wakes_the_sender() -> None:
    """A commit does not wait for the next poll, and listeners behind the sender are notified
    too.
    """
    store = MemoryStore()
    behind = RecordingNotifier()
    rules = SenderOptions(replace(QUICK.settings, push_poll_interval=60))
    async with WebhookReceiver() as receiver:
        await create_task(store, build_new_task(push_config=hook(receiver)))
        async with deliver_webhooks(store, rules) as sender:
            await receiver.wait_for_requests(
                1
            )  # the first poll, after which the sender sleeps for a minute
            task = await create_task(store, build_new_task(push_config=hook(receiver)))
            TeeNotifier(sender, behind).notify((task.key,))
            await receiver.wait_for_requests(2, 30)
        assert behind.keys == [task.key]


class RecordingNotifier:
    """A notifier that records its notifications."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def notify(self, keys: object) -> None:
        """Remember."""
        assert isinstance(keys, tuple)
        self.keys += keys

    async def listen(self, listener: object) -> None:
        """Hear nothing."""


async def test_two_deliverers_share_the_work(store: Store) -> None:
    """Nothing is called twice by both, and the order is kept over both."""
    async with WebhookReceiver() as receiver, deliver_webhooks(store), deliver_webhooks(store):
        tasks = [
            await create_task(store, build_new_task(push_config=hook(receiver, f"t{n}")))
            for n in range(8)
        ]
        lasts = await asyncio.gather(*[run(store, task, 5) for task in tasks])
        await receiver.wait_for_requests(sum(lasts))
        await asyncio.sleep(0.1)
        assert len(receiver.requests) == sum(lasts)
        for n, task in enumerate(tasks):
            assert bodies(receiver.requests, f"t{n}") == await read_log(store, task)


async def test_closing_waits_a_little_and_leaves_the_rest(store: Store) -> None:
    """A call that is under way may end; what is not delivered is due for the next process at
    once.
    """
    async with WebhookReceiver(
        lambda call: WebhookResponse(delay_seconds=0.1 if call.number == 1 else 30)
    ) as receiver:
        outbound = GuardedHttpClient(HERE, OutboundLimits(timeout_seconds=40))
        sender = PushSender(store, outbound, QUICK)
        await sender.start()
        task = await create_task(store, build_new_task(push_config=hook(receiver)))
        await run(store, task, 1)
        await receiver.wait_for_requests(2)
        began = time.monotonic()
        await sender.stop(grace=0.2)
        assert time.monotonic() - began < 10  # not the half minute of the second answer
        await outbound.close()
        assert [delivery.event.seq for delivery in await store.claim_due(0)] == [2]
