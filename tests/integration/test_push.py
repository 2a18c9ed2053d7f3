"""Webhooks over real sockets, from every store: nothing is missing, the order is kept, and nobody waits for a receiver."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from a2a_contract.dialects import CANONICAL, V0_3
from a2a_contract.lifecycle import State
from a2a_contract.v1_0 import AuthenticationInfo, TaskPushNotificationConfig
from a2a_runtime.execution.context import TaskContext
from a2a_runtime.execution.engine import Parts
from a2a_runtime.net.dialler import GuardedDialler, Limits
from a2a_runtime.net.policy import Policy
from a2a_runtime.push.bell import OverheardBell
from a2a_runtime.push.deliverer import FAILURE, Deliverer, Rules
from a2a_runtime.push.notification import ID_HEADER
from a2a_runtime.push.verdict import Patience
from a2a_runtime.stores.memory import MemoryStore
from a2a_runtime.stores.port import Change, NewTask, Store, StoredTask
from a2a_runtime.stores.postgres import PostgresStore
from a2a_runtime.stores.sqlite import SqliteStore
from a2a_runtime.testing.agent import QUICK as QUICK_ENGINE
from a2a_runtime.testing.agent import agent
from a2a_runtime.testing.receiver import Call, Receiver, Reply
from a2a_runtime.testing.resolver import TableResolver
from a2a_runtime.testing.store_contract.case import SCOPE, appending, created, new_task

pytestmark = pytest.mark.anyio

QUICK = Rules(Patience(first_delay=0.02, longest_delay=0.2, tries=6), concurrency=16, poll=0.02, lease=2)
HASTY = Limits(connect_seconds=0.5, seconds=0.5)
SECRETS = {"token": "s3cret-token", "authentication": AuthenticationInfo(scheme="Bearer", credentials="s3cret-credentials")}
HERE = Policy(loopback=True)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def closed_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Make a store of each kind; only one of them needs a server."""
    makes: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "tasks.db"),
        "postgres": lambda: PostgresStore(request.getfixturevalue("postgres_url")),
    }
    return makes[request.param]()


@pytest.fixture
async def store(closed_store: Store) -> AsyncIterator[Store]:
    """Open it."""
    await closed_store.open()
    yield closed_store
    await closed_store.close()


@asynccontextmanager
async def delivering(store: Store, rules: Rules = QUICK, policy: Policy = HERE) -> AsyncIterator[Deliverer]:
    """Deliver what is due, to this machine too."""
    async with GuardedDialler(policy, HASTY) as dialler, Deliverer(store, dialler, rules) as deliverer:
        yield deliverer


def hook(receiver: Receiver, name: str = "a", **members: object) -> TaskPushNotificationConfig:
    """Make a configuration that leads to a receiver."""
    return TaskPushNotificationConfig.model_validate({"id": name, "url": f"{receiver.url}/{name}"} | members)


async def run(store: Store, task: StoredTask, chunks: int) -> int:
    """Work on a task and end it; the number of its last event."""
    for n in range(chunks):
        await store.update_task(SCOPE, task.key, Change(artifacts=[appending("log", str(n))]))
    written = await store.update_task(SCOPE, task.key, Change(state=State.COMPLETED))
    return written.events[-1].seq


def ids(calls: list[Call], name: str = "a") -> list[str]:
    """Say which deliveries one webhook has heard, in the order of their first calls."""
    return list(dict.fromkeys(call.headers[ID_HEADER.lower()] for call in calls if call.path.endswith(f"/{name}")))


def bodies(calls: list[Call], name: str = "a") -> list[object]:
    """Say what one webhook has heard, each delivery once."""
    heard = {call.headers[ID_HEADER.lower()]: call.json() for call in calls if call.path.endswith(f"/{name}")}
    return list(heard.values())


async def logged(store: Store, task: StoredTask) -> list[object]:
    """Read what there was to hear."""
    return [json.loads(event.body) for event in await store.read_events(task.key, 0)]


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


