"""Webhooks over real sockets, from every store: nothing is missing, the order is kept, and nobody waits for a receiver."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable

import pytest
from integration.push.webhooks import HERE, QUICK, SECRETS, bodies, delivering, hook, ids, logged, run

from a2a_contract.dialects import CANONICAL, V0_3
from a2a_contract.lifecycle import State
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import Parts
from a2a_runtime.net.client import GuardedDialler, Limits
from a2a_runtime.push.notification import ID_HEADER
from a2a_runtime.push.sender import Deliverer, Rules
from a2a_runtime.stores.base import Change, NewTask, Store
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.streams.notifier import OverheardBell
from a2a_runtime.testing.agent import QUICK as QUICK_ENGINE
from a2a_runtime.testing.agent import agent
from a2a_runtime.testing.receiver import Call, Receiver, Reply
from a2a_runtime.testing.store_contract.case import SCOPE, created, new_task

pytestmark = pytest.mark.anyio


async def test_every_event_arrives_once_and_in_order(store: Store) -> None:
    """A receiver in order hears what a stream shows, with everything that its owner wanted in the headers."""
    async with Receiver() as receiver, delivering(store):
        task = await created(store, new_task(push=hook(receiver, **SECRETS)))
        last = await run(store, task, 20)
        calls = await receiver.received(last)
        await asyncio.sleep(0.1)
        assert [call.json() for call in calls] == await logged(store, task)
        assert {call.method for call in calls} == {"POST"}
        assert {(call.headers["authorization"], call.headers["x-a2a-notification-token"]) for call in calls} == {
            ("Bearer s3cret-credentials", "s3cret-token")
        }


async def test_each_configuration_hears_in_its_own_dialect(store: Store) -> None:
    """Two clients of one task, one for each version: events for the one, whole tasks for the other."""
    async with Receiver() as receiver:
        task = await created(store, new_task(push=hook(receiver, "new")))
        await store.put_push_config(SCOPE, task.wire_id, hook(receiver, "old"), V0_3.name)
        last = await run(store, task, 0)
        async with delivering(store):
            await receiver.received(2 * last - 1)
        assert bodies(receiver.calls, "new") == await logged(store, task)
        (old,) = bodies(receiver.calls, "old")
        assert isinstance(old, dict)
        assert (old["kind"], old["id"], old["status"]["state"]) == ("task", task.wire_id, "completed")


TROUBLE: dict[str, Callable[[Call], Reply]] = {
    "every third answer is 503": lambda call: Reply(503 if call.number % 3 == 0 else 204),
    "every fourth call is hung up on": lambda call: Reply(hangs_up=call.number % 4 == 0),
    "some answers come too late": lambda call: Reply(after=0.7 if call.number in {2, 5} else 0),
    "at first it is away": lambda call: Reply(500 if call.number < 4 else 200, body=b"thanks"),
    "it wants some rest": lambda call: Reply(429, {"Retry-After": "0"}) if call.number % 2 else Reply(),
}


@pytest.mark.parametrize("answer", TROUBLE.values(), ids=TROUBLE)
async def test_trouble_delays_but_loses_nothing(store: Store, answer: Callable[[Call], Reply]) -> None:
    """Whatever a receiver does now and then, it hears everything in order, some of it more than once, under the same id."""
    async with Receiver(answer) as receiver, delivering(store):
        task = await created(store, new_task(push=hook(receiver)))
        last = await run(store, task, 8)
        while len(ids(receiver.calls)) < last:
            await receiver.received(len(receiver.calls) + 1)
        assert bodies(receiver.calls) == await logged(store, task)
        seen = [call.headers[ID_HEADER.lower()] for call in receiver.calls]
        assert seen == sorted(seen, key=ids(receiver.calls).index)
        assert await store.push_failures(SCOPE, task.wire_id) == {}


async def test_a_slow_receiver_delays_no_task_and_no_other_webhook(store: Store) -> None:
    """Writing goes on while receivers sleep, and those that are awake hear at once."""

    def answer(call: Call) -> Reply:
        return Reply(after=0.4 if call.path.endswith("/slow") else 0)

    async with Receiver(answer) as receiver, delivering(store):
        tasks = [await created(store, new_task(push=hook(receiver, "slow"))) for _ in range(4)]
        await receiver.received(4)
        brisk = await created(store, new_task(push=hook(receiver, "brisk")))
        began = time.monotonic()
        last = await run(store, brisk, 5)
        while len(ids(receiver.calls, "brisk")) < last:
            await receiver.received(len(receiver.calls) + 1)
        for task in tasks:
            await store.update_task(SCOPE, task.key, Change(state=State.WORKING))
        assert time.monotonic() - began < 0.4


async def test_a_slow_receiver_delays_no_handler_and_no_stream() -> None:
    """A whole agent: what a handler streams is seen at once by its reader, while the webhook of the same task is still busy with the first event."""

    async def count(ctx: TaskContext) -> AsyncIterator[str]:
        for n in range(20):
            yield f"{ctx.text} {n}"

    store = MemoryStore()
    async with Receiver(lambda _: Reply(after=0.4)) as receiver, delivering(store) as deliverer:
        parts = Parts(settings=QUICK_ENGINE, bell=OverheardBell(deliverer))
        async with agent(count, store=store, parts=parts) as counter:
            began = time.monotonic()
            new = NewTask("c-1", new_task().message, "count", CANONICAL.name, push=hook(receiver))
            accepted = await counter.engine.start(counter.scope, new)
            events = await counter.events(accepted.stored)
            assert time.monotonic() - began < 0.4
            assert events[-1].state is State.COMPLETED
            await receiver.received(2)
            assert [call.json() for call in receiver.calls[:2]] == [json.loads(event.body) for event in events[:2]]


async def test_a_commit_wakes_the_deliverer() -> None:
    """Who rings need not wait for the next poll, and whoever listens behind the deliverer hears the bell too."""
    store, behind = MemoryStore(), Heard()
    rules = Rules(QUICK.patience, poll=60)
    async with Receiver() as receiver, delivering(store, rules) as deliverer:
        bell = OverheardBell(deliverer, behind)
        await asyncio.sleep(0.1)
        task = await created(store, new_task(push=hook(receiver)))
        assert receiver.calls == []
        bell.ring((task.key,))
        await receiver.received(1, 1)
        assert behind.keys == [task.key]


class Heard:
    """A doorbell that remembers what was rung."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def ring(self, keys: object) -> None:
        """Remember."""
        assert isinstance(keys, tuple)
        self.keys += keys

    async def listen(self, hearer: object) -> None:
        """Hear nothing."""


async def test_two_deliverers_share_the_work(store: Store) -> None:
    """Nothing is called twice by both, and the order is kept over both."""
    async with Receiver() as receiver, delivering(store), delivering(store):
        tasks = [await created(store, new_task(push=hook(receiver, f"t{n}"))) for n in range(8)]
        lasts = await asyncio.gather(*[run(store, task, 5) for task in tasks])
        await receiver.received(sum(lasts))
        await asyncio.sleep(0.1)
        assert len(receiver.calls) == sum(lasts)
        for n, task in enumerate(tasks):
            assert bodies(receiver.calls, f"t{n}") == await logged(store, task)


async def test_closing_waits_a_little_and_leaves_the_rest(store: Store) -> None:
    """A call that is under way may end; what is not delivered is due for the next process at once."""
    async with Receiver(lambda call: Reply(after=0.1 if call.number == 1 else 30)) as receiver:
        dialler = GuardedDialler(HERE, Limits(seconds=40))
        deliverer = Deliverer(store, dialler, QUICK)
        await deliverer.open()
        task = await created(store, new_task(push=hook(receiver)))
        await run(store, task, 1)
        await receiver.received(2)
        began = time.monotonic()
        await deliverer.close(grace=0.2)
        assert time.monotonic() - began < 1
        await dialler.close()
        assert [delivery.event.seq for delivery in await store.due(0)] == [2]