@pytest.mark.parametrize("status", [410, 404])
async def test_a_refusal_for_good_ends_the_configuration(store: Store, status: int) -> None:
    """It is called once, others hear all, and whoever reads the task sees what has become of it."""

    def answer(call: Call) -> Reply:
        return Reply(status if call.path.endswith("/gone") else 204)

    async with Receiver(answer) as receiver, delivering(store):
        task = await created(store, new_task(push=hook(receiver, "gone")))
        await store.put_push_config(SCOPE, task.wire_id, hook(receiver, "good"))
        last = await run(store, task, 3)
        while len(ids(receiver.calls, "good")) < last - 1:
            await receiver.received(len(receiver.calls) + 1)
        reason = f"The webhook answered {status}"
        await noted(store, task, "gone", reason)
        assert {name: failure.reason for name, failure in (await store.push_failures(SCOPE, task.wire_id)).items()} == {"gone": reason}
        assert len([call for call in receiver.calls if call.path.endswith("/gone")]) == 1


async def noted(store: Store, task: StoredTask, name: str, reason: str) -> None:
    """Wait until the task says that one of its webhooks has failed."""
    async with asyncio.timeout(5):
        while True:
            loaded = await store.load_task(SCOPE, task.wire_id)
            assert loaded is not None
            note = (loaded.task.model.metadata or {}).get(f"{FAILURE}{name}")
            if note is not None:
                assert isinstance(note, dict)
                assert note["reason"] == reason
                return
            await asyncio.sleep(0.01)


async def test_a_receiver_that_never_answers_well_has_failed_after_some_tries(store: Store) -> None:
    """As many tries as the operator has set, and no more."""
    async with Receiver(lambda _: Reply(500)) as receiver, delivering(store):
        task = await created(store, new_task(push=hook(receiver)))
        await run(store, task, 3)
        await noted(store, task, "a", "The webhook answered 500; given up after 6 tries")
        assert len(receiver.calls) == 6
        assert await store.due(0) == []


async def test_a_url_that_is_not_called_fails_at_once(store: Store) -> None:
    """What got into the store in spite of all checks is not called from there either."""
    async with Receiver() as receiver, delivering(store, policy=Policy()):
        task = await created(store, new_task(push=hook(receiver)))
        await noted(store, task, "a", "Only https URLs are called")
        assert receiver.calls == []


async def test_a_name_that_comes_to_lead_inside_is_not_called() -> None:
    """The address is judged for each call: a webhook that was fine when it was configured is not called where it must not be."""
    store = MemoryStore()
    resolver = TableResolver({"hook.example": ["127.0.0.1", "10.0.0.1", "127.0.0.1"]})
    async with (
        Receiver(lambda _: Reply(204, {"Connection": "close"})) as receiver,
        GuardedDialler(HERE, HASTY, resolver=resolver) as dialler,
        Deliverer(store, dialler, QUICK),
    ):
        config = TaskPushNotificationConfig(id="a", url=f"http://hook.example:{receiver.port}/a")
        task = await created(store, new_task(push=config))
        last = await run(store, task, 1)
        calls = await receiver.received(last)
        assert [call.json() for call in calls] == await logged(store, task)
        assert len(resolver.questions) == last + 1


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


async def test_a_deleted_configuration_hears_nothing_more(store: Store) -> None:
    """Also when its call is just under way."""
    async with Receiver(lambda _: Reply(after=0.1)) as receiver, delivering(store):
        task = await created(store, new_task(push=hook(receiver)))
        await receiver.received(1)
        await store.delete_push_config(SCOPE, task.wire_id, "a")
        await run(store, task, 3)
        await asyncio.sleep(0.3)
        assert len(receiver.calls) == 1


async def test_secrets_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """Not in what is said about failures: no path, query, token or credential."""
    store = MemoryStore()
    caplog.set_level("DEBUG", "a2a_runtime")
    async with Receiver(lambda _: Reply(500)) as receiver, delivering(store):
        task = await created(store, new_task(push=hook(receiver, **SECRETS, url=f"{receiver.url}/s3cret-path?key=s3cret-query")))
        await noted(store, task, "a", "The webhook answered 500; given up after 6 tries")
    assert "has failed" in caplog.text
    assert "s3cret" not in caplog.text


async def test_a_fault_of_ours_is_not_tried_for_ever() -> None:
    """What cannot be written in the dialect of a configuration ends it after some tries, and is in the log; nothing else is held up."""
    store = MemoryStore()
    async with Receiver() as receiver, delivering(store):
        task = await created(store, NewTask("c-1", new_task().message, "echo", CANONICAL.name, push=hook(receiver, "good")))
        await store.put_push_config(SCOPE, task.wire_id, hook(receiver, "odd"), "no such dialect")
        await run(store, task, 0)
        await noted(store, task, "odd", "The notification could not be written; given up after 6 tries")
        assert len(bodies(receiver.calls, "good")) == 2
